package taskmanager

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
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

	// Fatal ends the process: an operator does not react to a cancel. It must not return to the TaskManager's work.
	Fatal func(operator id.Operator, err error)
}

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
	if c.Fatal == nil {
		c.Fatal = func(id.Operator, error) {}
	}
	return c
}
