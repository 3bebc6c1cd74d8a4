package keygroup

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// If this failed, a group would have no owner or two: state would be lost or doubled when the parallelism changes.
func TestRangesPartitionAllGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int32Range(1, 1000).Draw(t, "count")
		parallelism := rapid.Int32Range(1, count).Draw(t, "parallelism")
		next := Group(0)
		least, most := count, int32(0)
		for i := range parallelism {
			r := RangeOf(i, parallelism, count)
			if r.First != next {
				t.Fatalf("subtask %d owns %v, the one before ends at %d", i, r, next)
			}
			next = r.End
			least, most = min(least, int32(r.End-r.First)), max(most, int32(r.End-r.First))
			for g := r.First; g < r.End; g++ {
				if Owner(g, parallelism, count) != i || !r.Contains(g) {
					t.Fatalf("group %d lies in %v of %d and is owned by %d", g, r, i, Owner(g, parallelism, count))
				}
			}
		}
		if next != Group(count) || most-least > 1 {
			t.Fatalf("ranges end at %d of %d, sizes are %d to %d", next, count, least, most)
		}
	})
}

// If this failed, state stored by one version of the engine would belong to other groups in the next. These numbers may
// never change.
func TestHashIsForEver(t *testing.T) {
	for k, want := range goldenNumbers {
		if got := OfUint64(k); got != want {
			t.Errorf("OfUint64(%d) = %#x, want %#x", k, uint32(got), uint32(want))
		}
	}
	for k, want := range goldenBytes {
		if got := OfBytes([]byte(k)); got != want {
			t.Errorf("OfBytes(%q) = %#x, want %#x", k, uint32(got), uint32(want))
		}
	}
}

// If this failed, some subtasks would get much more than others, for keys as people number and name them.
func TestGroupsAreEven(t *testing.T) {
	const n, count = 128 * 1000, 128
	for _, step := range []uint64{1, 2, 8, 1000, 1 << 20, 1 << 40} {
		var groups [count]int
		for i := range uint64(n) {
			groups[Of(OfUint64(i*step), count)]++
		}
		for g, k := range groups {
			if k < 800 || k > 1200 {
				t.Errorf("step %d: group %d has %d keys of 1000", step, g, k)
			}
		}
	}
	var groups [count]int
	for i := range n {
		groups[Of(OfBytes(fmt.Appendf(nil, "account-%d", i)), count)]++
	}
	for g, k := range groups {
		if k < 800 || k > 1200 {
			t.Errorf("names: group %d has %d keys of 1000", g, k)
		}
	}
}

// BenchmarkOfUint64 is the price of a keyed edge.
func BenchmarkOfUint64(b *testing.B) {
	sum := Group(0)
	for i := range b.N {
		sum ^= Of(OfUint64(uint64(i)), 128)
	}
	if sum > 127 {
		b.Fatal(sum)
	}
}
