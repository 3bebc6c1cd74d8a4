package joblog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/token"
)

// Fold is the state after e. It changes nothing of s. An error says that e cannot follow: a bug or a damaged log.
func (s State) Fold(e Entry) (State, error) {
	n := s
	if e.Kind != Created && s.Job == "" {
		return s, fmt.Errorf("%s at %d: the log has not been created", e.Kind, e.Position)
	}
	if e.Kind != Created && e.Kind != Claimed && e.Generation != s.Generation {
		return s, fmt.Errorf("%s at %d: written by generation %d while %d owns the job", e.Kind, e.Position, e.Generation, s.Generation)
	}
	n.Floor = max(s.Floor, e.Floor)
	err := n.apply(e)
	if err != nil {
		return s, fmt.Errorf("%s at %d: %w", e.Kind, e.Position, err)
	}
	return n, nil
}

func (s *State) apply(e Entry) error {
	switch e.Kind {
	case Created:
		if s.Job != "" {
			return fmt.Errorf("the log belongs to job %s", s.Job)
		}
		s.Job, s.Graph = e.Job, e.Graph
	case Claimed:
		if e.Generation != id.Generation(e.Position) || e.Generation <= s.Generation {
			return fmt.Errorf("generation %d after %d", e.Generation, s.Generation)
		}
		s.Generation = e.Generation
		if !s.Ended {
			s.Stopped = ""
		}
	case Fenced:
		s.Fenced = max(s.Fenced, e.Fenced)
	case Completed:
		return s.complete(e)
	case Confirmed:
		if s.Completed == nil || e.Checkpoint <= s.Confirmed || e.Checkpoint > s.Completed.Checkpoint {
			return fmt.Errorf("checkpoint %d is not completed and unconfirmed", e.Checkpoint)
		}
		s.Confirmed = e.Checkpoint
		s.Undecided = without(s.Undecided, e.Checkpoint)
	case Abandoned:
		return s.abandon(e)
	case Rewound:
		return s.rewind(e)
	case Savepoint:
		return s.savepoint(e)
	case Lost:
		if e.Loss == nil {
			return fmt.Errorf("no loss in it")
		}
		s.Losses = append(slices.Clip(s.Losses), *e.Loss)
	case Released:
		s.Retained = slices.DeleteFunc(slices.Clone(s.Retained), func(r CheckpointRef) bool { return r.Checkpoint == e.Checkpoint })
	case Stopped:
		s.Stopped, s.Ended = e.Reason, e.Ended
	default:
		return fmt.Errorf("unknown kind")
	}
	return nil
}

func (s *State) complete(e Entry) error {
	if e.Ref == nil || e.Ref.Checkpoint <= s.Highest {
		return fmt.Errorf("its number does not rise above %d", s.Highest)
	}
	ref := *e.Ref
	s.Completed, s.Highest = &ref, ref.Checkpoint
	s.Retained = append(slices.Clip(s.Retained), ref)
	s.Undecided = append(slices.Clip(s.Undecided), e.Tokens...)
	slices.SortStableFunc(s.Undecided, func(a, b token.Token) int { return cmp.Compare(a.Checkpoint, b.Checkpoint) })
	return nil
}

func (s *State) abandon(e Entry) error {
	if s.Completed == nil || e.Checkpoint != s.Completed.Checkpoint || e.Checkpoint <= s.Confirmed {
		return fmt.Errorf("checkpoint %d is not the newest completed and unconfirmed", e.Checkpoint)
	}
	s.Undecided = without(s.Undecided, e.Checkpoint)
	s.Retained = slices.DeleteFunc(slices.Clone(s.Retained), func(r CheckpointRef) bool { return r.Checkpoint >= e.Checkpoint })
	s.Completed = nil
	if k := len(s.Retained); k > 0 {
		ref := s.Retained[k-1]
		s.Completed = &ref
	}
	return nil
}

func (s *State) rewind(e Entry) error {
	if e.Ref == nil || e.Ref.Checkpoint != e.Checkpoint || e.Checkpoint > s.Highest {
		return fmt.Errorf("no such checkpoint %d", e.Checkpoint)
	}
	if len(s.Undecided) > 0 {
		return fmt.Errorf("%d tokens are undecided", len(s.Undecided))
	}
	ref := *e.Ref
	s.Completed, s.Rewound = &ref, e.Checkpoint
	s.Retained = slices.DeleteFunc(slices.Clone(s.Retained), func(r CheckpointRef) bool { return r.Checkpoint >= e.Checkpoint })
	s.Retained = append(s.Retained, ref)
	s.Ended, s.Stopped = false, ""
	return nil
}

func (s *State) savepoint(e Entry) error {
	if e.Checkpoint > s.Confirmed {
		return fmt.Errorf("checkpoint %d is not confirmed", e.Checkpoint)
	}
	for _, r := range s.Retained {
		if r.Checkpoint == e.Checkpoint {
			s.Savepoints = append(slices.Clip(s.Savepoints), r)
			return nil
		}
	}
	return fmt.Errorf("checkpoint %d is not retained", e.Checkpoint)
}

// without drops the tokens that a decision about checkpoint n decides. A completed checkpoint carries every older
// undecided token, so its decision covers all of them.
func without(tokens []token.Token, n id.Checkpoint) []token.Token {
	var rest []token.Token
	for _, t := range tokens {
		if t.Checkpoint > n {
			rest = append(rest, t)
		}
	}
	return rest
}
