package firetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka/firetest"
	"github.com/onefold/onefold/sim/simbroker"
	"github.com/onefold/onefold/sim/simbroker/simstage"
)

// simWorld strikes a simulated cluster.
type simWorld struct {
	*simstage.Backend
	newer      simbroker.Profile
	replicated bool
}

func (w simWorld) Replicated() bool { return w.replicated }

func (w simWorld) Strike(loop env.Loop, s firetest.Strike, done func(error)) {
	later := func(d time.Duration, err error) { loop.After(d, func() { done(err) }) }
	b := int(s.Broker)
	switch s.Op {
	case firetest.Kill:
		later(time.Second, w.KillBroker(b))
	case firetest.Start:
		later(time.Second, w.StartBroker(b))
	case firetest.Pause:
		later(time.Second, w.PauseBroker(b))
	case firetest.Resume:
		later(time.Second, w.ResumeBroker(b))
	case firetest.MoveLeader:
		later(0, w.Backend.MoveLeader(s.Partition))
	case firetest.MoveCoordinator:
		later(0, w.Backend.MoveCoordinator(s.ID))
	case firetest.Roll:
		cluster := w.World.Brokers.(interface {
			Upgrade(broker, profile string) bool
		})
		if !cluster.Upgrade(w.Cluster.Node(b).Name(), w.newer.Name) {
			done(errors.New("the release cannot join"))
			return
		}
		// It has handed over what it leads; now it ends.
		loop.After(500*time.Millisecond, func() {
			err := w.KillBroker(b)
			loop.After(3*time.Second, func() {
				if err == nil {
					err = w.StartBroker(b)
				}
				later(time.Second, err)
			})
		})
	case firetest.RaiseTransaction:
		if w.Cluster.TransactionVersion() < 2 && !w.Cluster.Finalize(2) {
			done(errors.New("a broker does not have the feature"))
			return
		}
		later(time.Second, nil)
	}
}

var simLimits = firetest.Limits{Request: 5 * time.Second, Progress: 2 * time.Minute, Strike: time.Minute}

// The script of the real cluster, on the simulated one: what it may show there it must not hide here.
func TestFireOnSimulatedBroker(t *testing.T) {
	runs, committed, mended := 0, 0, 0
	for _, x := range []struct {
		from, to string
		copies   int
	}{{"k41-tv1", "k44-tv1", 3}, {"k41-tv1", "k44-tv1", 1}, {"k41", "k44", 3}, {"k41", "k44", 1}, {"k401-tv1", "k43-tv1", 3}, {"k39", "k39", 3}, {"k44", "k44", 1}, {"k44-tv1", "k44-tv1", 1}} {
		for seed := range uint64(2) {
			newer, ok := simbroker.ProfileOf(x.to)
			if !ok {
				t.Fatal(x.to)
			}
			w := simWorld{simulatedCopies(t, x.from, seed, x.copies), newer, x.copies > 1}
			steps := firetest.Everything
			if !newer.HasTransactionVersion {
				steps = steps[:len(steps)-1]
			}
			report, err := firetest.Fire(w, 1, simLimits, steps...)
			if err != nil {
				t.Errorf("%s to %s, %d copies, seed %d: %v", x.from, x.to, x.copies, seed, err)
				continue
			}
			runs, committed, mended = runs+1, committed+report.Committed, mended+report.Mended
			if seed == 0 {
				t.Logf("%s to %s, %d copies: %s", x.from, x.to, x.copies, report)
			}
		}
	}
	t.Logf("%d runs: %d transactions committed, %d dropped markers mended", runs, committed, mended)
	if committed < 50*runs || mended == 0 {
		t.Errorf("only %d transactions in %d runs, %d markers mended: the script shows too little", committed, runs, mended)
	}
}
