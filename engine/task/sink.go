package task

import (
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// sink is one sink of a task. over holds copies of records that came while it was not ready: the rest of what one record
// was turned into, since nothing is processed before they are written.
type sink struct {
	t    *Task
	op   int
	sink operator.Sink
	over []operator.Record

	opened bool // Open was called
	ready  bool // found so by room in this turn, and neither written to nor at a barrier since
}

// newSink is what the chain is composed with: it makes the sink and returns where its records go.
func (t *Task) newSink(op int) func(*operator.Record) {
	s := &sink{t: t, op: op, sink: t.spec.Plan.Job.Operators[op].Sink.New()}
	t.sinks = append(t.sinks, s)
	return s.write
}

func (s *sink) write(r *operator.Record) {
	ready := s.ready
	s.ready = false
	if !ready && (len(s.over) > 0 || !s.sink.Ready()) {
		c := *r
		c.Key, c.Value, c.Headers = slices.Clone(r.Key), slices.Clone(r.Value), slices.Clone(r.Headers)
		s.over = append(s.over, c)
		return
	}
	s.put(r)
}

func (s *sink) put(r *operator.Record) {
	if err := s.sink.Write(r); err != nil {
		s.t.fail(s.t.uid(s.op), s.t.origin(), err.Error())
		s.t.chain.Fail(s.op, err)
	}
}

// drain writes what was held back; false while the sink has no room for all of it.
func (s *sink) drain() bool {
	for len(s.over) > 0 && s.t.phase == running {
		if !s.sink.Ready() {
			return false
		}
		r := s.over[0]
		s.over = s.over[1:]
		s.put(&r)
	}
	s.over = nil
	return true
}

// commit hands tokens to their sinks and answers when all have answered.
func (t *Task) commit(n id.Checkpoint, tokens []token.Token) {
	if t.phase != running {
		return
	}
	results := make([]operator.CommitResult, len(tokens))
	missing := len(tokens)
	for i, tok := range tokens {
		s := t.sinkOf(tok.Sink)
		if s == nil {
			t.fail(tok.Sink, Origin{}, "asked to commit a token of a sink that does not run here: "+tok.String())
			return
		}
		s.sink.Commit(tok, func(r operator.CommitResult) {
			results[i] = r
			if missing--; missing == 0 && t.phase == running {
				t.host.Committed(t.spec.Subtask, n, results)
			}
		})
	}
	if missing == 0 && len(tokens) == 0 {
		t.host.Committed(t.spec.Subtask, n, nil)
	}
}

func (t *Task) sinkOf(uid id.Operator) *sink {
	for _, s := range t.sinks {
		if t.uid(s.op) == uid {
			return s
		}
	}
	return nil
}
