package sim

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/trace"
)

// Loop implements env.Loop.
type Loop struct {
	w       *World
	node    *Node
	inc     *incarnation
	name    string
	key     uint64
	ready   ring
	busy    env.Instant // until when the callback before occupies the loop
	waking  bool        // a wake-up is in the heap
	closed  bool
	free    bool // callbacks take no time
	spent   time.Duration
	runs    uint64
	offload uint64
	onClose []func()
}

var _ env.Loop = (*Loop)(nil)

// Node is the node that the loop is on.
func (l *Loop) Node() *Node { return l.node }

// Name is what the loop was called when it was made.
func (l *Loop) Name() string { return l.name }

// Closed says whether the loop has been closed or its process has died.
func (l *Loop) Closed() bool { return l.closed }

// Key names the loop in draws.
func (l *Loop) Key() uint64 { return l.key }

// WhenAwake is for ports that are no links: it runs send at once, or when the process wakes up if it has been paused
// earlier in this callback, or never if it is dead.
func (l *Loop) WhenAwake(send func()) {
	if l.mute() {
		return
	}
	if l.node.paused {
		l.node.held = append(l.node.held, heldSend{send: send})
		return
	}
	send()
}

// Post implements env.Loop.
func (l *Loop) Post(fn func()) {
	if l.mute() {
		return
	}
	l.enqueue(item{fn: fn, loop: l, kind: entryPost, cause: l.w.record.current})
}

// mute says whether what is asked of the loop has no effect: it is closed, or a dead process asks.
func (l *Loop) mute() bool {
	r := l.w.running
	return l.closed || r != nil && r.inc.dead
}

// After implements env.Loop.
func (l *Loop) After(d time.Duration, fn func()) env.Timer { return l.after(d, fn) }

// alarm is After on behalf of the world: it works in the callback of a dead process, too.
func (l *Loop) alarm(d time.Duration, fn func()) *Timer {
	t := l.w.timers.New()
	t.loop, t.fn = l, fn
	l.w.schedule(l.w.now.Add(max(d, 0)), l.key, item{timer: t, loop: l, kind: entryTimer})
	return t
}

func (l *Loop) after(d time.Duration, fn func()) *Timer {
	if l.mute() {
		return &Timer{loop: l, state: timerStopped}
	}
	return l.alarm(d, fn)
}

// Spend implements env.Loop.
func (l *Loop) Spend(d time.Duration) { l.spent += d }

// OnClose implements env.Loop.
func (l *Loop) OnClose(fn func()) {
	if l.closed {
		l.w.afterCallback(fn)
		return
	}
	l.onClose = append(l.onClose, fn)
}

// Close implements env.Loop. Connections of the loop are closed.
func (l *Loop) Close() {
	if l.closed {
		return
	}
	if !l.inc.dead {
		l.w.net.closeLoop(l)
	}
	l.drop()
}

func (l *Loop) drop() {
	if l.closed {
		return
	}
	l.closed = true
	l.ready.clear()
	for _, fn := range l.onClose {
		l.w.afterCallback(fn)
	}
	l.onClose = nil
}

// afterCallback runs fn when no callback is running, so that a script is never stopped from inside itself.
func (w *World) afterCallback(fn func()) {
	if w.running == nil {
		fn()
		return
	}
	w.closing = append(w.closing, fn)
}

func (l *Loop) enqueue(it item) {
	l.ready.push(it)
	l.arm()
}

// arm makes sure that the loop wakes when it has something to do and is free to.
func (l *Loop) arm() {
	if l.waking || l.ready.n == 0 || l.w.running == l || l.node.paused {
		return
	}
	l.waking = true
	l.w.schedule(max(l.w.now, l.busy), l.key, item{loop: l, kind: entryWake})
}

// deliver runs a due item at once if the loop is free, and behind the others otherwise.
func (l *Loop) deliver(it *item) {
	if it.timer != nil {
		if it.timer.state == timerStopped {
			l.w.stopped--
			return
		}
		it.timer.state = timerDue
	}
	if l.closed {
		return
	}
	if l.ready.n > 0 || l.busy > l.w.now || l.node.paused {
		l.enqueue(*it)
		return
	}
	l.run(it)
}

func (l *Loop) wake() {
	l.waking = false
	if l.closed || l.node.paused || l.ready.n == 0 {
		return
	}
	if l.busy > l.w.now {
		l.arm()
		return
	}
	it := l.ready.pop()
	l.run(&it)
}

func (l *Loop) run(it *item) {
	w := l.w
	if it.timer != nil {
		if it.timer.state == timerStopped {
			l.arm()
			return
		}
		it.timer.state = timerFired
		it.fn, it.timer.fn = it.timer.fn, nil
	}
	l.runs++
	w.running = l
	w.record.callback(w.now, l, it)
	if it.link != nil {
		it.link.handle(it)
	} else {
		it.fn()
	}
	w.running = nil
	l.busy = w.now.Add(l.cost())
	for len(w.closing) > 0 {
		fn := w.closing[0]
		w.closing = w.closing[1:]
		fn()
	}
	w.record.current = 0
	l.arm()
}

// cost is how long the callback that just ran occupies the loop.
func (l *Loop) cost() time.Duration {
	spent := l.spent
	l.spent = 0
	if l.free {
		return spent
	}
	v := l.w.Draw(kindHandling, l.key, l.runs, 0)
	d := Between(v, l.w.o.HandlingMin, l.w.o.HandlingMax)
	if v&511 == 0 {
		d *= 64
	}
	if l.node.slowed != nil {
		l.node.slowed()
	}
	return (d + spent) * time.Duration(l.node.slow)
}

type timerState uint8

const (
	timerPending timerState = iota
	timerDue                // waits for its loop to be free
	timerFired
	timerStopped
)

// Timer implements env.Timer.
type Timer struct {
	loop  *Loop
	fn    func()
	state timerState
}

// Stop implements env.Timer.
func (t *Timer) Stop() bool {
	if t.loop.closed {
		return false
	}
	switch t.state {
	case timerPending:
		t.state, t.fn = timerStopped, nil
		t.loop.w.stopped++
		t.loop.w.sweep()
		return true
	case timerDue:
		t.state, t.fn = timerStopped, nil
		return true
	}
	return false
}

// What happens on a loop, as entries.
var (
	entryPost    = trace.NewKind("post", "loop", "run", "", "")
	entryTimer   = trace.NewKind("timer", "loop", "run", "", "")
	entryWake    = trace.NewKind("wake", "loop", "", "", "")
	entryBoot    = trace.NewKind("boot", "incarnation", "", "", "")
	entryMessage = trace.NewKind("message", "loop", "run", "link", "from")
	entryAccept  = trace.NewKind("accept", "loop", "run", "link", "from")
	entryClose   = trace.NewKind("close", "loop", "run", "link", "from")
)
