package controls

import (
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/source"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/scenarios/jobs/option"
)

// links are the engines in which a link of the chain is configured out.
func links() []Engine {
	return []Engine{
		{
			Name: "no-guarantee", Doc: "the sink neither flushes at the barrier nor uses transactions", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.Gap},
			Job:      func(o *option.Options) { o.Guarantee = operator.None },
		},
		{
			Name: "at-least-once", Doc: "the sink flushes at the barrier and uses no transactions, where exactly-once was promised", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup},
			Job:      func(o *option.Options) { o.Guarantee = operator.AtLeastOnce },
		},
		groupOffsets(),
		{
			Name: "side-effect", Doc: "an operator calls the world outside", Scenario: "payments", Effects: true,
			Verdicts: []checker.Verdict{checker.EffectDup},
		},
		{
			Name: "no-alignment", Doc: "an operator with several inputs snapshots at the first barrier and goes on reading", Scenario: "ledger",
			Verdicts: []checker.Verdict{checker.Dup, checker.Gap, checker.State},
			Favour:   []string{"on k0 checkpoint=5 slow-link tm1 tm2 by 700ms for 9s", "on k14 checkpoint=6 crash tm1 for 1s"},
			Task: func(o *task.Options) {
				o.NewAligner = func(int) task.Aligner { return &unaligned{} }
			},
		},
		{
			Name: "commit-early", Doc: "commits are sent when all acks are there, before Completed is in the job log", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.State},
			JobManager: func(c *jobmanager.Config) {
				c.Rules.Core.Next, c.Rules.Core.Early = soundNext, func() bool { return true }
			},
		},
		{
			Name: "reads-uncommitted", Doc: "the consumer of the output reads uncommitted", Scenario: "payments", Uncommitted: true,
			Verdicts: []checker.Verdict{checker.AbortedRead},
		},
	}
}

func soundNext(n, oldest id.Checkpoint) bool { return n == oldest }

// unaligned takes the first barrier of a checkpoint for all.
type unaligned struct{ current id.Checkpoint }

func (u *unaligned) Step(_ int, m stream.Mark) task.Alignment {
	if m.Checkpoint <= u.current {
		return task.Alignment{Dropped: true}
	}
	u.current = m.Checkpoint
	return task.Alignment{Aligned: true}
}

func (u *unaligned) Blocked(int) bool { return false }
func (u *unaligned) Check()           {}

// groupOffsets starts from what a consumer group would have: positions committed as records are read, once a second, ahead of
// any checkpoint.
func groupOffsets() Engine {
	committed := map[operator.Split]int64{} // by topic and partition
	key := func(s operator.Split) operator.Split { return operator.Split{Topic: s.Topic, Partition: s.Partition} }
	return Engine{
		Name: "group-offsets", Doc: "sources start from offsets that were committed while reading, instead of those of the checkpoint", Scenario: "payments",
		Verdicts: []checker.Verdict{checker.Gap, checker.Dup, checker.State},
		Job: func(o *option.Options) {
			o.Source = func(k source.Kafka) graph.SourceFactory {
				return autoCommit{k, func(s operator.Split) { committed[key(s)] = s.Position }}
			}
		},
		JobManager: func(c *jobmanager.Config) {
			c.Rules.Positions = func(_ id.Operator, known []operator.Split) []operator.Split {
				for i, s := range known {
					if at, ok := committed[key(s)]; ok {
						known[i].Position = at
					}
				}
				return known
			}
		},
	}
}

type autoCommit struct {
	source.Kafka
	commit func(operator.Split)
}

func (a autoCommit) New() operator.Source {
	return &committing{Source: a.Kafka.New(), commit: a.commit}
}

type committing struct {
	operator.Source
	commit func(operator.Split)
	p      *proc.Process
	last   env.Instant
}

func (c *committing) Open(ctx operator.Context, splits []operator.Split, opened func(error)) {
	c.p = ctx.Process
	c.Source.Open(ctx, splits, opened)
}

func (c *committing) Poll(budget int, emit func(*operator.Record) error) (operator.Status, error) {
	s, err := c.Source.Poll(budget, emit)
	if now := c.p.Now(); now.Sub(c.last) >= time.Second {
		c.last = now
		for _, split := range c.Source.Snapshot(0) {
			c.commit(split)
		}
	}
	return s, err
}
