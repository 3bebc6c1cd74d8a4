package brokertest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/broker/brokertest"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// simulated is a simulated cluster as a backend.
type simulated struct {
	name    string
	world   *sim.World
	cluster *simbroker.Cluster
	node    *sim.Node
	process *proc.Process
}

func newSimulated(t *testing.T, profile string, seed uint64) *simulated {
	p, ok := simbroker.ProfileOf(profile)
	if !ok {
		t.Fatalf("no profile %s", profile)
	}
	s := &simulated{name: "simbroker " + profile}
	s.world = sim.New(sim.Options{Seed: seed, Checks: true})
	s.cluster = simbroker.New(s.world, simbroker.Config{Profile: p, Encode: true})
	s.world.BrokerPort = s.cluster.Requests
	s.node = s.world.NewNode("client", func(p *proc.Process) { s.process = p })
	s.node.Start()
	s.world.RunFor(time.Second)
	t.Cleanup(s.world.Close)
	return s
}

func (s *simulated) Name() string { return s.name }

func (s *simulated) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	done := false
	loop := s.process.NewLoop("case")
	loop.Post(func() { fn(s.process, loop, func() { done = true }) })
	ok := s.world.RunUntil(func() bool { return done }, s.world.Now().Add(10*time.Minute))
	if f := s.world.Failure(); f != nil {
		return f
	}
	if !ok {
		return errors.New("the case does not end within ten simulated minutes")
	}
	loop.Close()
	return nil
}

func (s *simulated) MoveLeader(tp id.TopicPartition) error {
	at := s.cluster.Leader(tp.Topic, tp.Partition)
	if !s.cluster.MoveLeader(tp.Topic, tp.Partition, (at+1)%s.cluster.Brokers()) {
		return errors.New("the leader stays")
	}
	return nil
}

func (s *simulated) MoveCoordinator(transactionalID string) error {
	at := s.cluster.Coordinator(transactionalID)
	if !s.cluster.MoveCoordinator(transactionalID, (at+1)%s.cluster.Brokers()) {
		return errors.New("the coordinator stays")
	}
	return nil
}

// The simulated broker must not be kinder than the real one: the same cases are run against real Kafka.
func TestSimulatedBroker(t *testing.T) {
	for _, profile := range []string{"k44", "k44-tv1", "k43", "k41", "k39"} {
		t.Run(profile, func(t *testing.T) {
			var deviations []brokertest.Deviation
			if profile == "k39" {
				deviations = brokertest.Kafka3Deviations
			}
			brokertest.Run(t, newSimulated(t, profile, 1), deviations...)
		})
	}
}

// Which moment is drawn must not matter.
func TestSimulatedBrokerBySeeds(t *testing.T) {
	for seed := range uint64(8) {
		brokertest.Run(t, newSimulated(t, "k44", 100+seed))
	}
}

// A suite that loses cases proves less and says nothing.
func TestSuiteHasItsCases(t *testing.T) {
	if n := brokertest.Cases(newSimulated(t, "k44", 2)); n < 59 {
		t.Fatalf("%d cases", n)
	}
}
