package brokertest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/onefold/onefold/engine/broker/brokertest"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	client "github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/real/kafka"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/process"
)

// actual is a cluster behind real connections.
type actual struct {
	name    string
	process *process.Process
}

func newActual(t *testing.T, name string, bootstrap []string) *actual {
	cluster, err := kafka.New(kafka.Config{Bootstrap: bootstrap})
	if err != nil {
		t.Fatal(err)
	}
	p := process.NewMachine().Start(process.Config{Name: "client", Broker: cluster.Requests})
	t.Cleanup(p.Close)
	return &actual{name, p}
}

func (a *actual) Name() string { return a.name }

func (a *actual) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	loop := a.process.NewLoop("case")
	defer loop.Close()
	end := make(chan struct{})
	loop.Post(func() { fn(a.process.Process, loop, func() { close(end) }) })
	select {
	case <-end:
		return nil
	case <-time.After(2 * time.Minute):
		return errors.New("the case does not end within two minutes")
	}
}

// fake is an embedded kfake, which can move leaders and coordinators.
type fake struct {
	*actual
	cluster *kfake.Cluster
}

func (f fake) MoveLeader(tp id.TopicPartition) error {
	at := f.cluster.LeaderFor(tp.Topic, tp.Partition)
	return f.cluster.MoveTopicPartition(tp.Topic, tp.Partition, (at+1)%3)
}

func (f fake) MoveCoordinator(string) error {
	f.cluster.RehashCoordinators()
	return nil
}

// An embedded kfake passes but for what is listed.
func TestKfake(t *testing.T) {
	c := kafkatest.Embedded(t)
	brokertest.Run(t, fake{newActual(t, "kfake", c.ListenAddrs()), c}, brokertest.KfakeDeviations...)
}

// The Kafka that ONEFOLD_KAFKA names passes without exception. `make test` runs on kfake alone, where this adds nothing.
func TestKafka(t *testing.T) {
	if kafkatest.Which() == kafkatest.Kfake {
		return
	}
	a := newActual(t, string(kafkatest.Which()), kafkatest.Brokers(t))
	if a.produceVersion(t) < 12 {
		brokertest.Run(t, a, brokertest.Kafka3Deviations...)
	} else {
		brokertest.Run(t, a)
	}
}

// produceVersion is the highest version of Produce that the cluster knows: 12 from Kafka 4.0 on.
func (a *actual) produceVersion(t *testing.T) (version int16) {
	err := a.Run(func(p *proc.Process, loop env.Loop, done func()) {
		client.New(client.Config{Process: p, Loop: loop}).Features(func(f client.Features, _ error) {
			version = f.Max(0)
			done()
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return version
}
