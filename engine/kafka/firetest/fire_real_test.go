package firetest_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/kafka/firetest"
	"github.com/onefold/onefold/engine/real/localkafka"
	"github.com/onefold/onefold/engine/real/realstage"
)

// localJars are those of a release, for tests that start brokers of this machine.
func localJars(t *testing.T, version string) string {
	t.Helper()
	if os.Getenv("ONEFOLD_LOCAL_KAFKA") == "" {
		t.Skip("starts real brokers: ONEFOLD_LOCAL_KAFKA=1, after KAFKA_VERSION=" + version + " .ci/kafka fetch")
	}
	folder, err := localkafka.Jars(version)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// realWorld strikes brokers of this machine.
type realWorld struct {
	*realstage.Backend
	cluster *localkafka.Cluster
	admin   *kadm.Client
	newer   string // jars
}

func (w realWorld) Replicated() bool { return true }

func (w realWorld) Strike(loop env.Loop, s firetest.Strike, done func(error)) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		err := w.strike(ctx, s)
		loop.Post(func() { done(err) })
	}()
}

func (w realWorld) strike(ctx context.Context, s firetest.Strike) error {
	b := int(s.Broker)
	switch s.Op {
	case firetest.Kill:
		return w.cluster.Kill(b)
	case firetest.Start:
		return w.cluster.Start(ctx, b)
	case firetest.Pause:
		return w.cluster.Pause(b)
	case firetest.Resume:
		return w.cluster.Resume(b)
	case firetest.MoveLeader:
		return w.moveLeader(ctx, s.Partition.Topic, s.Partition.Partition)
	case firetest.MoveCoordinator:
		return w.moveLeader(ctx, "__transaction_state", kafka.InternalPartition(s.ID, 5))
	case firetest.Roll:
		return w.cluster.Roll(ctx, b, w.newer)
	case firetest.RaiseTransaction:
		return w.cluster.Feature(ctx, "transaction.version", 2)
	}
	return fmt.Errorf("no such strike: %v", s)
}

// moveLeader makes the next replica the preferred one, and elects it.
func (w realWorld) moveLeader(ctx context.Context, topic string, partition int32) error {
	for {
		all, err := w.admin.ListTopicsWithInternal(ctx, topic)
		if err != nil {
			return err
		}
		p := all[topic].Partitions[partition]
		if len(p.ISR) < 3 || p.Leader < 0 {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s/%d has in-sync replicas %v: %w", topic, partition, p.ISR, ctx.Err())
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		at := slices.Index(p.Replicas, p.Leader)
		order := append(slices.Clone(p.Replicas[at+1:]), p.Replicas[:at+1]...)
		var req kadm.AlterPartitionAssignmentsReq
		req.Assign(topic, partition, order)
		if _, err := w.admin.AlterPartitionAssignments(ctx, req); err != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
		set := kadm.TopicsSet{}
		set.Add(topic, partition)
		_, err = w.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		return err
	}
}

// What is acknowledged must survive everything that operators and power cuts do to a cluster of three, through a rolling
// upgrade.
func TestFireOnKafka(t *testing.T) {
	old, newer := localJars(t, "4.1.2"), localJars(t, "4.4.0")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	began := time.Now()
	c, err := localkafka.Start(ctx, localkafka.Config{Jars: old, Nodes: 3, Port: 20460, Features: []string{"transaction.version=1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("three brokers in %s", time.Since(began))
	b, err := realstage.New("kafka 4.1.2", c.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	b.Within(12 * time.Minute)
	t.Cleanup(b.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	began = time.Now()
	limits := firetest.Limits{Request: 3 * time.Second, Progress: 90 * time.Second, Strike: 2 * time.Minute, Say: func(what string) { t.Logf("%s %s", time.Since(began).Round(time.Millisecond), what) }}
	report, err := firetest.Fire(realWorld{b, c, kadm.NewClient(cl), newer}, 1, limits, firetest.Everything...)
	t.Logf("in %s: %s", time.Since(began), report)
	if err != nil {
		t.Fatal(err)
	}
}
