package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
)

// toy is a small world in which three nodes pass a ball around, each with timers of its own, while one crashes.
func toy(seed uint64, walk func() []int) *World { return toyWith(Options{Seed: seed}, walk) }

func toyWith(o Options, walk func() []int) *World {
	w := New(o)
	names := []string{"a", "b", "c"}
	for i, name := range names {
		next := env.Addr(names[(i+1)%3])
		w.NewNode(name, func(p *proc.Process) {
			l := p.NewLoop("main")
			t := p.Transport(l)
			t.Listen(func(env.Conn) env.Handler { return &ball{p: p, l: l, t: t, next: next} })
			if name == "a" {
				l.After(time.Millisecond, func() { t.Dial(next, &ball{}).Send([]byte{0}) })
			}
			for _, d := range walk() {
				l.After(time.Millisecond, func() { p.Draw(env.KindScenario, uint64(d), 0, 0) })
			}
		}).Start()
	}
	w.At(env.Instant(50*time.Millisecond), func() { w.Node("b").Crash() })
	w.At(env.Instant(60*time.Millisecond), func() { w.Node("b").Start(); w.Node("a").Restart() })
	w.Run(env.Instant(200 * time.Millisecond))
	return w
}

type ball struct {
	p    *proc.Process
	l    env.Loop
	t    env.Transport
	next env.Addr
}

func (b *ball) OnMessage(c env.Conn, msg []byte) {
	b.t.Dial(b.next, &ball{}).Send(append([]byte{msg[0] + 1}, msg...)[:min(len(msg)+1, 100)])
}
func (b *ball) OnClose(env.Conn, error) {}

func sorted() []int { return []int{3, 9, 27, 81} }

// If this failed, a seed would not repeat a run, and no finding could be trusted.
func TestSameSeedSameTrace(t *testing.T) {
	one, two, other := toy(1, sorted), toy(1, sorted), toy(2, sorted)
	if one.Failure() != nil {
		t.Fatal(one.Failure())
	}
	if one.Entries() < 500 {
		t.Fatalf("only %d entries: the toy does not play", one.Entries())
	}
	if one.TraceHash() != two.TraceHash() || one.Entries() != two.Entries() {
		t.Fatal("one seed, two traces")
	}
	if one.TraceHash() == other.TraceHash() {
		t.Fatal("two seeds, one trace")
	}
}

// If this failed, looking at a failed run would show another one.
func TestKeepingATraceChangesNothing(t *testing.T) {
	kept := toyWith(Options{Seed: 1, KeepTrace: true}, sorted)
	if kept.TraceHash() != toy(1, sorted).TraceHash() || uint64(len(kept.Trace())) != kept.Entries() {
		t.Fatalf("%d entries, %d kept", kept.Entries(), len(kept.Trace()))
	}
}

// If this failed, the trace hash would be blind to the order of a map.
func TestMapWalkChangesTheHash(t *testing.T) {
	m := map[int]bool{3: true, 9: true, 27: true, 81: true, 5: true, 7: true, 11: true, 13: true}
	seen := map[uint64]bool{}
	for range 20 {
		seen[toy(1, func() []int {
			var all []int
			for k := range m {
				all = append(all, k)
			}
			return all
		}).TraceHash()] = true
	}
	if len(seen) < 2 {
		t.Fatal("twenty walks over a map left one hash")
	}
}

// If this failed, queues and credits would never bind.
func TestHandlingTakesTime(t *testing.T) {
	for _, slow := range []int{1, 10} {
		w := New(Options{Seed: 1, HandlingMin: time.Microsecond, HandlingMax: time.Microsecond})
		n := w.NewNode("n", nil)
		n.Start()
		n.Slow(slow)
		l := n.NewLoop("l")
		var at []env.Instant
		for range 3 {
			l.Post(func() { at = append(at, w.Now()); l.Spend(time.Millisecond) })
		}
		w.RunFor(time.Second)
		least := time.Duration(slow) * time.Millisecond
		if len(at) != 3 || at[1].Sub(at[0]) < least || at[2].Sub(at[1]) < least {
			t.Fatalf("slow %d: ran at %v", slow, at)
		}
	}
}

// If this failed, a process killed between two effects would still have the second one.
func TestCrashInMidCallbackSilencesPorts(t *testing.T) {
	w := New(Options{Seed: 1, KeepTrace: true})
	var heard []string
	w.NewNode("b", func(p *proc.Process) {
		l := p.NewLoop("l")
		p.Transport(l).Listen(func(env.Conn) env.Handler { return &hear{&heard} })
	}).Start()
	closed := 0
	a := w.NewNode("a", func(p *proc.Process) {
		l := p.NewLoop("l")
		c := p.Transport(l).Dial("b", &ball{})
		l.OnClose(func() { closed++ })
		l.After(time.Second, func() {
			c.Send([]byte("before"))
			w.Node("a").Crash()
			if closed != 0 {
				t.Error("OnClose ran inside the callback")
			}
			c.Send([]byte("after"))
			l.Post(func() { heard = append(heard, "post") })
			l.After(0, func() { heard = append(heard, "timer") })
			p.Entry(entryBoot, 99, 0, 0, 0)
		})
	})
	a.Start()
	w.RunFor(10 * time.Second)
	for _, e := range w.Trace() {
		if e.Kind == entryBoot && e.A == 99 {
			t.Error("a dead process made an entry")
		}
	}
	if closed != 1 || a.Up() {
		t.Fatalf("closed %d times, up %v", closed, a.Up())
	}
	for _, s := range heard {
		if s != "before" && s != "closed" {
			t.Fatalf("heard %q", heard)
		}
	}
	if len(heard) == 0 || heard[len(heard)-1] != "closed" {
		t.Fatalf("the peer was not told: %q", heard)
	}
}

type hear struct{ heard *[]string }

func (h *hear) OnMessage(_ env.Conn, msg []byte) { *h.heard = append(*h.heard, string(msg)) }
func (h *hear) OnClose(env.Conn, error)          { *h.heard = append(*h.heard, "closed") }

// If this failed, a zombie could not be made.
func TestPausedProcessWakesUpAndGoesOn(t *testing.T) {
	w := New(Options{Seed: 1})
	var heard []string
	w.NewNode("b", func(p *proc.Process) {
		p.Transport(p.NewLoop("l")).Listen(func(env.Conn) env.Handler { return &hear{&heard} })
	}).Start()
	ticks := 0
	a := w.NewNode("a", func(p *proc.Process) {
		l := p.NewLoop("l")
		c := p.Transport(l).Dial("b", &ball{})
		l.After(time.Second, func() {
			c.Send([]byte("1"))
			w.Node("a").Pause(env.Instant(5 * time.Second))
			c.Send([]byte("2"))
			l.Post(func() { ticks++ })
		})
		l.After(2*time.Second, func() { ticks++ })
	})
	a.Start()
	w.Run(env.Instant(4 * time.Second))
	if fmt.Sprint(heard, ticks) != "[1] 0" {
		t.Fatalf("while paused: heard %v, ticks %d", heard, ticks)
	}
	w.Run(env.Instant(6 * time.Second))
	if fmt.Sprint(heard, ticks) != "[1 2] 2" {
		t.Fatalf("afterwards: heard %v, ticks %d", heard, ticks)
	}
}

// If this failed, a panic in the engine would end the harness and not be a verdict.
func TestPanicIsAFailureOfTheNode(t *testing.T) {
	w := New(Options{Seed: 1})
	w.NewNode("a", func(p *proc.Process) { panic("boom") }).Start()
	w.RunFor(time.Second)
	if f := w.Failure(); f == nil || f.Node != "a" || f.Text != "boom" || f.Violation {
		t.Fatalf("failure %v", f)
	}
	if w.Step() {
		t.Fatal("the run goes on")
	}
}

// If this failed, taking a fault out of a plan would change what it did not touch.
func TestDrawsOfTheSameNameStayEqualWithoutAFault(t *testing.T) {
	run := func(fault bool) (handled []env.Instant) {
		w := New(Options{Seed: 7})
		for _, name := range []string{"a", "b"} {
			n := w.NewNode(name, nil)
			n.Start()
			l := n.NewLoop("l")
			var tick func()
			tick = func() {
				if name == "b" {
					handled = append(handled, w.Now())
				}
				l.Post(func() { l.After(Between(w.Draw(env.KindScenario, n.Key(), uint64(len(handled)), 0), 1, 1000), tick) })
			}
			l.Post(tick)
		}
		if fault {
			w.At(1000, func() { w.Node("a").Crash() })
		}
		w.Run(1_000_000)
		return handled
	}
	with, without := run(true), run(false)
	if len(with) < 50 || fmt.Sprint(with) != fmt.Sprint(without) {
		t.Fatalf("a node that the fault does not reach behaved otherwise: %d and %d ticks", len(with), len(without))
	}
}

// If this failed, stopped timers would pile up or strike.
func TestStoppedTimersDoNotRun(t *testing.T) {
	w := New(Options{Seed: 1})
	n := w.NewNode("n", nil)
	n.Start()
	l := n.NewLoop("l")
	ran := 0
	for i := range 10_000 {
		timer := l.After(time.Duration(10_000-i)*time.Microsecond, func() { ran++ })
		if i%10 != 0 && !timer.Stop() {
			t.Fatal("Stop of a pending timer")
		}
	}
	if w.q.len() > 5_000 {
		t.Fatalf("%d in the heap", w.q.len())
	}
	w.RunFor(time.Second)
	if ran != 1000 {
		t.Fatalf("%d ran", ran)
	}
}

func BenchmarkEvents(b *testing.B) {
	w := New(Options{Seed: 1})
	for i := range 32 {
		n := w.NewNode(fmt.Sprint("n", i), nil)
		n.Start()
		l := n.NewLoop("l")
		var tick func()
		tick = func() { l.After(time.Millisecond, tick) }
		l.Post(tick)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		w.Step()
	}
}

func BenchmarkMessages(b *testing.B) {
	w := New(Options{Seed: 1})
	for i := range 16 {
		w.NewNode(fmt.Sprint("n", i), func(p *proc.Process) {
			l := p.NewLoop("l")
			t := p.Transport(l)
			t.Listen(func(c env.Conn) env.Handler { return echo{} })
			for range 8 {
				t.Dial(env.Addr(fmt.Sprint("n", (i+1)%16)), echo{}).Send([]byte{1})
			}
		}).Start()
	}
	w.RunFor(10 * time.Millisecond)
	b.ReportAllocs()
	b.ResetTimer()
	n := w.Entries()
	for w.Entries() < n+uint64(b.N) {
		w.serve(never, 1000, nil)
	}
}

type echo struct{}

func (echo) OnMessage(c env.Conn, msg []byte) { c.Send(msg) }
func (echo) OnClose(env.Conn, error)          {}
