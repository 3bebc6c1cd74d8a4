// Package conform runs sequences of package brokerfuzz on a real cluster, many side by side, and compares what it says with
// what a model says.
package conform

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/engine/broker/brokerfuzz"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/real/kafka"
	"github.com/onefold/onefold/engine/real/process"
)

// Cluster is a real cluster on which sequences run, each in names of its own. Run may be called by several at a time.
type Cluster struct {
	process *process.Process
	lanes   chan env.Loop // that are free
	runs    atomic.Uint64
}

// New connects to a cluster with so many sequences side by side.
func New(bootstrap []string, lanes int) (*Cluster, error) {
	k, err := kafka.New(kafka.Config{Bootstrap: bootstrap, Overhead: 30 * time.Second})
	if err != nil {
		return nil, err
	}
	c := &Cluster{lanes: make(chan env.Loop, lanes)}
	c.process = process.NewMachine().Start(process.Config{Name: "conform", Broker: k.Requests})
	for i := range lanes {
		c.lanes <- c.process.NewLoop(fmt.Sprint("lane", i))
	}
	return c, nil
}

// Close ends all that runs.
func (c *Cluster) Close() { c.process.Close() }

// tries is how often a sequence that was too slow is run.
const tries = 4

// Run performs one sequence. A run that was too slow for its own timeouts is repeated in other names.
func (c *Cluster) Run(s brokerfuzz.Sequence) (t brokerfuzz.Transcript, err error) {
	loop := <-c.lanes
	defer func() { c.lanes <- loop }()
	for range tries {
		if t, err = c.once(loop, s); !errors.Is(err, brokerfuzz.ErrLate) {
			return t, err
		}
	}
	return t, err
}

func (c *Cluster) once(loop env.Loop, s brokerfuzz.Sequence) (brokerfuzz.Transcript, error) {
	type outcome struct {
		t   brokerfuzz.Transcript
		err error
	}
	ended := make(chan outcome, 1)
	name := fmt.Sprintf("%x-%d", c.process.Nonce&0xffffff, c.runs.Add(1))
	loop.Post(func() {
		brokerfuzz.Run(c.process.Process, loop, s, brokerfuzz.Options{Name: name}, func(t brokerfuzz.Transcript, err error) {
			ended <- outcome{t, err}
		})
	})
	select {
	case o := <-ended:
		return o.t, o.err
	case <-time.After(5 * time.Minute):
		return brokerfuzz.Transcript{}, errors.New("the sequence does not end within five minutes")
	}
}
