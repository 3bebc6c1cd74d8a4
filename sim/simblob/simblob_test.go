package simblob_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/blob/blobtest"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simblob"
)

type world struct {
	w       *sim.World
	store   *simblob.Store
	clients int
}

func newWorld(seed uint64) *world {
	w := sim.New(sim.Options{Seed: seed, Checks: true})
	return &world{w: w, store: simblob.New(w)}
}

func (b *world) node() *sim.Node {
	b.clients++
	n := b.w.NewNode(fmt.Sprint("n", b.clients), nil)
	n.Start()
	return n
}

func (b *world) Client() blobtest.Client {
	p := b.node().Process()
	l := p.NewLoop("l")
	return blobtest.Client{Post: l.Post, Store: p.Blob(l)}
}

func (b *world) Settle(cond func() bool) bool { return b.w.RunUntil(cond, b.w.Now().Add(time.Minute)) }

// If this failed, the job log would rest on a store that is not what production has.
func TestConformance(t *testing.T) {
	for seed := range uint64(10) {
		blobtest.Run(t, func(t *testing.T) blobtest.World { return newWorld(seed) })
	}
}

// If this failed, no run would meet the answer that leaves it open whether an entry was written.
func TestFailuresBeforeAndAfterTheEffect(t *testing.T) {
	for _, c := range []struct {
		effect sim.BlobEffect
		there  bool
	}{{sim.BlobFailBefore, false}, {sim.BlobFailAfter, true}} {
		b := newWorld(1)
		n := b.node()
		l := n.NewLoop("l")
		hits := 0
		b.store.FaultBlob(sim.BlobFault{Node: n.Name(), Effect: c.effect, Count: 1, Hit: func() { hits++ }})
		var first, second error
		done := false
		s := n.Process().Blob(l)
		l.Post(func() {
			s.Create("a", []byte("x"), func(err error) {
				first = err
				s.Create("a", []byte("x"), func(err error) { second, done = err, true })
			})
		})
		b.Settle(func() bool { return done })
		if !errors.Is(first, simblob.ErrUnavailable) || hits != 1 {
			t.Fatalf("first create: %v, %d hits", first, hits)
		}
		if errors.Is(second, blob.ErrExists) != c.there {
			t.Fatalf("effect %d: repeated create: %v", c.effect, second)
		}
	}
}

// If this failed, a zombie's last write could not land after its successor has begun.
func TestAnOperationOutlivesItsProcess(t *testing.T) {
	b := newWorld(1)
	n := b.node()
	l := n.NewLoop("l")
	s := n.Process().Blob(l)
	l.Post(func() {
		s.Create("sent", nil, func(error) { t.Error("the dead one was told") })
		n.Crash()
		s.Create("after", nil, func(error) { t.Error("the dead one was told") })
	})
	b.w.RunFor(time.Second)
	if got := fmt.Sprint(b.store.Keys("")); got != "[sent]" {
		t.Fatalf("the store holds %s", got)
	}
}

// If this failed, a process that is held between two effects would not be held.
func TestAPausedProcessAsksWhenItWakesUp(t *testing.T) {
	b := newWorld(1)
	n := b.node()
	l := n.NewLoop("l")
	s := n.Process().Blob(l)
	told := false
	l.Post(func() {
		n.Pause(0)
		s.Create("a", []byte("x"), func(error) { told = true })
	})
	b.w.RunFor(time.Second)
	if _, there := b.store.Peek("a"); there || told {
		t.Fatal("written while paused")
	}
	n.Resume()
	b.w.RunFor(time.Second)
	if got, _ := b.store.Peek("a"); !bytes.Equal(got, []byte("x")) || !told {
		t.Fatal("not written afterwards")
	}
}

// If this failed, slowness and odds of a fault would be words in a plan.
func TestSlownessAndOdds(t *testing.T) {
	b := newWorld(1)
	n := b.node()
	l := n.NewLoop("l")
	s := n.Process().Blob(l)
	b.store.FaultBlob(sim.BlobFault{Effect: sim.BlobSlow, Delay: time.Minute, Count: 1})
	var at time.Duration
	l.Post(func() { s.Get("a", func([]byte, error) { at = time.Duration(b.w.Now()) }) })
	b.w.RunFor(time.Hour)
	if at < time.Minute || at > 2*time.Minute {
		t.Fatalf("answered at %v", at)
	}
	b.store.FaultBlob(sim.BlobFault{Effect: sim.BlobFailBefore, OneIn: 4})
	failed := 0
	for range 400 {
		l.Post(func() {
			s.Get("a", func(_ []byte, err error) {
				if errors.Is(err, simblob.ErrUnavailable) {
					failed++
				}
			})
		})
	}
	b.w.RunFor(time.Minute)
	if failed < 60 || failed > 140 {
		t.Fatalf("%d of 400 failed", failed)
	}
	b.store.CalmBlob("")
	l.Post(func() { s.Get("a", func(_ []byte, err error) { failed = -1 }) })
	b.w.RunFor(time.Minute)
	if failed != -1 {
		t.Fatal("not calmed")
	}
}
