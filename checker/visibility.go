package checker

import "fmt"

// required reports whether an input has to be visible: in a run that is complete all have; otherwise those below the
// newest confirmed positions. A loss that stopped the job takes the place of the confirmation: all below the checkpoint
// that lost has to be visible or named.
func (j *judge) required(in *Record) bool {
	c := j.claims.newest
	if j.claims.stopped {
		last := j.claims.losses[len(j.claims.losses)-1]
		if at, ok := j.claims.completed[last.Checkpoint]; ok {
			c = &j.h.Claims[at]
		}
	} else if j.opts.Complete {
		return true
	}
	if c == nil {
		return false
	}
	for _, p := range c.Positions {
		if p.Topic == in.Topic && p.Partition == in.Partition {
			return in.Offset < p.Offset
		}
	}
	return false
}

func within(spans []Span, in *Record) bool {
	for _, s := range spans {
		if s.Topic == in.Topic && s.Partition == in.Partition && in.Offset >= s.From && in.Offset < s.To {
			return true
		}
	}
	return false
}

func (j *judge) late(in *Record) bool { return within(j.claims.late, in) }

func (j *judge) lost(in *Record) bool { return within(j.claims.lost, in) }

// missing calls with for every input that has to be named by the output and is not in the tally.
func (j *judge) missing(output int, t *tally, with func(in *Record)) {
	for o, n := range t.counts {
		if n == 0 && j.wants[output].has(o) {
			if in := j.input(int32(o)); j.required(in) {
				with(in)
			}
		}
	}
}

func (j *judge) output(topic int16) int {
	for i, t := range j.outputs {
		if t == topic {
			return i
		}
	}
	return -1
}

func (j *judge) inputsVisible() {
	if j.opts.AtMostOnce {
		return
	}
	for i := range j.views {
		v := &j.views[i]
		if !v.final {
			continue
		}
		f := Finding{Place: j.h.Topics[v.topic].Name}
		j.missing(j.output(v.topic), &v.tally, func(in *Record) {
			if !j.late(in) && !j.lost(in) {
				f.evidence("reader %s never saw %s", j.h.Readers[v.reader].Name, j.describeInput(in))
			}
		})
		j.settle(&f, "inputs not visible")
	}
}

func (j *judge) lateDrops() {
	for i := range j.views {
		v := &j.views[i]
		if !v.final {
			continue
		}
		f := Finding{Place: j.h.Topics[v.topic].Name}
		j.missing(j.output(v.topic), &v.tally, func(in *Record) {
			if j.late(in) {
				f.evidence("dropped as late: %s", j.describeInput(in))
			}
		})
		j.settle(&f, "inputs dropped as late")
	}
}

func (j *judge) inputsOnce() {
	if j.opts.AtLeastOnce {
		return
	}
	for i := range j.views {
		v := &j.views[i]
		f := Finding{Place: j.h.Topics[v.topic].Name}
		for o, n := range v.tally.counts {
			if n > 1 {
				names := ""
				if len(f.Evidence) < maxEvidence { // a look through everything that was read, which a million duplicates cannot afford
					names = j.whoNames(v, int32(o))
				}
				f.evidence("reader %s saw %s %d times: %s", j.h.Readers[v.reader].Name, j.describeInput(j.input(int32(o))), n, names)
			}
		}
		j.settle(&f, "inputs visible more than once")
	}
}

// whoNames lists the first outputs that name an input; only a failure pays for it.
func (j *judge) whoNames(v *view, ordinal int32) string {
	s, n := "", 0
	want := j.input(ordinal)
	for _, b := range v.parts {
		for _, i := range b {
			r := &j.h.Reads[i]
			for _, src := range j.h.Sources(&r.Event) {
				o := j.resolve(src)
				if o == ordinal || o != none && src.Partition == Numbered && j.input(o).Number == want.Number {
					if n++; n <= 4 {
						s += fmt.Sprintf("; %s", j.describeRead(r))
					}
				}
			}
		}
	}
	if s == "" {
		return s
	}
	return s[2:]
}

func (j *judge) inputsExist() {
	for i := range j.views {
		v := &j.views[i]
		f := Finding{Place: j.h.Topics[v.topic].Name}
		for _, at := range v.tally.strange {
			r := &j.h.Reads[at]
			for _, s := range j.h.Sources(&r.Event) {
				switch o := j.resolve(s); {
				case o == none:
					f.evidence("%s was made from %s, which the input topic does not hold", j.describeRead(r), j.describeSource(s))
				case !visible(j.input(o).Outcome):
					f.evidence("%s was made from %s, which is %s", j.describeRead(r), j.describeSource(s), outcomeNames[j.input(o).Outcome])
				}
			}
		}
		j.settle(&f, "outputs made from inputs that nobody may see")
	}
}

func (j *judge) readsAreCommitted() {
	f := Finding{}
	for i := range j.h.Reads {
		r := &j.h.Reads[i]
		truth := j.record(r.Topic, r.Partition, r.Offset)
		switch {
		case truth == nil && !j.gone(r.Topic, r.Partition, r.Offset):
			f.Place = j.h.Topics[r.Topic].Name
			f.evidence("%s, and the log holds no record there", j.describeRead(r))
		case truth != nil && !visible(truth.Outcome):
			f.Place = j.h.Topics[r.Topic].Name
			if t := j.transaction(truth.ProducerID, truth.ProducerEpoch); t != nil && f.Token == "" {
				f.Token = t.state
			}
			f.evidence("%s, which is %s (producer %d epoch %d)", j.describeRead(r), outcomeNames[truth.Outcome], truth.ProducerID, truth.ProducerEpoch)
		}
	}
	j.settle(&f, "reads of what is not committed")
}

// gone reports whether a record may have been deleted from the log: below its start, or in a compacted partition.
func (j *judge) gone(topic int16, partition int32, offset int64) bool {
	p := j.part(topic, partition)
	return j.known[p] && (offset < j.place[p].Start || j.place[p].Compacted)
}

func (j *judge) readsMatchLog() {
	f := Finding{}
	for i := range j.h.Reads {
		r := &j.h.Reads[i]
		truth := j.record(r.Topic, r.Partition, r.Offset)
		if truth != nil && !j.same(&r.Event, &truth.Event) {
			f.Place = j.h.Topics[r.Topic].Name
			f.evidence("%s, and the log holds %s there", j.describeRead(r), j.describeEvent(&truth.Event))
		}
	}
	j.settle(&f, "reads that differ from the log")
}

func (j *judge) same(a, b *Event) bool {
	if a.Undecoded || b.Undecoded {
		return a.Undecoded == b.Undecoded
	}
	if a.Key != b.Key || a.Number != b.Number || a.Sequence != b.Sequence || a.Values != b.Values || a.nsrc != b.nsrc {
		return false
	}
	if a.src == b.src {
		return true
	}
	p, q := j.h.Sources(a), j.h.Sources(b)
	for i := range p {
		if p[i] != q[i] {
			return false
		}
	}
	return true
}

// readerSkipsNothing: every prefix of a reader's view holds all that is committed before its newest record, and the whole
// view of a reader that read to the end holds all that is committed.
func (j *judge) readerSkipsNothing() {
	for i := range j.views {
		v := &j.views[i]
		f := Finding{Place: j.h.Topics[v.topic].Name}
		for p, b := range v.parts {
			if len(b) == 0 && !v.final {
				continue
			}
			at := 0
			for _, i := range j.records[int(j.base[v.topic])+p] {
				r := &j.h.Records[i]
				if !visible(r.Outcome) {
					continue
				}
				for at < len(b) && j.h.Reads[b[at]].Offset < r.Offset {
					at++
				}
				switch {
				case at < len(b) && j.h.Reads[b[at]].Offset == r.Offset, at == len(b) && !v.final, at == 0 && !v.final:
					continue
				}
				f.evidence("reader %s passed over %s", j.h.Readers[v.reader].Name, j.describeRecord(r))
			}
		}
		j.settle(&f, "committed records passed over by a reader")
	}
}
