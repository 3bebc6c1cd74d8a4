// Package loop runs the engine's loops on goroutines: one goroutine and one queue per loop, and the clock, randomness,
// workers and in-process transport that belong to them.
//
// A loop's callbacks run one at a time in the order of posting; a batch of posts costs one wake. Closing a loop drops what is
// queued and what would come later, and runs the OnClose functions as the last thing on its goroutine.
package loop

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// Loop is an env.Loop with a goroutine of its own, which ends at Close.
type Loop struct {
	name  string
	clock Clock

	mu      sync.Mutex
	queue   []func()
	timers  timers
	order   uint64 // of the newest timer
	onClose []func()
	waiting bool // the goroutine sleeps, or is about to: it wants a wake
	closed  bool
	ended   bool // the OnClose functions have been taken

	over atomic.Bool   // closed, for the look between two callbacks
	wake chan struct{} // capacity 1
	done chan struct{} // closed when the goroutine has ended
}

var _ env.Loop = (*Loop)(nil)

// New starts a loop. Its name is for people.
func New(name string, clock Clock) *Loop {
	l := &Loop{name: name, clock: clock, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Name is what New was given.
func (l *Loop) Name() string { return l.name }

// Post implements env.Loop. It may be called from any goroutine.
func (l *Loop) Post(fn func()) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.queue = append(l.queue, fn)
	wake := l.waiting
	l.waiting = false
	l.mu.Unlock()
	if wake {
		l.signal()
	}
}

// After implements env.Loop. Timers that are due run in the order of their deadlines, after what is queued by then.
func (l *Loop) After(d time.Duration, fn func()) env.Timer {
	t := &timer{loop: l, at: l.clock.Now().Add(max(d, 0)), fn: fn, index: -1}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return t
	}
	l.timers.add(t)
	wake := l.waiting && t.index == 0
	if wake {
		l.waiting = false
	}
	l.mu.Unlock()
	if wake {
		l.signal()
	}
	return t
}

// Spend implements env.Loop: real time passes by itself.
func (l *Loop) Spend(time.Duration) {}

// OnClose implements env.Loop. On a loop that has ended already fn runs at once.
func (l *Loop) OnClose(fn func()) {
	l.mu.Lock()
	if !l.ended {
		l.onClose = append(l.onClose, fn)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	fn()
}

// Close implements env.Loop. It may be called from any goroutine; a callback that is running is not interrupted.
func (l *Loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.over.Store(true)
	l.queue = nil
	l.timers.drop()
	wake := l.waiting
	l.waiting = false
	l.mu.Unlock()
	if wake {
		l.signal()
	}
}

// Done is closed when the loop's goroutine has ended, OnClose functions included.
func (l *Loop) Done() <-chan struct{} { return l.done }

func (l *Loop) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Loop) run() {
	defer close(l.done)
	var batch []func()
	for {
		var ok bool
		if batch, ok = l.next(batch[:0]); !ok {
			break
		}
		for i, fn := range batch {
			batch[i] = nil
			fn()
			if l.over.Load() {
				break
			}
		}
		clear(batch)
	}
	l.mu.Lock()
	last := l.onClose
	l.onClose, l.ended = nil, true
	l.mu.Unlock()
	for _, fn := range last {
		fn()
	}
}

// next waits until something is due and returns it; false once the loop is closed. The slice handed in becomes the next queue,
// so that two slices take turns and nothing is allocated per batch.
func (l *Loop) next(empty []func()) ([]func(), bool) {
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, false
		}
		batch, wait := l.queue, time.Duration(-1)
		if len(l.timers) > 0 {
			now := l.clock.Now()
			for len(l.timers) > 0 && l.timers[0].at <= now {
				batch = append(batch, l.timers.take().fire)
			}
			if len(l.timers) > 0 {
				wait = l.timers[0].at.Sub(now)
			}
		}
		if len(batch) > 0 {
			l.queue = empty
			l.mu.Unlock()
			return batch, true
		}
		l.waiting = true
		l.mu.Unlock()
		l.sleep(wait)
	}
}

// sleep waits for a wake, or for d when it is not negative.
func (l *Loop) sleep(d time.Duration) {
	if d < 0 {
		<-l.wake
		return
	}
	t := time.NewTimer(d)
	select {
	case <-l.wake:
	case <-t.C:
	}
	t.Stop()
}
