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
	t := count(salvaged, ranges)
	switch lane {
	case LaneCommitted:
		return t.judgeCommitted(false)
	case LaneUnstable:
		return t.judgeUnstable(co)
	}
	return t.judgeStable(lane, co)
}

// tally counts what the ranges of a token have become.
type tally struct {
	ranges, committed, undecided int
	aborted                      []int
	gone                         []int // what is aborted if the transaction is
}

func count(salvaged Salvaged, ranges []Witness) tally {
	t := tally{ranges: len(ranges)}
	for i, w := range ranges {
		done, lost := salvaged.Done.Has(i), salvaged.Lost.Has(i)
		switch {
		case done, !lost && w == WitnessCommitted:
			t.committed++
		case lost, w == WitnessAborted:
			t.aborted = append(t.aborted, i)
		case w == WitnessUndecided:
			t.undecided++
		}
		if !done && w != WitnessCommitted {
			t.gone = append(t.gone, i)
		}
	}
	return t
}

// judgeCommitted judges a transaction whose verdict was commit.
func (t tally) judgeCommitted(byWitness bool) Judgement {
	if len(t.aborted) > 0 {
		return Judgement{Verdict: Torn, Aborted: t.aborted, ByWitness: byWitness}
	}
	return Judgement{Verdict: Committed, ByWitness: byWitness}
}

// judgeAborted judges a transaction whose verdict was abort.
func (t tally) judgeAborted() Judgement {
	if t.committed > 0 {
		return Judgement{Verdict: Torn, Aborted: t.gone, Abort: true, ByWitness: true}
	}
	return Judgement{Verdict: Aborted, Aborted: t.gone, Abort: true}
}

// judgeRepair judges by half of a repair: its verdict was the transaction's own. Where every partition is still open no
// reader has seen either verdict, and the checkpoint is completed: commit.
func (t tally) judgeRepair(byWitness bool) Judgement {
	if len(t.aborted) > 0 {
		return t.judgeAborted()
	}
	return t.judgeCommitted(byWitness)
}

// judgeUnstable judges while a transaction is open in the lane: the coordinator knows.
func (t tally) judgeUnstable(co Coordinated) Judgement {
	switch co {
	case OngoingOurs:
		return Judgement{Verdict: Pending}
	case CompletedCommit:
		return t.judgeCommitted(false)
	case CompletedAbort:
		return t.judgeAborted()
	case OngoingRepair:
		return t.judgeRepair(false)
	}
	return Judgement{Verdict: Waiting}
}

// judgeStable judges where the lane is stable and does not say the checkpoint: aborted if the witness agrees, else only the
// witness counts; the coordinator's word decides what the witness cannot see.
func (t tally) judgeStable(lane LaneSays, co Coordinated) Judgement {
	switch {
	case t.ranges == 0 && lane == LaneBefore:
		return Judgement{Verdict: Aborted, Abort: true}
	case t.ranges == 0:
		return Judgement{Verdict: Committed, ByWitness: true} // a marker without records: nothing can be lost
	case t.committed == t.ranges:
		return t.judgeCommitted(true)
	case len(t.aborted) == t.ranges:
		return t.judgeAborted()
	}
	switch co {
	case CompletedCommit:
		return t.judgeCommitted(true)
	case CompletedAbort:
		return t.judgeAborted()
	case OngoingRepair:
		return t.judgeRepair(true)
	case OngoingOurs:
		if t.undecided > 0 {
			return Judgement{Verdict: Pending, ByWitness: true}
		}
	case Preparing:
		return Judgement{Verdict: Waiting}
	}
	switch {
	case len(t.aborted) > 0:
		return t.judgeAborted()
	case t.committed > 0:
		return t.judgeCommitted(true)
	case t.undecided > 0:
		return Judgement{Verdict: Waiting}
	}
	return Judgement{Verdict: Unknown, ByWitness: true}
}
