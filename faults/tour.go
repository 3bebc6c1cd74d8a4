package faults

// A tour visits cells of the table of faults and hooks in turn, three per plan, far apart in the table. A hook that is
// passed only after something else went wrong gets a fault before it that makes it so.

// tour is plan number n of the tour.
func (s *swarm) tour(n uint64) (faults []Fault) {
	for i := range uint64(visits) {
		k, h := tourCell(n, i)
		faults = append(faults, s.visit(2*i, k, h)...)
	}
	if len(faults) == 0 { // nothing that this world can do
		return s.free()
	}
	return faults
}

// visits is how many cells a plan of the tour visits.
const visits = 3

// tourCell is one of the cells of a plan of the tour.
func tourCell(n, i uint64) (Kind, Hook) {
	const cells = uint64(drawn) * uint64(HookCount)
	cell := (n + i*(cells/visits+uint64(HookCount)/visits)) % cells
	return Kind(cell / uint64(HookCount)), Hook(cell % uint64(HookCount))
}

// tourNumber is the number of a seed's plan in the tour, if it is one.
func tourNumber(seed uint64) (n uint64, tours bool) {
	return seed/4*2 + seed%4 - 1, seed%4 == 1 || seed%4 == 2
}

// Visits reports whether the plan of a seed is one of the tour and visits a kind: its world must be one where the kind can
// strike.
func Visits(seed uint64, k Kind) bool {
	n, tours := tourNumber(seed)
	if !tours {
		return false
	}
	for i := range uint64(visits) {
		if visited, _ := tourCell(n, i); visited == k {
			return true
		}
	}
	return false
}

// visit strikes one cell. slot and slot+1 name its draws.
func (s *swarm) visit(slot uint64, k Kind, h Hook) []Fault {
	if !s.can(k) || impossible(k, h) {
		return nil
	}
	f := s.body(slot+1, k)
	if f.Request != "" {
		f.Node = All
		if after := requestsAfter(h); s.draw(drawRequest, slot+1, 1, 0)%4 != 0 {
			f.Request = after[s.draw(drawRequest, slot+1, 2, 0)%uint64(len(after))]
		}
	}
	if selfish(k, h) && s.draw(drawNode, slot+1, 1, 0)%2 == 0 {
		f.Node = Self
	}
	if h == hookR6 && f.Request == "OffsetCommit" { // lanes are seeded when the job starts
		return []Fault{f.with(Trigger{OnHook: true, Hook: h})}
	}
	before := s.prelude(slot, h)
	switch {
	case before == nil && (h <= hookK14 || h == hookC1):
		f.Trigger = s.early(slot+1, h)
	case h == hookR3 || h == hookR4 || h == hookR5 || h == hookC2:
		f.Trigger = Trigger{OnHook: true, Hook: h}
	default:
		f.Trigger = Trigger{OnHook: true, Hook: h, Nth: 2} // the first restore is the start of the job
	}
	return append(before, f)
}

// requestsAfter lists requests that are sure to come soon after a hook.
func requestsAfter(h Hook) []string {
	switch {
	case h == hookC1:
		return []string{"DescribeProducers", "OffsetFetch", "DescribeTransactions"}
	case h == hookC2:
		return []string{"WriteTxnMarkers"}
	case h == hookR5:
		return []string{"ListTransactions", "InitProducerId"}
	case h == hookR6:
		return []string{"OffsetCommit"} // the first time, lanes are seeded
	case h >= hookR0 && h < hookR7:
		return []string{"InitProducerId", "OffsetFetch", "ListTransactions", "DescribeProducers", "ListOffsets", "Metadata", "FindCoordinator", "DescribeTransactions"}
	}
	return []string{"EndTxn", "Produce", "TxnOffsetCommit", "Fetch", "DescribeProducers", "OffsetFetch", "InitProducerId"}
}

// early is a trigger on a hook that every checkpoint passes, of one of the first checkpoints.
func (s *swarm) early(slot uint64, h Hook) Trigger {
	t := Trigger{OnHook: true, Hook: h}
	n := s.draw(drawCheckpoint, slot, 0, 0)
	if brokerHook(h) {
		if t.Nth = 1 + int(n%20); t.Nth == 1 {
			t.Nth = 0
		}
		return t
	}
	t.Checkpoint = min(2+n%8, uint64(max(1, s.Checkpoints)))
	return t
}

// prelude is the fault without which the hook is not passed: a crash for a restore, one between completion and commit for
// a token to decide, a commit held back for a salvage, a partition without leader for a repair.
func (s *swarm) prelude(slot uint64, h Hook) []Fault {
	switch {
	case h == hookC2 && s.can(NoLeaderFault):
		return []Fault{s.body(slot, NoLeaderFault).with(s.early(slot, hookK9))}
	case h == hookR4 && s.can(TimeoutFault):
		return []Fault{s.body(slot, TimeoutFault).with(s.early(slot, hookK7))}
	case h >= hookR0 && !s.can(CrashFault):
	case h == hookR3 || h == hookR5:
		f := s.body(slot, CrashFault).with(s.early(slot, hookK7))
		f.Node = Self
		return []Fault{f}
	case h >= hookR0:
		f := s.body(slot, CrashFault).with(s.early(slot, 3+Hook(s.draw(drawHook, slot, 0, 0)%7)))
		f.Node = Self
		return []Fault{f}
	}
	return nil
}
