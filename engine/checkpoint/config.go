package checkpoint

import (
	"time"

	"github.com/onefold/onefold/engine/id"
)

// Config is the choices about checkpoints. Zero values are the defaults.
type Config struct {
	Interval time.Duration // from trigger to trigger; default 5 s
	Timeout  time.Duration // from trigger to the last ack; default 30 s
	Pause    time.Duration // at least so long after an end before the next trigger; default 0
	// Tolerated is how many checkpoints may fail in a row; one more fails the generation. Default 2; -1: none.
	Tolerated int
	// Force is the age, of the oldest epoch that no completed checkpoint holds, at which a checkpoint is triggered whatever
	// interval and pause say: its transaction must be committed before it times out. 0: never.
	Force time.Duration
	// Retain is how many completed checkpoints are kept, besides what recovery needs. Default 2.
	Retain int
}

// WithDefaults fills in what is zero.
func (c Config) WithDefaults() Config {
	if c.Interval == 0 {
		c.Interval = 5 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	switch c.Tolerated {
	case 0:
		c.Tolerated = 2
	case -1:
		c.Tolerated = 0
	}
	if c.Retain == 0 {
		c.Retain = 2
	}
	return c
}

// Budget is the longest time between the first record of an epoch and the completion of a checkpoint that carries it,
// failures included: what a transaction timeout must exceed, together with restart and restore.
func (c Config) Budget() time.Duration {
	return c.Interval + c.Timeout + time.Duration(c.Tolerated)*(max(c.Interval, c.Pause)+c.Timeout)
}

// Rules are decisions of the coordinator that a negative control replaces.
type Rules struct {
	// Next reports whether the commit of a completed checkpoint may be sent although an older one is not confirmed.
	Next func(n id.Checkpoint, oldestUnconfirmed id.Checkpoint) bool
	// Early reports whether commits are sent at the moment when all acks are there, before Completed is in the log.
	Early func() bool
}

// Sound is the rules of the protocol: all tokens of n are decided before any of n+1 is committed, and nothing is
// committed that is not completed.
func Sound() Rules {
	return Rules{
		Next:  func(n, oldest id.Checkpoint) bool { return n == oldest },
		Early: func() bool { return false },
	}
}
