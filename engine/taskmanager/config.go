package taskmanager

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/token"
)

// Config is what a TaskManager is told. Zero durations are the defaults.
type Config struct {
	Job         *graph.Job
	Parallelism graph.Parallelism
	JobManagers []env.Addr
	Slots       int32 // default 1; a slot takes one subtask of each vertex

	HeartbeatInterval time.Duration // default 1 s
	HeartbeatTimeout  time.Duration // default 5 s
	// CancelTimeout is how long tasks have to react to a cancel before the process is failed. Default 30 s.
	CancelTimeout time.Duration
	// Reconnect is the wait before a lost JobManager is dialled again. Default 200 ms.
	Reconnect time.Duration

	// Task and Exchange are chosen by the world.
	Task     task.Options
	Exchange exchange.Options

	// Start starts a task; task.Start when nil.
	Start Start

	// Fatal ends the process: an operator does not react to a cancel. It must not return to the TaskManager's work.
	Fatal func(operator id.Operator, err error)
}

// Hosted is a task as its TaskManager sees it. Its methods may be called from any loop of the process.
type Hosted interface {
	Trigger(n id.Checkpoint, kind task.BarrierKind)
	Commit(n id.Checkpoint, tokens []token.Token)
	Freed(n id.Checkpoint)
	Completed(n id.Checkpoint)
	Cancel()
}

// Start starts a task, which calls host on its own loop.
type Start func(p *proc.Process, spec task.Spec, ex *exchange.Exchange, host task.Host) Hosted

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&c.HeartbeatInterval, time.Second)
	set(&c.HeartbeatTimeout, 5*time.Second)
	set(&c.CancelTimeout, 30*time.Second)
	set(&c.Reconnect, 200*time.Millisecond)
	if c.Slots == 0 {
		c.Slots = 1
	}
	if c.Start == nil {
		c.Start = func(p *proc.Process, spec task.Spec, ex *exchange.Exchange, host task.Host) Hosted {
			return task.Start(p, spec, ex, host)
		}
	}
	if c.Fatal == nil {
		c.Fatal = func(id.Operator, error) {}
	}
	return c
}
