package jobmanager

import (
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
)

// Config is what a JobManager is told. Zero durations are the defaults.
type Config struct {
	Job         *graph.Job
	Parallelism graph.Parallelism

	// NewCommitter makes the committer of all transactional sinks for one generation. Nil: the job has none.
	NewCommitter func(CommitterContext) operator.Committer

	// Checkpoint has interval, timeout, minimum pause, tolerated failures and retention.
	Checkpoint checkpoint.Config

	HeartbeatInterval time.Duration // default 1 s
	HeartbeatTimeout  time.Duration // default 5 s
	// BackoffMin and BackoffMax bound the wait before a restart: it doubles with each one, and starts again once a
	// checkpoint was confirmed.
	BackoffMin time.Duration // default 100 ms
	BackoffMax time.Duration // default 10 s
	// RestartLimit is how many restarts in a row, without a confirmed checkpoint in between, are tried before the job
	// stops. 0: without limit.
	RestartLimit int

	// Standby waits until the TaskManagers miss an active JobManager, and goes back to waiting when it is displaced.
	// A JobManager without it claims as soon as there are slots, and stops when it is displaced.
	Standby bool

	// RestoreFrom is the key of a savepoint's seal. It is restored once: a log that already holds its Rewound entry goes
	// on from the newest checkpoint.
	RestoreFrom blob.Key
	// Rewind allows to restore below the newest confirmed checkpoint, which repeats visible output.
	Rewind bool
	// AcceptLoss goes on after a loud loss, which stays in the job log.
	AcceptLoss bool

	// Mirror, when set, is handed the positions of a checkpoint after it was confirmed, for lag tools. They are never
	// read back.
	Mirror func(loop env.Loop, n id.Checkpoint, positions []checkpoint.Position)

	// Check turns on expensive checks: those of the coordinator, after each step.
	Check bool

	// LogKeep is how many entries of the job log are kept; default 1024. joblog.KeepAll keeps all.
	LogKeep uint64
	// Rules replaces decisions; zero is the sound ones. It exists for negative controls.
	Rules Rules

	// OnEvent is told what happens, on a loop of the JobManager. It may be nil.
	OnEvent func(Event)
}

// Rules are decisions that a negative control replaces.
type Rules struct {
	// Log is joblog.Sound when zero.
	Log joblog.Rules
	// Core is checkpoint.Sound when zero.
	Core checkpoint.Rules
	// Positions, when set, replaces the split positions of the checkpoint that is restored, for one source.
	Positions func(source id.Operator, known []operator.Split) []operator.Split
}

// CommitterContext is what a committer is made for.
type CommitterContext struct {
	Process    *proc.Process
	Loop       env.Loop // the generation's own
	Job        id.Job
	Generation id.Generation
	Plan       *graph.Plan
	AcceptLoss bool
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.HeartbeatInterval, time.Second)
	set(&c.HeartbeatTimeout, 5*time.Second)
	set(&c.BackoffMin, 100*time.Millisecond)
	set(&c.BackoffMax, 10*time.Second)
	c.Checkpoint = c.Checkpoint.WithDefaults()
	if c.LogKeep == 0 {
		c.LogKeep = 1024
	}
	if c.Rules.Log.Mine == nil {
		c.Rules.Log = joblog.Sound()
	}
	if c.Rules.Core.Next == nil {
		c.Rules.Core = checkpoint.Sound()
	}
	if c.OnEvent == nil {
		c.OnEvent = func(Event) {}
	}
	return c
}
