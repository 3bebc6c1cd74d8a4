package sim

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/invariant"
)

// Options says which world is made. The zero value of each field but Seed stands for its default.
type Options struct {
	Seed      uint64
	Checks    bool // expensive checks, by whoever asks World.Checks
	KeepTrace bool // keep entries and log lines, not only their hash

	// Start is the wall clock at instant 0.
	Start time.Time
	// HandlingMin and HandlingMax bound the drawn time of a callback; one in 512 takes 64 times as long.
	// The defaults are 1 and 4 microseconds.
	HandlingMin, HandlingMax time.Duration
	// DelayMin and DelayMax bound the drawn delay of a message; one in 64 takes 8 times as long.
	// The defaults are 100 and 600 microseconds.
	DelayMin, DelayMax time.Duration
	// BytesPerMilli is the bandwidth of a link; the default is 100,000, that is 100 MB/s.
	BytesPerMilli int
	// StallMin and StallMax bound how long a cut link stalls before both ends see it break. The defaults are 2 and 15 s.
	StallMin, StallMax time.Duration
}

func (o Options) filled() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	def(&o.HandlingMin, time.Microsecond)
	def(&o.HandlingMax, 4*time.Microsecond)
	def(&o.DelayMin, 100*time.Microsecond)
	def(&o.DelayMax, 600*time.Microsecond)
	def(&o.StallMin, 2*time.Second)
	def(&o.StallMax, 15*time.Second)
	if o.BytesPerMilli == 0 {
		o.BytesPerMilli = 100_000
	}
	return o
}

// World is one simulated world. It belongs to the goroutine that runs it.
type World struct {
	// BlobPort and BrokerPort make the ports of a process; they are set before the first node starts.
	BlobPort   func(*Node, env.Loop) blob.Store
	BrokerPort func(*Node, env.Loop, broker.Class) broker.Requests
	// Blobs and Brokers take the faults that are theirs; nil is allowed.
	Blobs   BlobFaults
	Brokers BrokerFaults

	o        Options
	now      env.Instant
	q        queue
	nodes    []*Node
	self     *Loop // the world's own loop
	running  *Loop // whose callback runs; nil between events
	closing  []func()
	stopped  int // timers stopped that are still in the heap
	net      network
	timers   Slab[Timer]
	messages Slab[[]byte]
	rules    rules
	record   record
	onHook   []func(node string, e hook.Event)
	inFlight []func(node string) bool
	reached  []uint64
	failure  *Failure
	ended    bool
}

// New makes a world with no nodes.
func New(o Options) *World {
	w := &World{o: o.filled()}
	w.record.keep = o.KeepTrace
	w.record.hash = Hash(o.Seed, kindTies, 0, 0, 0)
	outside := &Node{w: w, name: "world", key: NameKey("world"), index: -1, slow: 1}
	outside.inc = &incarnation{node: outside}
	w.self = &Loop{w: w, node: outside, inc: outside.inc, name: "world", key: outside.key, free: true}
	return w
}

// Seed is the world's seed.
func (w *World) Seed() uint64 { return w.o.Seed }

// Checks says whether expensive checks are wanted.
func (w *World) Checks() bool { return w.o.Checks }

// Now is the virtual time.
func (w *World) Now() env.Instant { return w.now }

// Wall is the wall clock of the world itself, which no fault touches.
func (w *World) Wall() time.Time { return w.o.Start.Add(time.Duration(w.now)) }

// Draw draws by name and folds the draw into the trace hash.
func (w *World) Draw(kind env.Kind, a, b, c uint64) uint64 {
	v := Hash(w.o.Seed, kind, a, b, c)
	w.record.fold(v)
	return v
}

// Loop is the world's own loop: it belongs to no node, never dies, and its callbacks take no time. A nemesis and a
// scenario put their timers here.
func (w *World) Loop() *Loop { return w.self }

// At runs fn on the world's own loop at an instant, or now if that has passed.
func (w *World) At(at env.Instant, fn func()) *Timer { return w.self.alarm(at.Sub(w.now), fn) }

// Failure is a panic caught in a callback. It ends the run.
type Failure struct {
	Node      string
	Loop      string
	At        env.Instant
	Text      string
	Violation bool // of an invariant; otherwise any other panic
	Stack     string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s/%s at %s: %s", f.Node, f.Loop, time.Duration(f.At), f.Text)
}

// Failure is what ended the run, or nil.
func (w *World) Failure() *Failure { return w.failure }

// End ends the run: no further event is served.
func (w *World) End() { w.ended = true }

// Close ends the run and unwinds what is left of its processes, above all their scripts. A world that is not closed keeps
// them in memory.
func (w *World) Close() {
	w.ended, w.running = true, nil
	for _, n := range w.nodes {
		w.unwind(n)
	}
	w.q = queue{}
}

func (w *World) unwind(n *Node) {
	defer func() {
		if r := recover(); r != nil && w.failure == nil {
			w.fail(r)
		}
	}()
	n.Crash()
}

// Step serves one event. It is false when there is none, or the run has ended.
func (w *World) Step() bool {
	if w.ended || w.q.len() == 0 {
		return false
	}
	w.serve(1<<62, 1, nil)
	return !w.ended
}

// Run serves events until the clock stands at until, or the run has ended.
func (w *World) Run(until env.Instant) {
	w.serve(until, 1<<62, nil)
	if !w.ended && w.now < until {
		w.now = until
	}
}

// RunFor is Run for a duration from now.
func (w *World) RunFor(d time.Duration) { w.Run(w.now.Add(d)) }

// RunUntil serves events until cond holds, which is asked after each event, and says whether it does. It gives up at
// the instant limit.
func (w *World) RunUntil(cond func() bool, limit env.Instant) bool {
	if cond() {
		return true
	}
	return w.serve(limit, 1<<62, cond)
}

// serve runs events up to an instant, a number of them, or a condition. A panic ends the run.
func (w *World) serve(until env.Instant, events int, cond func() bool) bool {
	defer func() {
		if r := recover(); r != nil {
			w.fail(r)
		}
	}()
	for ; events > 0 && !w.ended && w.q.len() > 0; events-- {
		if (*w.q.first())[0].at > until {
			return false
		}
		at, it := w.q.pop()
		w.now = at
		w.dispatch(&it)
		if cond != nil && cond() {
			return true
		}
	}
	return false
}

func (w *World) fail(r any) {
	l := w.running
	if l == nil {
		l = w.self
	}
	f := &Failure{Node: l.node.name, Loop: l.name, At: w.now, Text: fmt.Sprint(r), Stack: string(debug.Stack())}
	if err, ok := r.(error); ok {
		var v invariant.Violation
		if errors.As(err, &v) {
			f.Violation, f.Text = true, v.Text
		}
	}
	w.failure, w.ended, w.running = f, true, nil
	w.record.log(w.now, l.node.index, "panic: "+f.Text)
}

// dispatch hands a due item to its loop or link.
func (w *World) dispatch(it *item) {
	switch {
	case it.link != nil:
		it.link.arrive(it)
	case it.kind == entryWake:
		it.loop.wake()
	default:
		it.loop.deliver(it)
	}
}

// schedule puts an item into the heap; tie is the key of the loop or link it is for.
func (w *World) schedule(at env.Instant, of uint64, it item) {
	it.cause = w.record.current
	w.scheduleCaused(at, of, it)
}

func (w *World) scheduleCaused(at env.Instant, of uint64, it item) {
	w.q.push(at, mix(w.o.Seed^uint64(at)^k2, of^k3), it)
}

// sweep throws away stopped timers when they are most of the heap.
func (w *World) sweep() {
	if w.stopped < 64 || w.stopped < w.q.len()/2 {
		return
	}
	w.q.sweep(func(it *item) bool { return it.timer != nil && it.timer.state == timerStopped })
	w.stopped = 0
}
