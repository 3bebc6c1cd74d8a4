package sim

import (
	"math/bits"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// names calls f with names as they occur: small numbers, in each place, for several seeds and kinds.
func names(f func(seed uint64, kind env.Kind, a, b, c uint64)) {
	for seed := range uint64(4) {
		for kind := env.KindSim; kind < env.KindSim+3; kind++ {
			for a := range uint64(16) {
				for b := range uint64(16) {
					for c := range uint64(16) {
						f(seed, kind, a, b, c)
					}
				}
			}
		}
	}
}

// If this failed, two decisions would be one: they would always fall the same way.
func TestDrawsOfDifferentNamesDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	n := 0
	names(func(seed uint64, kind env.Kind, a, b, c uint64) {
		seen[Hash(seed, kind, a, b, c)] = true
		n++
	})
	if len(seen) != n {
		t.Fatalf("%d names, %d values", n, len(seen))
	}
}

// If this failed, seeds would explore less than they seem to: odds would not be what is written.
func TestDrawsAreEven(t *testing.T) {
	var ones [64]int
	var low, high [64]int
	struck, n := 0, 0
	names(func(seed uint64, kind env.Kind, a, b, c uint64) {
		v := Hash(seed, kind, a, b, c)
		for i := range 64 {
			ones[i] += int(v >> i & 1)
		}
		low[v%64]++
		high[v>>58]++
		if OneIn(v, 8) {
			struck++
		}
		n++
	})
	near := func(what string, got, want int) {
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d, not near %d", what, got, want)
		}
	}
	for i := range 64 {
		near("ones of a bit", ones[i], n/2)
	}
	for _, bins := range [][64]int{low, high} {
		chi := 0 // 63 on the average, above 130 about never
		for _, got := range bins {
			chi += (got - n/64) * (got - n/64)
		}
		if chi /= n / 64; chi > 130 || chi < 20 {
			t.Errorf("chi square of 64 bins: %d", chi)
		}
	}
	near("one in eight", struck, n/8)
}

// If this failed, decisions about neighbours (checkpoint 3 and 4, try 1 and 2) would hang together.
func TestNeighbouringNamesAreIndependent(t *testing.T) {
	flips := [4]int{}
	n := 0
	names(func(seed uint64, kind env.Kind, a, b, c uint64) {
		v := Hash(seed, kind, a, b, c)
		for i, o := range [4]uint64{Hash(seed, kind, a+1, b, c), Hash(seed, kind, a, b+1, c), Hash(seed, kind, a, b, c+1), Hash(seed+1, kind, a, b, c)} {
			flips[i] += bits.OnesCount64(v ^ o)
		}
		n++
	})
	for i, f := range flips {
		if mean := f * 100 / n; mean < 3150 || mean > 3250 {
			t.Errorf("place %d: %d hundredths of bits flip, not near 3200", i, mean)
		}
	}
}

// If this failed, a delay could fall outside of what its options say.
func TestBetweenStaysWithin(t *testing.T) {
	for _, v := range []uint64{0, 1, 1 << 63, 1<<64 - 1} {
		if d := Between(v, 3, 5); d < 3 || d > 5 {
			t.Errorf("%d: %d", v, d)
		}
	}
	if Between(0, 3, 5) != 3 || Between(1<<64-1, 3, 5) != 5 || Between(7, 5, 5) != 5 || Between(7, 5, 3) != 5 {
		t.Error("the bounds are not reached, or crossed")
	}
	if OneIn(1<<64-1, 1) != true || OneIn(1<<64-1, 2) {
		t.Error("one in one is always")
	}
}

// If this failed, loops that are due at one instant would always come in one order, and no seed would find the race.
func TestTiesBetweenLoopsAreBrokenBySeed(t *testing.T) {
	orders := map[string]int{}
	for seed := range uint64(200) {
		w := New(Options{Seed: seed})
		order := ""
		for _, name := range []string{"a", "b", "c"} {
			n := w.NewNode(name, nil)
			n.Start()
			l := n.NewLoop("l")
			l.After(time.Second, func() { order += name })
			l.After(time.Second, func() { order += "'" })
		}
		w.RunFor(10 * time.Second)
		if len(order) != 6 {
			t.Fatal(order)
		}
		plain := ""
		for _, r := range order {
			if r != '\'' {
				plain += string(r)
			}
		}
		orders[plain]++
	}
	if len(orders) != 6 {
		t.Fatalf("orders seen: %v", orders)
	}
}
