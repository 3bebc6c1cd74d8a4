package sim

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/trace"
)

// newProcess bundles the ports of one incarnation.
func (n *Node) newProcess(inc *incarnation) *proc.Process {
	w := n.w
	return &proc.Process{
		Clock:     clock{n},
		Rand:      w,
		Observer:  observer{inc},
		Name:      env.Addr(n.name),
		Nonce:     w.Draw(kindNonce, n.key, n.starts, 0) | 1,
		NewLoop:   func(name string) env.Loop { return inc.newLoop(name) },
		Transport: func(l env.Loop) env.Transport { return &transport{l.(*Loop)} },
		Workers:   func(l env.Loop) env.Workers { return workers{l.(*Loop)} },
		Blob: func(l env.Loop) blob.Store {
			if w.BlobPort == nil {
				panic("sim: World.BlobPort is not set")
			}
			return w.BlobPort(n, l)
		},
		Broker: func(l env.Loop, c broker.Class) broker.Requests {
			if w.BrokerPort == nil {
				panic("sim: World.BrokerPort is not set")
			}
			return w.BrokerPort(n, l, c)
		},
	}
}

// clock is a node's: monotonic time is the world's, the wall clock has its own errors.
type clock struct{ n *Node }

func (c clock) Now() env.Instant { return c.n.w.now }
func (c clock) Wall() time.Time  { return c.n.w.Wall().Add(c.n.wall) }

// observer speaks for one incarnation and is silent when it is dead.
type observer struct{ inc *incarnation }

func (o observer) Hook(e hook.Event) {
	n := o.inc.node
	switch {
	case o.inc.dead:
	case n.paused: // a process that is held between two effects has not come here yet
		n.held = append(n.held, heldSend{send: func() { n.EmitHook(e) }})
	default:
		n.EmitHook(e)
	}
}

func (o observer) Reached(p probe.Probe) {
	if !o.inc.dead {
		o.inc.node.w.reach(p.Index())
	}
}

func (o observer) Entry(k trace.Kind, a, b, c, d uint64) {
	if !o.inc.dead {
		o.inc.node.w.record.entry(o.inc.node.w.now, o.inc.node.index, k, a, b, c, d)
	}
}

func (o observer) Log(format string, args ...any) {
	w := o.inc.node.w
	if !o.inc.dead && w.record.keep {
		w.record.log(w.now, o.inc.node.index, fmt.Sprintf(format, args...))
	}
}

// EmitHook tells the trace and the listeners of OnHook that a point was passed on the node.
func (n *Node) EmitHook(e hook.Event) {
	w := n.w
	w.record.hook(w.now, n.index, e)
	w.outside(func() {
		for _, fn := range w.onHook {
			fn(n.name, e)
		}
	})
}

// outside runs fn on behalf of the world in the middle of a callback, so that what it asks has effect even after it
// crashed the process whose callback that is.
func (w *World) outside(fn func()) {
	inside := w.running
	w.running = w.self
	fn()
	w.running = inside
}

// OnHook adds a listener, which is called in the middle of the callback that passes a point and may crash or pause any
// node there.
func (w *World) OnHook(fn func(node string, e hook.Event)) { w.onHook = append(w.onHook, fn) }

// Reach notes that a probe was reached by what is on the world and on no node.
func (w *World) Reach(p probe.Probe) { w.reach(p.Index()) }

func (w *World) reach(index int) {
	if w.reached == nil {
		w.reached = make([]uint64, (probe.Count()+63)/64)
	}
	w.reached[index/64] |= 1 << (index % 64)
}

// Reached are the indices of the probes that were reached, in ascending order.
func (w *World) Reached() []int {
	var all []int
	for i := range 64 * len(w.reached) {
		if w.reached[i/64]&(1<<(i%64)) != 0 {
			all = append(all, i)
		}
	}
	return all
}

// workers implements env.Workers. The pool has no order: each piece of work takes a drawn time. By a draw the work runs
// at once or at its end, so that work which touches what the loop goes on changing does not stay unnoticed.
type workers struct{ l *Loop }

func (k workers) Offload(work func(), done func()) {
	l := k.l
	if l.mute() {
		return
	}
	l.offload++
	d := Between(l.w.Draw(kindOffload, l.key, l.offload, 0), 20*time.Microsecond, 2*time.Millisecond)
	if OneIn(l.w.Draw(kindOffloadAt, l.key, l.offload, 0), 2) {
		work()
		l.after(d, done)
		return
	}
	l.after(d, func() {
		work()
		if !l.closed {
			done()
		}
	})
}
