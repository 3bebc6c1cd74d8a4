package checker

// allDecoded: a record that the oracle cannot read is one that was not judged.
func (j *judge) allDecoded() {
	f := Finding{}
	for i := range j.h.Records {
		if r := &j.h.Records[i]; r.Undecoded {
			f.Place = j.h.Topics[r.Topic].Name
			f.evidence("%s cannot be decoded", j.where(r.Topic, r.Partition, r.Offset))
		}
	}
	for i := range j.h.Reads {
		if r := &j.h.Reads[i]; r.Undecoded {
			f.Place = j.h.Topics[r.Topic].Name
			f.evidence("%s, read by %s, cannot be decoded", j.where(r.Topic, r.Partition, r.Offset), j.h.Readers[r.Reader].Name)
		}
	}
	j.settle(&f, "records not decoded")
}

// logComplete: every offset of a partition is a data record or a control record of the history, none twice.
func (j *judge) logComplete() {
	f := Finding{}
	controls := make([]int64, len(j.records))
	for _, c := range j.h.Controls {
		if p := j.part(c.Topic, c.Partition); c.Offset >= j.place[p].Start {
			controls[p]++
		}
	}
	for t := range j.h.Topics {
		for p := int32(0); p < j.h.Topics[t].Partitions; p++ {
			n := j.part(int16(t), p)
			at := j.place[n]
			data, twice := int64(0), false
			last := int64(-1)
			for _, i := range j.records[n] {
				r := &j.h.Records[i]
				if r.Offset >= at.Start {
					data++
				}
				twice = twice || r.Offset == last
				last = r.Offset
			}
			switch {
			case !j.known[n]:
				f.evidence("%s/%d: what the broker knows of it is not in the history", j.h.Topics[t].Name, p)
			case twice:
				f.evidence("%s/%d: an offset twice", j.h.Topics[t].Name, p)
			case !at.Compacted && data+controls[n] != at.High-at.Start:
				f.evidence("%s/%d: %d offsets from %d to %d, of which %d data and %d control records are in the history", j.h.Topics[t].Name, p,
					at.High-at.Start, at.Start, at.High, data, controls[n])
			default:
				continue
			}
			f.Place = j.h.Topics[t].Name
		}
	}
	j.settle(&f, "partitions whose evidence has holes")
}

// readerAdvances: a reader that sees an offset twice or goes back is no witness.
func (j *judge) readerAdvances() {
	f := Finding{}
	for i := range j.views {
		v := &j.views[i]
		for _, b := range v.parts {
			for k := 1; k < len(b); k++ {
				if r, before := &j.h.Reads[b[k]], &j.h.Reads[b[k-1]]; r.Offset <= before.Offset {
					f.Place = j.h.Topics[r.Topic].Name
					f.evidence("%s after offset %d", j.describeRead(r), before.Offset)
				}
			}
		}
	}
	j.settle(&f, "reads that do not advance")
}

func (j *judge) readToTheEnd() {
	for _, r := range j.h.Readers {
		if r.Final {
			return
		}
	}
	j.find(Finding{Detail: "no reader read to the end"})
}

func (j *judge) comparedSomething() {
	if j.compared.Records == 0 {
		j.find(Finding{Detail: "no record was compared"})
	}
	if j.compared.Epochs == 0 && !j.opts.NoEpochs {
		j.find(Finding{Detail: "no epoch was committed"})
	}
}
