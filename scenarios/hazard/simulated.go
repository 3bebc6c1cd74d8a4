package hazard

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// simulated is a simulated cluster of three brokers as a backend of scripts.
type simulated struct {
	profile string
	w       *sim.World
	c       *simbroker.Cluster
	node    *sim.Node
	loops   int
}

// newSimulated makes a cluster of a profile that has what a script needs.
func newSimulated(profile string, n Needs) (*simulated, error) {
	p, known := simbroker.ProfileOf(profile)
	if !known {
		return nil, fmt.Errorf("there is no profile %q", profile)
	}
	if n.MaxEpoch > 0 {
		p.MaxEpoch = n.MaxEpoch
	}
	cfg := simbroker.Config{Profile: p, ScanInterval: 100 * time.Millisecond, Encode: true}
	for _, s := range n.Settings {
		if err := configure(&cfg, s); err != nil {
			return nil, err
		}
	}
	w := sim.New(sim.Options{Seed: 1, Checks: true})
	c := simbroker.New(w, cfg)
	w.BrokerPort = c.Requests
	node := w.NewNode("client", nil)
	node.Start()
	w.RunFor(time.Second)
	return &simulated{profile: profile, w: w, c: c, node: node}, nil
}

// configure is a broker's setting, by Kafka's name, for the simulated one.
func configure(c *simbroker.Config, s Setting) error {
	ms, err := strconv.Atoi(s.Value)
	switch {
	case s.Key == "transactional.id.expiration.ms" && err == nil:
		c.IDExpiration = time.Duration(ms) * time.Millisecond
	default:
		return fmt.Errorf("the simulated broker has no setting %s=%s", s.Key, s.Value)
	}
	return nil
}

// Name implements stage.Backend.
func (b *simulated) Name() string { return "simbroker " + b.profile }

// Run implements stage.Backend.
func (b *simulated) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	b.loops++
	loop := b.node.NewLoop(fmt.Sprint("script", b.loops))
	defer loop.Close()
	finished := false
	loop.Post(func() { fn(b.node.Process(), loop, func() { finished = true }) })
	b.w.RunUntil(func() bool { return finished }, b.w.Now().Add(15*time.Minute))
	if f := b.w.Failure(); f != nil {
		return fmt.Errorf("%w\n%s", f, f.Stack)
	}
	if !finished {
		return errors.New("not finished within 15 minutes of virtual time")
	}
	return nil
}

// MoveLeader implements stage.Mover.
func (b *simulated) MoveLeader(tp id.TopicPartition) error {
	if !b.c.MoveLeader(tp.Topic, tp.Partition, (b.c.Leader(tp.Topic, tp.Partition)+1)%b.c.Brokers()) {
		return errors.New("no other broker can lead")
	}
	return nil
}

// MoveCoordinator implements stage.Mover.
func (b *simulated) MoveCoordinator(transactionalID string) error {
	if !b.c.MoveCoordinator(transactionalID, (b.c.Coordinator(transactionalID)+1)%b.c.Brokers()) {
		return errors.New("no other broker can coordinate")
	}
	return nil
}

// KillBroker implements stage.Breaker.
func (b *simulated) KillBroker(i int) error { b.c.Node(i).Crash(); return nil }

// StartBroker implements stage.Breaker.
func (b *simulated) StartBroker(i int) error { b.c.Node(i).Start(); return nil }

// PauseBroker implements stage.Breaker.
func (b *simulated) PauseBroker(i int) error { b.c.Node(i).Pause(0); return nil }

// ResumeBroker implements stage.Breaker.
func (b *simulated) ResumeBroker(i int) error { b.c.Node(i).Resume(); return nil }

// TakeLeader implements Leaderless.
func (b *simulated) TakeLeader(tp id.TopicPartition) error {
	if !b.c.TakeLeader(tp.Topic, tp.Partition) {
		return errors.New("it has none")
	}
	return nil
}

// GiveLeader implements Leaderless.
func (b *simulated) GiveLeader(tp id.TopicPartition) error {
	b.c.GiveLeader(tp.Topic, tp.Partition)
	return nil
}
