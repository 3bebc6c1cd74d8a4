package checker

// identity is Kafka's name of one transaction: ids are initialised anew before each use, so the pair names one.
type identity struct {
	producer int64
	epoch    int16 // the producer's
}

// transaction sums up one transaction over all output partitions of the broker's truth.
type transaction struct {
	identity
	outcomes [Open + 1]int32 // how many records
	first    [Open + 1]int32 // index of the first such record in h.Records
	state    string          // of its token, by the claims
}

// transactions lists the transactions of the output topics, in order of their first record.
func (j *judge) transactions() []transaction {
	var all []transaction
	known := map[identity]int{} // looked up only
	j.txnAt = known
	last, at := identity{-1, -1}, -1
	for _, t := range j.outputs {
		for p := j.base[t]; p < j.base[t+1]; p++ {
			for _, i := range j.records[p] {
				r := &j.h.Records[i]
				if r.Outcome == Plain {
					continue
				}
				if id := (identity{r.ProducerID, r.ProducerEpoch}); id != last || at < 0 {
					var ok bool
					if at, ok = known[id]; !ok {
						at = len(all)
						known[id] = at
						all = append(all, transaction{identity: id})
					}
					last = id
				}
				x := &all[at]
				if x.outcomes[r.Outcome] == 0 {
					x.first[r.Outcome] = i
				}
				x.outcomes[r.Outcome]++
			}
		}
	}
	for i := range j.h.Claims {
		for _, x := range j.h.Claims[i].Transactions {
			if at, ok := known[identity{x.ProducerID, x.ProducerEpoch}]; ok {
				all[at].state = x.State
			}
		}
	}
	return all
}

// transaction finds a transaction of the output topics; nil when it left no record there.
func (j *judge) transaction(producer int64, epoch int16) *transaction {
	if at, ok := j.txnAt[identity{producer, epoch}]; ok {
		return &j.txns[at]
	}
	return nil
}
