package jobmanager

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// plain is the committer of a job without transactional sinks: what is completed is confirmed.
type plain struct{ r *generation }

// Restore implements operator.Committer.
func (c *plain) Restore(in operator.RestoreInput, log joblog.Appender, done func(operator.RestoreOutcome)) {
	ref := in.State.Completed
	if ref == nil {
		c.r.loop.Post(func() { done(operator.RestoreOutcome{}) })
		return
	}
	if ref.Checkpoint <= in.State.Confirmed {
		c.r.loop.Post(func() { done(operator.RestoreOutcome{From: ref.Checkpoint}) })
		return
	}
	log.Append(joblog.Entry{Kind: joblog.Confirmed, Checkpoint: ref.Checkpoint}, func(_ joblog.State, err error) {
		done(operator.RestoreOutcome{From: ref.Checkpoint, Err: err, Stop: err != nil})
	})
}

// Confirm implements operator.Committer.
func (c *plain) Confirm(_ id.Checkpoint, _ []token.Token, done func(operator.ConfirmOutcome)) {
	c.r.loop.Post(func() { done(operator.ConfirmOutcome{}) })
}

// Close implements operator.Committer.
func (c *plain) Close() {}
