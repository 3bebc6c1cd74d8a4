package firetest_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
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
	*realstage.Mover
	cluster *localkafka.Cluster
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
		return w.Mover.MoveLeader(s.Partition)
	case firetest.MoveCoordinator:
		return w.Mover.MoveCoordinator(s.ID)
	case firetest.Roll:
		return w.cluster.Roll(ctx, b, w.newer)
	case firetest.RaiseTransaction:
		return w.cluster.Feature(ctx, "transaction.version", 2)
	}
	return fmt.Errorf("no such strike: %v", s)
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
	b, err := realstage.NewMover("kafka 4.1.2", c.Bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	b.Limit(12 * time.Minute)
	t.Cleanup(b.Close)
	began = time.Now()
	limits := firetest.Limits{Request: 3 * time.Second, Progress: 90 * time.Second, Strike: 2 * time.Minute, Say: func(what string) { t.Logf("%s %s", time.Since(began).Round(time.Millisecond), what) }}
	report, err := firetest.Fire(realWorld{b, c, newer}, 1, limits, firetest.Everything...)
	t.Logf("in %s: %s", time.Since(began), report)
	if err != nil {
		t.Fatal(err)
	}
}
