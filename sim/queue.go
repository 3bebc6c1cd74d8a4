package sim

import (
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

// queue is a 4-ary heap of keys over a table of items.
type queue struct {
	heap []key
	item []item
	free []uint32
	seq  uint64
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
	q.heap = append(q.heap, key{at, tie, q.seq, slot})
	q.up(len(q.heap) - 1)
}

func (q *queue) up(i int) {
	h := q.heap
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

func (q *queue) down(i int) {
	h := q.heap
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
	k := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	if last > 0 {
		q.down(0)
	}
	it := q.item[k.slot]
	q.item[k.slot] = item{}
	q.free = append(q.free, k.slot)
	return k.at, it
}

// sweep removes the items that drop says are void. The order of the others is total, so it does not change.
func (q *queue) sweep(drop func(*item) bool) {
	kept := q.heap[:0]
	for _, k := range q.heap {
		if drop(&q.item[k.slot]) {
			q.item[k.slot] = item{}
			q.free = append(q.free, k.slot)
			continue
		}
		kept = append(kept, k)
	}
	q.heap = kept
	for i := len(kept)/4 + 1; i >= 0; i-- {
		if i < len(kept) {
			q.down(i)
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
