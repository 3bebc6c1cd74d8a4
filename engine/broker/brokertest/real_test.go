package brokertest_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

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

// cluster is a real one, which can be moved about when it has several brokers, and held when ONEFOLD_KAFKA_CONTROL names the
// command that started it: .ci/kafka, with its own variables set.
func cluster(t *testing.T, name string, bootstrap []string) stage.Backend {
	if len(bootstrap) < 2 {
		return actual(t, name, bootstrap)
	}
	m, err := realstage.NewMover(name, bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if control := os.Getenv("ONEFOLD_KAFKA_CONTROL"); control != "" {
		return controlled{m, control}
	}
	return m
}

// controlled is a real cluster whose brokers can be held.
type controlled struct {
	*realstage.Mover
	command string
}

// Patience implements stage.Impatient: a controller quorum that was held needs a while to elect its leader.
func (controlled) Patience() time.Duration { return time.Minute }

func (c controlled) KillBroker(i int) error   { return c.do("kill", i) }
func (c controlled) StartBroker(i int) error  { return c.do("restart", i) }
func (c controlled) PauseBroker(i int) error  { return c.do("pause", i) }
func (c controlled) ResumeBroker(i int) error { return c.do("resume", i) }

func (c controlled) do(what string, i int) error {
	out, err := exec.Command(c.command, what, strconv.Itoa(i+1)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s %d: %w: %s", c.command, what, i+1, err, out)
	}
	return nil
}

// fake is an embedded kfake, which can move leaders and coordinators.
type fake struct {
	*realstage.Backend
	cluster *kfake.Cluster
}

func (fake) Patience() time.Duration { return time.Second }

func (f fake) MoveLeader(tp id.TopicPartition) error {
	at := f.cluster.LeaderFor(tp.Topic, tp.Partition)
	return f.cluster.MoveTopicPartition(tp.Topic, tp.Partition, (at+1)%3)
}

func (f fake) MoveCoordinator(string) error {
	f.cluster.RehashCoordinators()
	return nil
}

var rewrite = flag.Bool("rewrite", false, "write kfake.txt anew; a fact that was not in it has no reason yet")

// An embedded kfake passes but for what is listed.
func TestKfake(t *testing.T) {
	c := kafkatest.Embedded(t)
	b := fake{actual(t, "kfake", c.ListenAddrs()), c}
	if *rewrite {
		rewriteDeviations(t, brokertest.Differences(b, brokertest.Kafka44))
		return
	}
	brokertest.Run(t, b, brokertest.Kafka44, brokertest.KfakeDeviations()...)
}

// rewriteDeviations keeps the reasons, each with the facts that it had.
func rewriteDeviations(t *testing.T, seen []brokertest.Deviation) {
	reasons := []string{""}
	known := map[[2]string]string{}
	for _, d := range brokertest.KfakeDeviations() {
		known[[2]string{d.Case, d.Fact}] = d.Reason
		if !slices.Contains(reasons, d.Reason) {
			reasons = append(reasons, d.Reason)
		}
	}
	var list []brokertest.Deviation
	for _, reason := range reasons {
		for _, d := range seen {
			if known[[2]string{d.Case, d.Fact}] == reason {
				d.Reason = reason
				list = append(list, d)
			}
		}
	}
	if err := os.WriteFile("kfake.txt", []byte(brokertest.FormatDeviations(list)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The Kafka that ONEFOLD_KAFKA names passes without exception. `make test` runs on kfake alone, where this adds nothing. The
// versions of requests tell which release it is, but for 4.0.0: ONEFOLD_KAFKA_VERSION names it.
func TestKafka(t *testing.T) {
	if kafkatest.Which() == kafkatest.Kfake {
		return
	}
	b := cluster(t, string(kafkatest.Which()), kafkatest.Brokers(t))
	r, err := brokertest.Recognise(b)
	if version := os.Getenv("ONEFOLD_KAFKA_VERSION"); version != "" {
		if r, err = brokertest.ReleaseOf(version); err == nil {
			err = r.Matches(b)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	brokertest.Run(t, b, r)
}
