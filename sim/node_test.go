package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/script"
	"github.com/onefold/onefold/engine/trace"
)

// effects is a process that does two effects with a hook before, between and after them.
func effects(w *World, done *[]string) *Node {
	return w.NewNode("tm1", func(p *proc.Process) {
		l := p.NewLoop("l")
		do := func(s string) { l.(*Loop).WhenAwake(func() { *done = append(*done, s) }) }
		l.After(time.Second, func() {
			p.Hook(hook.Event{Point: hook.K7Completed})
			do("first")
			p.Hook(hook.Event{Point: hook.K8NoticeSent})
			do("second")
			p.Hook(hook.Event{Point: hook.K9EndTxnSent})
		})
	})
}

// If this failed, a process held between two effects would not be held there, and one killed when it wakes up would
// still have the effects after that.
func TestAProcessIsHeldBetweenTwoEffects(t *testing.T) {
	var done, hooks []string
	w := New(Options{Seed: 1})
	n := effects(w, &done)
	w.OnHook(func(node string, e hook.Event) {
		hooks = append(hooks, e.Point.String())
		switch e.Point {
		case hook.K7Completed:
			n.Pause(0)
		case hook.K8NoticeSent:
			if n.Incarnation() == 1 {
				n.Crash()
			}
		}
	})
	n.Start()
	w.RunFor(10 * time.Second)
	if fmt.Sprint(done, hooks) != "[] [k7]" {
		t.Fatalf("held at k7: %v %v", done, hooks)
	}
	n.Resume()
	if fmt.Sprint(done, hooks) != "[first] [k7 k8]" || n.Up() {
		t.Fatalf("killed at k8: %v %v", done, hooks)
	}
	n.Start()
	w.RunFor(500 * time.Millisecond)
	n.Pause(0)
	n.Resume()
	if len(done) != 1 {
		t.Fatalf("what the dead process had before it was done by the next one: %v", done)
	}
	w.RunFor(10 * time.Second)
	n.Resume()
	if fmt.Sprint(done, hooks) != "[first first second] [k7 k8 k7 k8 k9]" {
		t.Fatalf("the next one: %v %v", done, hooks)
	}
}

// If this failed, a hook could hold a process at one point only.
func TestAProcessThatWakesUpCanBeHeldAgain(t *testing.T) {
	var done []string
	w := New(Options{Seed: 1})
	n := effects(w, &done)
	w.OnHook(func(string, hook.Event) { n.Pause(0) })
	n.Start()
	w.RunFor(10 * time.Second)
	for _, want := range []string{"[]", "[first]", "[first second]"} {
		if fmt.Sprint(done) != want {
			t.Fatalf("got %v, want %s", done, want)
		}
		n.Resume()
	}
}

// If this failed, a listener that kills the process could do nothing else any more.
func TestAListenerActsAlsoAfterItKilledTheProcess(t *testing.T) {
	w := New(Options{Seed: 1})
	var done []string
	n := effects(w, &done)
	other := w.NewNode("other", nil)
	other.Start()
	l := other.NewLoop("l")
	w.OnHook(func(string, hook.Event) {
		n.Crash()
		l.Post(func() { done = append(done, "post") })
		w.At(w.Now().Add(time.Second), func() { done = append(done, "timer") })
	})
	n.Start()
	w.RunFor(10 * time.Second)
	if fmt.Sprint(done) != "[post timer]" {
		t.Fatalf("got %v", done)
	}
}

// If this failed, scripts of dead processes would stay in memory, or be unwound while they run.
func TestACrashUnwindsScripts(t *testing.T) {
	for _, inside := range []bool{false, true} {
		w := New(Options{Seed: 1})
		unwound := 0
		n := w.NewNode("n", func(p *proc.Process) {
			l := p.NewLoop("l")
			script.Run(l, func(ask script.Ask[int, int]) {
				defer func() { unwound++ }()
				for i := 0; ; i++ {
					if ask(i) == 3 && inside {
						w.Node("n").Crash()
					}
				}
			}, func(e int, done func(int)) { l.After(time.Second, func() { done(e) }) }, func() { t.Error("finished") })
		})
		n.Start()
		w.RunFor(10 * time.Second)
		n.Crash()
		if f := w.Failure(); f != nil {
			t.Fatalf("inside %v: %v\n%s", inside, f, f.Stack)
		}
		if unwound != 1 {
			t.Fatalf("inside %v: unwound %d times", inside, unwound)
		}
	}
}

// If this failed, a campaign would keep the scripts of every world that it ran.
func TestCloseUnwindsScripts(t *testing.T) {
	w := New(Options{Seed: 1})
	unwound := false
	w.NewNode("n", func(p *proc.Process) {
		l := p.NewLoop("l")
		script.Run(l, func(ask script.Ask[int, int]) {
			defer func() { unwound = true }()
			ask(0)
		}, func(int, func(int)) {}, func() {})
		l.After(time.Second, func() { panic("boom") })
	}).Start()
	w.RunFor(10 * time.Second)
	if unwound || w.Failure() == nil {
		t.Fatalf("unwound %v, failure %v", unwound, w.Failure())
	}
	w.Close()
	if !unwound || w.Step() {
		t.Fatal("not unwound, or goes on")
	}
}

// If this failed, a broker could forget what it had acknowledged, or remember what it never wrote down.
func TestADiskKeepsWhatWasSynced(t *testing.T) {
	kept := map[string]bool{}
	for seed := range uint64(50) {
		w := New(Options{Seed: seed})
		n := w.NewNode("n", nil)
		n.Start()
		d := n.Disk()
		d.Write("a", 1)
		d.Write("c", 1)
		d.Sync()
		d.Write("a", 2)
		d.Write("b", 2)
		d.Remove("c")
		if v, _ := d.Read("a"); v != 2 || fmt.Sprint(d.List("")) != "[a b]" {
			t.Fatalf("a write is not visible: %v, %v", v, d.List(""))
		}
		n.Restart()
		a, _ := d.Read("a")
		kept[fmt.Sprint(a, d.List(""))] = true
	}
	for _, prefix := range []string{"1 [a c]", "2 [a c]", "2 [a b c]", "2 [a b]"} {
		if !kept[prefix] {
			t.Errorf("never left: %s", prefix)
		}
		delete(kept, prefix)
	}
	if len(kept) > 0 {
		t.Errorf("no prefix of the writes: %v", kept)
	}
}

// If this failed, a jump of the wall clock would move timeouts.
func TestTheWallClockJumpsAlone(t *testing.T) {
	w := New(Options{Seed: 1})
	n := w.NewNode("n", nil)
	n.Start()
	p := n.Process()
	wall, now := p.Wall(), p.Now()
	n.ShiftWall(-time.Hour)
	if p.Now() != now || p.Wall().Sub(wall) != -time.Hour || !w.Wall().Equal(wall) {
		t.Fatalf("now %v, wall %v", p.Now(), p.Wall())
	}
}

// If this failed, a report could not say what led to what.
func TestATraceNamesCauses(t *testing.T) {
	w := New(Options{Seed: 1, KeepTrace: true})
	w.NewNode("b", func(p *proc.Process) {
		l := p.NewLoop("main")
		p.Transport(l).Listen(func(env.Conn) env.Handler {
			return told(func() {
				l.After(time.Second, func() { p.Entry(entryTest, 7, 8, 0, 0) })
				p.Log("heard from %s", "a")
			})
		})
	}).Start()
	w.NewNode("a", func(p *proc.Process) {
		l := p.NewLoop("main")
		c := p.Transport(l).Dial("b", told(func() {}))
		l.After(time.Second, func() {
			p.Hook(hook.Event{Point: hook.K9EndTxnSent, Generation: 2, Checkpoint: 3})
			p.Reached(probeTest)
			c.Send([]byte("x"))
		})
	}).Start()
	w.RunFor(10 * time.Second)
	i := slices.IndexFunc(w.Trace(), func(e Entry) bool { return e.Kind == entryTest })
	var kinds []string
	for _, e := range w.Causes(w.Trace()[i].Number) {
		kinds = append(kinds, e.Kind.Name())
	}
	if got := strings.Join(kinds, " < "); got != "test < timer < message < hook < timer < boot < start" {
		t.Fatalf("causes: %s", got)
	}
	var out strings.Builder
	if err := w.WriteTrace(&out, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"hook k9      generation=2 checkpoint=3", "b          heard from a", "test         seven=7 eight=8\n",
		"a          timer        loop=main run=1",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in the trace\n%s", want, &out)
		}
	}
	if !slices.Contains(w.Reached(), probeTest.Index()) {
		t.Error("the probe was not reached")
	}
}

var (
	entryTest = trace.NewKind("test", "seven", "eight", "", "")
	probeTest = probe.New("sim: test")
)

// told is a handler that runs on each message.
type told func()

func (f told) OnMessage(env.Conn, []byte) { f() }
func (f told) OnClose(env.Conn, error)    {}
