package checker

// transactionsWhole: at quiescence all records of one transaction have the same outcome, on all partitions. A torn one is
// whole again when every record of its aborted part is visible by another transaction: a salvage.
func (j *judge) transactionsWhole() {
	f := Finding{}
	for i := range j.txns {
		t := &j.txns[i]
		if t.outcomes[Committed] == 0 || t.outcomes[Aborted]+t.outcomes[Open] == 0 {
			continue
		}
		other := Aborted
		if t.outcomes[Open] > 0 {
			if other = Open; j.opts.Running { // its markers are under way
				continue
			}
		}
		if other == Aborted && j.salvaged(t.identity) {
			continue
		}
		yes, no := &j.h.Records[t.first[Committed]], &j.h.Records[t.first[other]]
		f.Place, f.Token = j.h.Topics[no.Topic].Name, t.state
		f.evidence("producer %d epoch %d: %d records committed (first at %s), %d %s (first at %s)", t.producer, t.epoch,
			t.outcomes[Committed], j.where(yes.Topic, yes.Partition, yes.Offset), t.outcomes[other], outcomeNames[other],
			j.where(no.Topic, no.Partition, no.Offset))
	}
	j.settle(&f, "transactions torn")
}

// salvaged reports whether every aborted output of a transaction is visible all the same: each input that it names is
// named by a visible output of the same topic. An output that names nothing cannot be recognised again.
func (j *judge) salvaged(id identity) bool {
	for n, t := range j.outputs {
		for p := j.base[t]; p < j.base[t+1]; p++ {
			for _, i := range j.records[p] {
				r := &j.h.Records[i]
				if r.Outcome != Aborted || r.ProducerID != id.producer || r.ProducerEpoch != id.epoch {
					continue
				}
				if r.nsrc == 0 || !j.shown(n, &r.Event) {
					return false
				}
			}
		}
	}
	return true
}

// shown reports whether all inputs that an output names are visible in its topic.
func (j *judge) shown(output int, e *Event) bool {
	for _, s := range j.h.Sources(e) {
		if o := j.resolve(s); o == none || j.truth[output].counts[o] == 0 {
			return false
		}
	}
	return true
}

// confirmedIsCommitted: the transactions of a confirmed checkpoint ended with COMMIT, or their records are visible by
// another one.
func (j *judge) confirmedIsCommitted() {
	f := Finding{}
	for _, n := range j.claims.confirmed {
		at, ok := j.claims.completed[n]
		if !ok {
			continue
		}
		for _, x := range j.h.Claims[at].Transactions {
			t := j.transaction(x.ProducerID, x.ProducerEpoch)
			if t == nil {
				continue
			}
			for _, o := range [...]Outcome{Open, Aborted} {
				if t.outcomes[o] == 0 || o == Aborted && (j.salvaged(t.identity) || j.lostTransaction(t.identity)) {
					continue
				}
				r := &j.h.Records[t.first[o]]
				f.Place, f.Token = x.Sink, x.State
				f.evidence("checkpoint %d is confirmed, and %d records of its producer %d epoch %d are %s, first at %s", n, t.outcomes[o],
					t.producer, t.epoch, outcomeNames[o], j.where(r.Topic, r.Partition, r.Offset))
			}
		}
	}
	j.settle(&f, "confirmed transactions that did not commit")
}

func (j *judge) lostTransaction(id identity) bool {
	for _, c := range j.claims.losses {
		for _, l := range c.Lost {
			if l.ProducerID == id.producer && l.ProducerEpoch == id.epoch {
				return true
			}
		}
	}
	return false
}

// abandonedIsInvisible: what a step back gave up is replayed, so none of it may be visible.
func (j *judge) abandonedIsInvisible() {
	f := Finding{}
	for i := range j.h.Claims {
		c := &j.h.Claims[i]
		if c.Kind != CheckpointAbandoned {
			continue
		}
		at, ok := j.claims.completed[c.Checkpoint]
		if !ok {
			continue
		}
		for _, x := range j.h.Claims[at].Transactions {
			if t := j.transaction(x.ProducerID, x.ProducerEpoch); t != nil && t.outcomes[Committed] > 0 {
				f.Place, f.Token = x.Sink, x.State
				f.evidence("checkpoint %d is abandoned, and %d records of its producer %d epoch %d are committed", c.Checkpoint,
					t.outcomes[Committed], t.producer, t.epoch)
			}
		}
	}
	j.settle(&f, "transactions of abandoned checkpoints visible")
}

// sinksAgree: at quiescence all sinks of a job show the same inputs, of those that both are to show.
func (j *judge) sinksAgree() {
	if j.opts.Running || j.opts.AtMostOnce {
		return
	}
	for b := 1; b < len(j.outputs); b++ {
		f := Finding{Place: j.h.Topics[j.outputs[b]].Name}
		for o := range j.inputs {
			if !j.wants[0].has(o) || !j.wants[b].has(o) || (j.truth[0].counts[o] > 0) == (j.truth[b].counts[o] > 0) {
				continue
			}
			in := j.input(int32(o))
			if j.lost(in) || j.late(in) {
				continue
			}
			has, not := j.outputs[0], j.outputs[b]
			if j.truth[0].counts[o] == 0 {
				has, not = not, has
			}
			f.evidence("%s is visible in %s and not in %s", j.describeInput(in), j.h.Topics[has].Name, j.h.Topics[not].Name)
		}
		j.settle(&f, "inputs that one sink shows and the other does not")
	}
}
