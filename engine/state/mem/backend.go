// Package mem keeps keyed state in open-addressing tables whose entries lie in pages. A freeze shares the pages; who
// writes to a shared page copies it first. So the pause at a barrier does not grow with what changes afterwards, and what
// is frozen stays as it was without a lock.
package mem

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/state"
)

// Backend is the tables of one operator of one subtask. It belongs to one loop.
type Backend struct {
	groups  int32
	numeric bool
	tables  []table // sorted by name

	// The selection: the key at which all tables stand, numbered so that a table knows whether it has looked it up.
	// Invariant: word is a view of bytes.
	selection uint64
	hash      keygroup.Hash
	number    uint64
	word      string
	bytes     []byte

	warmed uint64 // keeps what Warm reads from being left out as unused
}

// table is what a backend needs of a table of any type.
type table interface {
	title() string
	load(value []byte) error
	warm(keys []keygroup.Hash) uint64
	freeze() frozenTable
}

// New makes a backend without tables, for a job with this number of key groups. Keys are integers or bytes.
func New(groups int32, integers bool) *Backend { return &Backend{groups: groups, numeric: integers} }

// SelectUint64 implements state.Backend.
func (b *Backend) SelectUint64(h keygroup.Hash, k uint64) {
	invariant.Check(b.numeric, "integer key for state by bytes")
	b.selection++
	b.hash, b.number = h, k
}

// SelectBytes implements state.Backend.
func (b *Backend) SelectBytes(h keygroup.Hash, k []byte) {
	invariant.Check(!b.numeric, "key of bytes for state by integers")
	b.selection++
	b.bytes = append(b.bytes[:0], k...)
	b.hash, b.word = h, unsafe.String(unsafe.SliceData(b.bytes), len(b.bytes))
}

// Warm implements state.Backend.
func (b *Backend) Warm(keys []keygroup.Hash) {
	for _, t := range b.tables {
		b.warmed += t.warm(keys)
	}
}

// Load implements state.Backend.
func (b *Backend) Load(e state.Entry) error {
	i, ok := b.find(e.Table)
	if !ok {
		return fmt.Errorf("the snapshot has state %q, which the operator does not have", e.Table)
	}
	if b.numeric {
		if len(e.Key) != 8 {
			return fmt.Errorf("state %q: an integer key has 8 bytes, the snapshot has %d: it was stored by bytes", e.Table, len(e.Key))
		}
		k := binary.BigEndian.Uint64(e.Key)
		b.SelectUint64(keygroup.OfUint64(k), k)
	} else {
		b.SelectBytes(keygroup.OfBytes(e.Key), e.Key)
	}
	if g := keygroup.Of(b.hash, b.groups); g != e.Group {
		return fmt.Errorf("state %q: key %x is stored in group %d and belongs to group %d", e.Table, e.Key, e.Group, g)
	}
	if err := b.tables[i].load(e.Value); err != nil {
		return fmt.Errorf("state %q: key %x: %w", e.Table, e.Key, err)
	}
	return nil
}

func (b *Backend) find(name string) (int, bool) {
	return slices.BinarySearchFunc(b.tables, name, func(t table, n string) int { return cmp.Compare(t.title(), n) })
}

func (b *Backend) add(t table) error {
	i, exists := b.find(t.title())
	if exists {
		return fmt.Errorf("two states are called %q", t.title())
	}
	if t.title() == "" || len(t.title()) > state.MaxName {
		return fmt.Errorf("%q cannot be the name of a state: it has 1 to %d bytes", t.title(), state.MaxName)
	}
	b.tables = slices.Insert(b.tables, i, t)
	return nil
}

// Freeze implements state.Backend.
func (b *Backend) Freeze() state.Frozen {
	f := &frozen{tables: make([]frozenTable, len(b.tables))}
	for i, t := range b.tables {
		f.tables[i] = t.freeze()
	}
	return f
}

// NewValue makes a table of the backend. Types that hold pointers are kept encoded, so that nobody can change a value
// after it was set or frozen; others are kept as they are.
func NewValue[V any](b *Backend, name string, codec state.Codec[V]) (state.Value[V], error) {
	if !flat[V]() {
		inner := newValue[string](b, name, state.Codec[string](verbatim{}))
		return &encoded[V]{inner: inner.(state.Value[string]), codec: codec}, b.add(inner)
	}
	t := newValue(b, name, codec)
	return t.(state.Value[V]), b.add(t)
}

func newValue[V any](b *Backend, name string, codec state.Codec[V]) table {
	if b.numeric {
		return &hashTable[uint64, V]{backend: b, name: name, codec: codec, key: &b.number, epoch: 1, own: func(k uint64) uint64 { return k }, bytes: appendNumber}
	}
	return &hashTable[string, V]{backend: b, name: name, codec: codec, key: &b.word, epoch: 1, own: ownWord, bytes: appendWord}
}

// ownWord copies a key that is a view of the selection's buffer.
func ownWord(k string) string { return string([]byte(k)) }

func appendNumber(dst []byte, k uint64) []byte { return binary.BigEndian.AppendUint64(dst, k) }

func appendWord(dst []byte, k string) []byte { return append(dst, k...) }
