package simbroker_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/broker/brokertest"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// backend runs the suite that real Kafka passes on the simulated cluster. Each case has a loop of its own in one world.
type backend struct {
	name  string
	w     *sim.World
	c     *simbroker.Cluster
	node  *sim.Node
	loops int
}

func newBackend(t *testing.T, seed uint64, profile string) *backend {
	p, known := simbroker.ProfileOf(profile)
	if !known {
		t.Fatalf("no profile %s", profile)
	}
	w := sim.New(sim.Options{Seed: seed, Checks: true})
	c := simbroker.New(w, simbroker.Config{Profile: p, ScanInterval: 100 * time.Millisecond, Encode: true})
	w.BrokerPort = c.Requests
	n := w.NewNode("client", nil)
	n.Start()
	w.RunFor(time.Second)
	return &backend{name: "simbroker " + profile, w: w, c: c, node: n}
}

func (b *backend) Name() string { return b.name }

func (b *backend) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	b.loops++
	loop := b.node.NewLoop(fmt.Sprint("case", b.loops))
	defer loop.Close()
	finished := false
	loop.Post(func() { fn(b.node.Process(), loop, func() { finished = true }) })
	b.w.RunUntil(func() bool { return finished }, b.w.Now().Add(5*time.Minute))
	if f := b.w.Failure(); f != nil {
		return fmt.Errorf("%w\n%s", f, f.Stack)
	}
	if !finished {
		return errors.New("not finished within five minutes")
	}
	return nil
}

func (b *backend) MoveLeader(tp id.TopicPartition) error {
	to := (b.c.Leader(tp.Topic, tp.Partition) + 1) % b.c.Brokers()
	if !b.c.MoveLeader(tp.Topic, tp.Partition, to) {
		return errors.New("not moved")
	}
	return nil
}

func (b *backend) MoveCoordinator(transactionalID string) error {
	if !b.c.MoveCoordinator(transactionalID, (b.c.Coordinator(transactionalID)+1)%b.c.Brokers()) {
		return errors.New("not moved")
	}
	return nil
}

// The simulated broker is worth what this shows: nothing above it may pass here and fail on a real broker.
func TestConformance(t *testing.T) {
	for _, profile := range []string{"k44", "k44-tv1", "k44-tv0", "k43", "k41", "k39"} {
		t.Run(profile, func(t *testing.T) {
			var deviations []brokertest.Deviation
			if profile == "k39" {
				deviations = brokertest.Kafka3Deviations
			}
			for seed := range uint64(8) {
				brokertest.Run(t, newBackend(t, seed+1, profile), deviations...)
			}
		})
	}
}
