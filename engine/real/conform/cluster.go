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
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/real/kafka"
	"github.com/onefold/onefold/engine/real/process"
	"github.com/onefold/onefold/engine/real/realstage"
)

// Cluster is a real cluster on which sequences run, each in names of its own. Run may be called by several at a time.
type Cluster struct {
	process *process.Process
	lanes   chan env.Loop // that are free
	runs    atomic.Uint64
	mover   *realstage.Mover // nil: there is one broker
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

// NewMoving is New for a cluster of several brokers: sequences may move leaders and coordinators. They run one after the
// other, since a coordinator is everybody's.
func NewMoving(bootstrap []string) (*Cluster, error) {
	c, err := New(bootstrap, 1)
	if err != nil {
		return nil, err
	}
	if c.mover, err = realstage.NewMover("conform", bootstrap); err != nil {
		c.process.Close()
		return nil, err
	}
	return c, nil
}

// Close ends all that runs.
func (c *Cluster) Close() {
	c.process.Close()
	if c.mover != nil {
		c.mover.Close()
	}
}

// moves lets a loop move leaders.
type moves struct {
	mover *realstage.Mover
	loop  env.Loop
}

func (m moves) MoveLeader(topic string, partition int32, done func(error)) {
	m.off(done, func() error { return m.mover.MoveLeader(id.TopicPartition{Topic: topic, Partition: partition}) })
}

func (m moves) MoveCoordinator(id string, done func(error)) {
	m.off(done, func() error { return m.mover.MoveCoordinator(id) })
}

func (m moves) off(done func(error), work func() error) {
	go func() {
		err := work()
		m.loop.Post(func() { done(err) })
	}()
}

// tries is how often a sequence that was too slow is run.
const tries = 3

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
	options := brokerfuzz.Options{Name: name}
	if c.mover != nil {
		options.Mover = moves{c.mover, loop}
	}
	loop.Post(func() {
		brokerfuzz.Run(c.process.Process, loop, s, options, func(t brokerfuzz.Transcript, err error) {
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
