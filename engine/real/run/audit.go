package run

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/sink"
)

// What the budget allows for the parts that no setting bounds.
const (
	restoreTime = 10 * time.Second // deciding tokens, fencing, reading state
	commitTime  = 5 * time.Second  // the commit's retries
	backoffTime = 10 * time.Second // the longest wait before a restart
	horizon     = 24 * time.Hour   // how long after a crash a salvage should still find the aborted records
)

// Budget is the sum that a job's transaction timeout must cover with these settings; its Check says whether it does.
func (c Config) Budget() (sink.Budget, error) {
	plan, err := c.plan()
	if err != nil {
		return sink.Budget{}, err
	}
	return c.budget(sink.SpecsOf(plan)), nil
}

// budget is how long a transaction may have to stay open: from the first record of its epoch, over failed checkpoints and a
// restart, to its commit. The sink with the shortest timeout is the one that binds.
func (c Config) budget(sinks []sink.Spec) sink.Budget {
	k := c.Checkpoint.WithDefaults()
	b := sink.Budget{
		Interval: k.Interval, LongestCheckpoint: k.Timeout, ToleratedFailures: int32(k.Tolerated), Pause: k.Pause,
		FailureDetection: c.HeartbeatTimeout, Rescheduling: backoffTime, Restore: restoreTime, CommitRetries: commitTime,
	}
	for i, s := range sinks {
		if i == 0 || s.TransactionTimeout < b.TransactionTimeout {
			b.TransactionTimeout = s.TransactionTimeout
		}
	}
	return b
}

// auditBudget refuses settings under which a transaction could time out before its commit, before anybody is asked anything.
func (c Config) auditBudget(sinks []sink.Spec) error {
	if len(sinks) == 0 {
		return nil
	}
	b := c.budget(sinks)
	if err := b.Check(); err != nil {
		return fmt.Errorf("%w\nraise --transaction-timeout above %v, or lower --interval, --checkpoint-timeout or --tolerated-failures", err, b.Sum())
	}
	return nil
}

// audit asks the cluster for what the guarantee rests on outside of the job.
func (c Config) audit(p *proc.Process, l env.Loop, sinks []sink.Spec) error {
	if len(sinks) == 0 {
		return nil
	}
	type reply struct {
		notices []sink.Notice
		err     error
	}
	r := answer(l, func(done func(reply)) {
		sink.Audit(sink.AuditConfig{Process: p, Loop: l, Budget: c.budget(sinks), Sinks: sinks, Horizon: horizon}, func(n []sink.Notice, err error) { done(reply{n, err}) })
	})
	if r.err != nil {
		return r.err
	}
	for _, n := range r.notices {
		switch n.Level {
		case sink.Refuse:
			return fmt.Errorf("the guarantee would not hold: %s\n  change the setting, here or at the brokers, or choose --guarantee at-least-once", n.Text)
		case sink.Warn:
			c.Log.Warn("audit: " + n.Text)
		default:
			c.Log.Debug("audit: " + n.Text)
		}
	}
	return nil
}
