package sim

import (
	"math/bits"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// What this package draws about.
const (
	kindHandling  env.Kind = env.KindSim + iota // a callback's time: loop, number of the callback
	kindDelay                                   // a message's delay: link, number of the message
	kindNotice                                  // when the peer of a broken link is told: link, instant
	kindCut                                     // how much of what is in flight survives a crash: link, instant
	kindStall                                   // how long a cut link stalls before it breaks: link, instant
	kindNonce                                   // a process's nonce: node, incarnation
	kindOffload                                 // a worker's time: loop, number of the offload
	kindOffloadAt                               // whether the work runs at once or at the end: loop, number of the offload
	kindDisk                                    // how much of what was not synced survives: node, incarnation
	kindLate                                    // how late a request is struck: node, request, instant
	kindTies                                    // order of loops at one instant
)

const (
	k0 = 0x9e3779b97f4a7c15
	k1 = 0xa0761d6478bd642f
	k2 = 0xe7037ed1a0b428db
	k3 = 0x8ebc6af09c88c6e3
	k4 = 0x589965cc75374cc3
)

// mix folds the 128-bit product of its operands.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Hash is the value that a world of this seed draws for a name.
func Hash(seed uint64, kind env.Kind, a, b, c uint64) uint64 {
	x := mix(seed^k0, uint64(kind)^k1)
	x = mix(x^a, b^k2)
	x = mix(x^k3, c^k4)
	return mix(x^k1, k2)
}

// NameKey turns a text into a number that names it in draws.
func NameKey(s string) uint64 {
	h := uint64(k3)
	for i := range len(s) {
		h = mix(h^uint64(s[i]), k4)
	}
	return mix(h^k0, uint64(len(s))^k1)
}

// Between maps a drawn value to [lo, hi].
func Between(draw uint64, lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	n, _ := bits.Mul64(draw, uint64(hi-lo)+1)
	return lo + time.Duration(n)
}

// OneIn is true for one in n drawn values.
func OneIn(draw uint64, n uint64) bool {
	hi, _ := bits.Mul64(draw, n)
	return hi == 0
}
