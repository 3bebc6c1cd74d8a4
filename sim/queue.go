package sim

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/trace"
)

// item is something to run on a loop, or that arrives at the end of a link.
type item struct {
	fn    func()
	timer *Timer
	link  *Link // the receiving end; msg arrives there
	msg   any
	loop  *Loop
	cause uint32
	kind  trace.Kind
}

// key orders the heap. It holds no pointer, so that moving it costs the garbage collector nothing.
type key struct {
	at   env.Instant
	tie  uint64
	seq  uint64
	slot uint32
}

func (k *key) before(o *key) bool {
	if k.at != o.at {
		return k.at < o.at
	}
	if k.tie != o.tie {
		return k.tie < o.tie
	}
	return k.seq < o.seq
}

// heap is a 4-ary heap of keys.
type heap []key

// queue is two heaps over a table of items: most items are due soon, and meet only those in a small heap.
type queue struct {
	near, far heap
	horizon   env.Instant // of near; which heap an item lies in has no effect on the order
	item      []item
	free      []uint32
	seq       uint64
}

// nearness is how far the horizon is ahead of the item that was popped last.
const nearness = env.Instant(time.Millisecond)

func (q *queue) len() int { return len(q.near) + len(q.far) }

// first is the heap that holds the first item. The queue must not be empty.
func (q *queue) first() *heap {
	if len(q.far) == 0 || len(q.near) > 0 && q.near[0].before(&q.far[0]) {
		return &q.near
	}
	return &q.far
}

func (q *queue) push(at env.Instant, tie uint64, it item) {
	var slot uint32
	if n := len(q.free); n > 0 {
		slot = q.free[n-1]
		q.free = q.free[:n-1]
		q.item[slot] = it
	} else {
		slot = uint32(len(q.item))
		q.item = append(q.item, it)
	}
	q.seq++
	h := &q.far
	if at < q.horizon {
		h = &q.near
	}
	*h = append(*h, key{at, tie, q.seq, slot})
	h.up(len(*h) - 1)
}

func (h heap) up(i int) {
	k := h[i]
	for i > 0 {
		p := (i - 1) / 4
		if !k.before(&h[p]) {
			break
		}
		h[i] = h[p]
		i = p
	}
	h[i] = k
}

func (h heap) down(i int) {
	k := h[i]
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&k) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = k
}

// pop removes the first item. The queue must not be empty.
func (q *queue) pop() (env.Instant, item) {
	h := q.first()
	k := (*h)[0]
	last := len(*h) - 1
	(*h)[0] = (*h)[last]
	*h = (*h)[:last]
	if last > 0 {
		h.down(0)
	}
	q.horizon = k.at + nearness
	it := q.item[k.slot]
	q.item[k.slot] = item{}
	q.free = append(q.free, k.slot)
	return k.at, it
}

// sweep removes the items that drop says are void. The order of the others is total, so it does not change.
func (q *queue) sweep(drop func(*item) bool) {
	for _, h := range [2]*heap{&q.near, &q.far} {
		q.sweepHeap(h, drop)
	}
}

func (q *queue) sweepHeap(h *heap, drop func(*item) bool) {
	kept := (*h)[:0]
	for _, k := range *h {
		if drop(&q.item[k.slot]) {
			q.item[k.slot] = item{}
			q.free = append(q.free, k.slot)
			continue
		}
		kept = append(kept, k)
	}
	*h = kept
	for i := len(kept)/4 + 1; i >= 0; i-- {
		if i < len(kept) {
			kept.down(i)
		}
	}
}

// ring is a queue of items that grows.
type ring struct {
	buf  []item
	head int
	n    int
}

func (r *ring) push(it item) {
	if r.n == len(r.buf) {
		grown := make([]item, max(8, 2*len(r.buf)))
		for i := range r.n {
			grown[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = it
	r.n++
}

func (r *ring) pop() item {
	it := r.buf[r.head]
	r.buf[r.head] = item{}
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return it
}

func (r *ring) clear() { *r = ring{} }
