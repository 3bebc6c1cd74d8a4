package flowtest

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Counter is a sink factory whose sinks count records and forget them.
type Counter struct {
	// Count is told of records and their bytes, on the sink's loop: at each barrier and at least every 1024 records. The
	// loops of several subtasks call it at the same time.
	Count func(records, bytes int64)
}

// New implements graph.SinkFactory.
func (c Counter) New() operator.Sink { return &counting{count: c.Count} }

type counting struct {
	count          func(records, bytes int64)
	ctx            operator.Context
	records, bytes int64
}

func (s *counting) Open(ctx operator.Context, _ []token.Token, opened func(error)) {
	s.ctx = ctx
	ctx.Loop.Post(func() { opened(nil) })
}

func (s *counting) Ready() bool { return true }

func (s *counting) Write(r *operator.Record) error {
	s.records++
	s.bytes += int64(len(r.Key) + len(r.Value))
	if s.records >= 1024 {
		s.publish()
	}
	return nil
}

func (s *counting) publish() {
	s.count(s.records, s.bytes)
	s.records, s.bytes = 0, 0
}

func (s *counting) Barrier(_ id.Checkpoint, done func([]token.Token)) {
	s.publish()
	s.ctx.Loop.Post(func() { done(nil) })
}

func (s *counting) Commit(t token.Token, done func(operator.CommitResult)) {
	s.ctx.Loop.Post(func() {
		done(operator.CommitResult{Token: t, State: operator.Refused, Reason: "a counter has no transactions"})
	})
}

func (s *counting) Freed(id.Checkpoint) {}
func (s *counting) Close(bool)          {}
