package task_test

import (
	"slices"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// ledger is a transactional world outside: what sinks prepared and what readers see. It survives every crash.
type ledger struct {
	prepared []prepared
	visible  []operator.Record
	opened   int
	closed   []bool // clean or not, of each Close
	slow     int    // every slow-th record makes a sink unready for a while; 0: never
}

type prepared struct {
	sink    id.Operator
	n       id.Checkpoint
	gen     id.Generation
	subtask int32
	records []operator.Record
	decided bool
}

// New implements graph.SinkFactory.
func (l *ledger) New() operator.Sink { return &ledgerSink{l: l} }

// commit makes visible what was prepared for checkpoint n, in the order of subtasks.
func (l *ledger) commit(tokens []token.Token) {
	for _, t := range tokens {
		for i := range l.prepared {
			p := &l.prepared[i]
			if p.sink == t.Sink && p.n == t.Checkpoint && p.gen == t.Generation && p.subtask == t.Subtask && !p.decided {
				p.decided = true
				l.visible = append(l.visible, p.records...)
			}
		}
	}
}

type ledgerSink struct {
	l       *ledger
	ctx     operator.Context
	records []operator.Record
	written int
	resting bool
	pending []token.Token // prepared and not confirmed
}

func (s *ledgerSink) Open(ctx operator.Context, carried []token.Token, opened func(error)) {
	s.ctx, s.pending = ctx, carried
	s.l.opened++
	ctx.Loop.After(time.Millisecond, func() { opened(nil) })
}

func (s *ledgerSink) Ready() bool { return !s.resting }

func (s *ledgerSink) Write(r *operator.Record) error {
	if s.resting {
		panic("written to a sink that is not ready")
	}
	c := *r
	c.Key, c.Value = slices.Clone(r.Key), slices.Clone(r.Value)
	c.Topic = string(s.ctx.Operator)
	s.records = append(s.records, c)
	s.written++
	if s.l.slow > 0 && s.written%s.l.slow == 0 {
		s.resting = true
		s.ctx.Loop.After(300*time.Microsecond, func() {
			s.resting = false
			s.ctx.Wake()
		})
	}
	return nil
}

func (s *ledgerSink) Barrier(n id.Checkpoint, done func([]token.Token)) {
	records := s.records
	s.records = nil
	delay := time.Duration(s.ctx.Process.Draw(env.KindScenario, uint64(n), uint64(s.ctx.Subtask.Index), 1)%5) * time.Millisecond
	s.ctx.Loop.After(delay, func() {
		if len(records) > 0 {
			s.l.prepared = append(s.l.prepared, prepared{s.ctx.Operator, n, s.ctx.Generation, s.ctx.Subtask.Index, records, false})
			s.pending = append(s.pending, token.Token{Sink: s.ctx.Operator, Subtask: s.ctx.Subtask.Index, Checkpoint: n, Generation: s.ctx.Generation})
		}
		done(slices.Clone(s.pending))
	})
}

func (s *ledgerSink) Commit(t token.Token, done func(operator.CommitResult)) {
	s.ctx.Loop.After(time.Millisecond, func() {
		s.l.commit([]token.Token{t})
		done(operator.CommitResult{Token: t, State: operator.Committed})
	})
}

func (s *ledgerSink) Freed(n id.Checkpoint) {
	s.pending = slices.DeleteFunc(s.pending, func(t token.Token) bool { return t.Checkpoint <= n })
}

func (s *ledgerSink) Close(clean bool) { s.l.closed = append(s.l.closed, clean) }
