package faults

// progress follows what the hooks tell of checkpoints and restores, to know whether a strike can matter.
type progress struct {
	begun     uint64 // newest checkpoint whose barrier was injected
	confirmed uint64 // newest checkpoint confirmed
	restoring bool   // between a claim and the first writers that open
}

func (s *progress) step(p Passed) {
	switch p.Hook {
	case hookK0:
		s.begun = max(s.begun, p.Checkpoint)
	case hookK14, hookR5:
		s.confirmed = max(s.confirmed, p.Checkpoint)
	case hookR0:
		s.restoring = true
	case hookR7:
		s.restoring = false
	}
}

// underWay reports whether a checkpoint is between its barrier and its confirmation, or a restore between its claim and
// its writers.
func (s *progress) underWay() bool { return s.restoring || s.begun > s.confirmed }
