package loop

import (
	"github.com/onefold/onefold/engine/env"
)

// timer is one pending After. Its fields are guarded by the loop's mutex.
type timer struct {
	loop  *Loop
	at    env.Instant
	order uint64 // ties are broken by order of posting
	fn    func()
	index int // in the heap; -1 once taken
	spent bool
}

// Stop implements env.Timer. It holds also for a timer that is due and waits in a batch.
func (t *timer) Stop() bool {
	l := t.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.spent || l.closed {
		return false
	}
	t.spent = true
	t.fn = nil
	if t.index >= 0 {
		l.timers.remove(t.index)
	}
	return true
}

func (t *timer) fire() {
	t.loop.mu.Lock()
	fn := t.fn
	t.spent, t.fn = true, nil
	t.loop.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// timers is a binary heap by deadline, then order of posting.
type timers []*timer

func (h timers) less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}

func (h timers) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timers) add(t *timer) {
	t.loop.order++
	t.order = t.loop.order
	t.index = len(*h)
	*h = append(*h, t)
	h.up(t.index)
}

func (h *timers) take() *timer {
	t := (*h)[0]
	h.remove(0)
	return t
}

func (h *timers) remove(i int) {
	old := *h
	last := len(old) - 1
	old[i].index = -1
	if i != last {
		old[i], old[last] = old[last], nil
		old[i].index = i
	} else {
		old[last] = nil
	}
	*h = old[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *timers) drop() {
	for _, t := range *h {
		t.index, t.fn = -1, nil
	}
	*h = nil
}

func (h timers) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h timers) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
