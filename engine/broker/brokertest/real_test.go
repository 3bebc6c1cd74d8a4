package brokertest_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/onefold/onefold/engine/broker/brokertest"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/realstage"
)

func actual(t *testing.T, name string, bootstrap []string) *realstage.Backend {
	b, err := realstage.New(name, bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// fake is an embedded kfake, which can move leaders and coordinators.
type fake struct {
	*realstage.Backend
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
	brokertest.Run(t, fake{actual(t, "kfake", c.ListenAddrs()), c}, brokertest.KfakeDeviations...)
}

// The Kafka that ONEFOLD_KAFKA names passes without exception. `make test` runs on kfake alone, where this adds nothing.
func TestKafka(t *testing.T) {
	if kafkatest.Which() == kafkatest.Kfake {
		return
	}
	a := actual(t, string(kafkatest.Which()), kafkatest.Brokers(t))
	if produceVersion(t, a) < 12 {
		brokertest.Run(t, a, brokertest.Kafka3Deviations...)
	} else {
		brokertest.Run(t, a)
	}
}

// produceVersion is the highest version of Produce that the cluster knows: 12 from Kafka 4.0 on.
func produceVersion(t *testing.T, b stage.Backend) (version int16) {
	if err := stage.Run(b, 0, func(t *stage.T) { version = t.Features.Max(0) }); err != nil {
		t.Fatal(err)
	}
	return version
}
