package checker

// A loud loss is no free pass. It is a verdict of its own, and the four properties here hold it to the truth: what it
// names is not visible (losses-true), could not have been saved (losses-unrecoverable), and is exactly what is missing
// (losses-exact; inputs that nobody named are missing all the same and stay with inputs-visible).

// fate is what the broker's truth says of a lost range.
type fate struct {
	visible, aborted, open int64
	first                  *Record // of those visible
}

func (j *judge) fate(l *LostRange) (f fate) {
	for _, i := range j.records[j.part(l.Topic, l.Partition)] {
		r := &j.h.Records[i]
		if r.Offset < l.First || r.Offset > l.Last || r.ProducerID != l.ProducerID || r.ProducerEpoch != l.ProducerEpoch {
			continue
		}
		switch {
		case r.Offset < j.place[j.part(l.Topic, l.Partition)].Start: // deleted since
		case visible(r.Outcome):
			if f.first == nil {
				f.first = r
			}
			f.visible++
		case r.Outcome == Aborted:
			f.aborted++
		default:
			f.open++
		}
	}
	return f
}

// eachLoss visits all ranges that are named as lost.
func (j *judge) eachLoss(visit func(c *Claim, l *LostRange)) {
	for _, c := range j.claims.losses {
		for i := range c.Lost {
			visit(c, &c.Lost[i])
		}
	}
}

func (j *judge) lossesNamed() {
	f := Finding{}
	j.eachLoss(func(c *Claim, l *LostRange) {
		f.Place = j.h.Topics[l.Topic].Name
		f.evidence("checkpoint %d: %d records of producer %d epoch %d in %s to %d: %s", c.Checkpoint, l.Count, l.ProducerID, l.ProducerEpoch,
			j.where(l.Topic, l.Partition, l.First), l.Last, c.Reason)
	})
	j.settle(&f, "ranges named as lost")
}

func (j *judge) lossesTrue() {
	f := Finding{}
	j.eachLoss(func(c *Claim, l *LostRange) {
		if at := j.fate(l); at.visible > 0 {
			f.Place = j.h.Topics[l.Topic].Name
			f.evidence("checkpoint %d names %s to %d as lost, and %d of its records are visible, first %s", c.Checkpoint,
				j.where(l.Topic, l.Partition, l.First), l.Last, at.visible, j.describeRecord(at.first))
		}
	})
	j.settle(&f, "losses of what is visible")
}

// lossesUnrecoverable: a range whose records are all still in the log, aborted, could have been salvaged.
func (j *judge) lossesUnrecoverable() {
	f := Finding{}
	j.eachLoss(func(c *Claim, l *LostRange) {
		if at := j.fate(l); at.aborted+at.open >= l.Count && l.Count > 0 {
			f.Place = j.h.Topics[l.Topic].Name
			f.evidence("checkpoint %d names %s to %d as lost, and all %d records are still in the log", c.Checkpoint,
				j.where(l.Topic, l.Partition, l.First), l.Last, l.Count)
		}
	})
	j.settle(&f, "losses that could have been salvaged")
}

// lossesExact: where every output names one input, as many inputs are missing as records were named as lost, and each of
// those whose record is still in the log is missing.
func (j *judge) lossesExact() {
	if len(j.claims.losses) == 0 {
		return
	}
	for n, t := range j.outputs {
		f := Finding{Place: j.h.Topics[t].Name}
		named, missing := int64(0), int64(0)
		j.eachLoss(func(_ *Claim, l *LostRange) {
			if l.Topic == t {
				named += l.Count - j.fate(l).visible // those are for losses-true
			}
		})
		j.missing(n, &j.truth[n], func(in *Record) {
			if j.lost(in) {
				missing++
			}
		})
		if named != missing && j.single(t) {
			f.evidence("%d records are named as lost, and %d inputs in the named ranges are missing", named, missing)
		}
		j.settle(&f, "losses that are not what is missing")
	}
}

// single reports whether every output of a topic names exactly one input.
func (j *judge) single(topic int16) bool {
	for p := j.base[topic]; p < j.base[topic+1]; p++ {
		for _, i := range j.records[p] {
			if j.h.Records[i].nsrc != 1 {
				return false
			}
		}
	}
	return true
}
