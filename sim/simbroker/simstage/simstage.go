// Package simstage makes a simulated cluster a backend on which scripts play: package stage of engine/broker.
package simstage

import (
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// Config describes a backend.
type Config struct {
	// Name of the backend; default "simbroker" and the profile's name.
	Name string
	Seed uint64
	// Cluster is the cluster. Its Profile must be set.
	Cluster simbroker.Config
	// Limit bounds the virtual time of one script; 10 minutes.
	Limit time.Duration
}

// Backend is a simulated cluster with one client. World and Cluster are for those who strike it. All scripts play in one world,
// each on a loop of its own, one after the other.
type Backend struct {
	World   *sim.World
	Cluster *simbroker.Cluster
	Client  *sim.Node

	name  string
	limit time.Duration
	loops int
}

// Suite is the backend of a profile as conformance suites want it: what is on the wire is encoded, every check is on, and
// the coordinators scan often.
func Suite(profile string, seed uint64) (*Backend, error) {
	p, ok := simbroker.ProfileOf(profile)
	if !ok {
		return nil, fmt.Errorf("no profile %q; there are %v, each also with -tv0 and -tv1 from 4.0 on", profile, simbroker.ProfileNames())
	}
	return New(Config{Seed: seed, Cluster: simbroker.Config{Profile: p, ScanInterval: 100 * time.Millisecond, IDExpiration: 15 * time.Second, IDScan: 500 * time.Millisecond, Encode: true}}), nil
}

// New makes a world with a cluster and starts it. Close it.
func New(c Config) *Backend {
	w := sim.New(sim.Options{Seed: c.Seed, Checks: true})
	b := &Backend{World: w, Cluster: simbroker.New(w, c.Cluster), name: c.Name, limit: c.Limit}
	if b.name == "" {
		b.name = "simbroker " + b.Cluster.Profile().Name
	}
	if b.limit == 0 {
		b.limit = 10 * time.Minute
	}
	w.BrokerPort = b.Cluster.Requests
	b.Client = w.NewNode("client", nil)
	b.Client.Start()
	w.RunFor(time.Second)
	return b
}

// Close ends the world.
func (b *Backend) Close() { b.World.Close() }

// Name implements stage.Backend.
func (b *Backend) Name() string { return b.name }

// Run implements stage.Backend.
func (b *Backend) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	b.loops++
	loop := b.Client.NewLoop(fmt.Sprint("script", b.loops))
	defer loop.Close()
	done := false
	loop.Post(func() { fn(b.Client.Process(), loop, func() { done = true }) })
	b.World.RunUntil(func() bool { return done }, b.World.Now().Add(b.limit))
	if f := b.World.Failure(); f != nil {
		return fmt.Errorf("%w\n%s", f, f.Stack)
	}
	if !done {
		return fmt.Errorf("not finished within %s of virtual time", b.limit)
	}
	return nil
}

// MoveLeader implements stage.Mover.
func (b *Backend) MoveLeader(tp id.TopicPartition) error {
	c := b.Cluster
	if !c.MoveLeader(tp.Topic, tp.Partition, (c.Leader(tp.Topic, tp.Partition)+1)%c.Brokers()) {
		return errors.New("the leader stays")
	}
	return nil
}

// MoveCoordinator implements stage.Mover.
func (b *Backend) MoveCoordinator(transactionalID string) error {
	c := b.Cluster
	if !c.MoveCoordinator(transactionalID, (c.Coordinator(transactionalID)+1)%c.Brokers()) {
		return errors.New("the coordinator stays")
	}
	return nil
}

// KillBroker implements stage.Breaker.
func (b *Backend) KillBroker(i int) error { return b.each(i, (*sim.Node).Crash) }

// StartBroker implements stage.Breaker.
func (b *Backend) StartBroker(i int) error { return b.each(i, (*sim.Node).Start) }

// PauseBroker implements stage.Breaker.
func (b *Backend) PauseBroker(i int) error {
	return b.each(i, func(n *sim.Node) { n.Pause(b.World.Now().Add(b.limit)) })
}

// ResumeBroker implements stage.Breaker.
func (b *Backend) ResumeBroker(i int) error { return b.each(i, (*sim.Node).Resume) }

func (b *Backend) each(i int, do func(*sim.Node)) error {
	if i < 0 || i >= b.Cluster.Brokers() {
		return fmt.Errorf("broker %d of %d, counted from 0", i, b.Cluster.Brokers())
	}
	do(b.Cluster.Node(i))
	return nil
}
