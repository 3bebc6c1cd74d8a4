// Package keygroup says which subtask owns a key.
//
// Keys fall into a fixed number of groups per job; a subtask owns a range of groups. So state moves between subtasks in
// whole groups when the parallelism changes. The hash is part of the format of stored state: it is the same in every
// process and for ever.
package keygroup

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/onefold/onefold/engine/invariant"
)

// Default is the number of groups of a job that does not choose. It bounds the parallelism of keyed operators.
const Default int32 = 128

// Max is the largest number of groups.
const Max int32 = 1 << 15

// Hash is a stable hash of a key.
type Hash uint32

// Group is a key group. Invariant: below the job's number of groups.
type Group int32

const (
	prime1 = 0x9E3779B97F4A7C15
	prime2 = 0xE7037ED1A0B428DB
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// OfUint64 hashes an integer key.
func OfUint64(k uint64) Hash {
	return Hash(mix(mix(k^prime2, prime1)^prime1, prime2) >> 32)
}

// OfBytes hashes a key of bytes.
func OfBytes(k []byte) Hash {
	h := uint64(len(k)) ^ prime1
	for len(k) >= 8 {
		h = mix(h^binary.LittleEndian.Uint64(k), prime2)
		k = k[8:]
	}
	if len(k) > 0 {
		var tail uint64
		for i, c := range k {
			tail |= uint64(c) << (8 * uint(i))
		}
		h = mix(h^tail, prime1)
	}
	return Hash(mix(h, prime2) >> 32)
}

// Of is the group of a hash among count groups.
func Of(h Hash, count int32) Group {
	return Group(uint64(h) * uint64(count) >> 32)
}

// Range is the groups from First up to, not including, End.
type Range struct{ First, End Group }

// All is the range of all groups.
func All(count int32) Range { return Range{0, Group(count)} }

// Contains reports whether g lies in the range.
func (r Range) Contains(g Group) bool { return g >= r.First && g < r.End }

func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.First, r.End) }

// RangeOf is what subtask index of parallelism owns. Ranges of all subtasks are disjoint and cover all groups; their sizes
// differ by at most one.
func RangeOf(index, parallelism, count int32) Range {
	invariant.Check(index >= 0 && index < parallelism && parallelism <= count, "key groups: subtask %d of %d with %d groups", index, parallelism, count)
	return Range{
		First: Group((int64(index)*int64(count) + int64(parallelism) - 1) / int64(parallelism)),
		End:   Group((int64(index+1)*int64(count) + int64(parallelism) - 1) / int64(parallelism)),
	}
}

// Owner is the subtask that owns g. It is the inverse of RangeOf.
func Owner(g Group, parallelism, count int32) int32 {
	return int32(int64(g) * int64(parallelism) / int64(count))
}
