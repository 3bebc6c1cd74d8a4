package sim

import (
	"slices"
	"testing"

	"github.com/onefold/onefold/engine/env"
)

// If this failed, events would be served out of order now and then, which nothing else might notice.
func TestTheQueueServesInOrder(t *testing.T) {
	for seed := range uint64(50) {
		var q queue
		var model []key
		draws := uint64(0)
		draw := func(n uint64) uint64 { draws++; return Hash(seed, env.KindScenario, draws, 0, 0) % n }
		dropped := map[uint32]bool{}
		for range 2000 {
			switch draw(10) {
			case 0, 1, 2, 3, 4, 5:
				at, tie := env.Instant(draw(50)), draw(3)
				q.push(at, tie, item{cause: uint32(q.seq + 1)})
				model = append(model, key{at: at, tie: tie, seq: q.seq})
			case 9:
				if draw(20) != 0 {
					continue
				}
				for _, k := range model {
					dropped[uint32(k.seq)] = k.seq%3 == 0
				}
				q.sweep(func(it *item) bool { return dropped[it.cause] })
				model = slices.DeleteFunc(model, func(k key) bool { return dropped[uint32(k.seq)] })
			default:
				if len(model) == 0 {
					continue
				}
				least := 0
				for i := range model {
					if model[i].before(&model[least]) {
						least = i
					}
				}
				at, it := q.pop()
				if at != model[least].at || uint64(it.cause) != model[least].seq {
					t.Fatalf("seed %d: served %d at %d, not %d at %d", seed, it.cause, at, model[least].seq, model[least].at)
				}
				model = slices.Delete(model, least, least+1)
			}
			if q.len() != len(model) {
				t.Fatalf("seed %d: %d in the queue, not %d", seed, q.len(), len(model))
			}
		}
	}
}

// If this failed, what was posted to a busy loop would be lost or swapped.
func TestTheRingKeepsOrder(t *testing.T) {
	var r ring
	in, out := uint32(0), uint32(0)
	for i := range uint64(10_000) {
		if Hash(1, env.KindScenario, i, 0, 0)%100 < 52 {
			in++
			r.push(item{cause: in})
		} else if r.n > 0 {
			out++
			if it := r.pop(); it.cause != out {
				t.Fatalf("popped %d, not %d", it.cause, out)
			}
		}
	}
	if r.n != int(in-out) {
		t.Fatalf("%d left, not %d", r.n, in-out)
	}
}
