package sink

// Verdict is what is known of a token.
type Verdict uint8

// The verdicts.
const (
	Waiting   Verdict = iota // nothing can be said yet
	Pending                  // prepared and open: commit it
	Committed                // all of it, or it is being made so: confirm
	Aborted                  // nothing of it is visible: salvage
	Torn                     // some ranges are aborted, the rest is committed: salvage those
	Unknown                  // the evidence is lost
)

var verdictNames = [...]string{"waiting", "pending", "committed", "aborted", "torn", "unknown"}

func (v Verdict) String() string { return verdictNames[v] }

// Judgement is the verdict on a token, with the ranges that are aborted and not salvaged.
type Judgement struct {
	Verdict Verdict
	Aborted []int
	// Abort: what its partitions have not heard of yet is the verdict abort.
	Abort bool
	// ByWitness: the lane does not say so; a confirm must not wait for it.
	ByWitness bool
}

// Judge combines what lane, coordinator and second witness tell. ranges has one answer per range of the token.
func Judge(lane LaneSays, salvaged Salvaged, co Coordinated, ranges []Witness) Judgement {
	var aborted []int
	committed, undecided := 0, 0
	for i, w := range ranges {
		switch {
		case salvaged.Done.Has(i):
			committed++
		case salvaged.Lost.Has(i):
			aborted = append(aborted, i)
		case w == WitnessCommitted:
			committed++
		case w == WitnessAborted:
			aborted = append(aborted, i)
		case w == WitnessUndecided:
			undecided++
		}
	}
	asCommitted := func(byWitness bool) Judgement {
		if len(aborted) > 0 {
			return Judgement{Verdict: Torn, Aborted: aborted, ByWitness: byWitness}
		}
		return Judgement{Verdict: Committed, ByWitness: byWitness}
	}
	asAborted := func() Judgement {
		var gone []int
		for i, w := range ranges {
			if !salvaged.Done.Has(i) && w != WitnessCommitted {
				gone = append(gone, i)
			}
		}
		if committed > 0 {
			return Judgement{Verdict: Torn, Aborted: gone, Abort: true, ByWitness: true}
		}
		return Judgement{Verdict: Aborted, Aborted: gone, Abort: true}
	}
	switch lane {
	case LaneCommitted:
		return asCommitted(false)
	case LaneUnstable:
		switch co {
		case OngoingOurs:
			return Judgement{Verdict: Pending}
		case CompletedCommit:
			return asCommitted(false)
		case CompletedAbort:
			return asAborted()
		case OngoingRepair:
			// Half of a repair; its verdict was the transaction's own. Where every partition is still open no reader has seen
			// either verdict, and the checkpoint is completed: commit.
			if len(aborted) > 0 {
				return asAborted()
			}
			return asCommitted(false)
		}
		return Judgement{Verdict: Waiting}
	}
	// The lane is stable and does not say n: aborted if the witness agrees, else only the witness counts; the coordinator's
	// word decides what the witness cannot see.
	switch {
	case len(ranges) == 0 && lane == LaneBefore:
		return Judgement{Verdict: Aborted, Abort: true}
	case len(ranges) == 0:
		return Judgement{Verdict: Committed, ByWitness: true} // a marker without records: nothing can be lost
	case committed == len(ranges):
		return asCommitted(true)
	case len(aborted) == len(ranges):
		return asAborted()
	}
	switch co {
	case CompletedCommit:
		return asCommitted(true)
	case CompletedAbort:
		return asAborted()
	case OngoingRepair:
		if len(aborted) > 0 {
			return asAborted()
		}
		return asCommitted(true)
	case OngoingOurs:
		if undecided > 0 {
			return Judgement{Verdict: Pending, ByWitness: true}
		}
	case Preparing:
		return Judgement{Verdict: Waiting}
	}
	switch {
	case len(aborted) > 0:
		return asAborted()
	case committed > 0:
		return asCommitted(true)
	case undecided > 0:
		return Judgement{Verdict: Waiting}
	}
	return Judgement{Verdict: Unknown, ByWitness: true}
}
