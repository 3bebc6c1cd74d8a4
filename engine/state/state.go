// Package state is the keyed state of operators: typed tables in memory that are frozen at a barrier and written
// afterwards, off the loop.
//
// A table holds one value per key. It lives on the task's loop and is never touched from elsewhere. At a barrier the
// backend freezes all of its tables in microseconds; what is frozen does not change any more and can be read by a worker
// while the table goes on. Entries changed since the freeze before are known, so that a later backend can upload only
// those. Package state/mem is the implementation; what a snapshot looks like is in this package.
package state

import "github.com/onefold/onefold/engine/keygroup"

// Codec turns a value into bytes and back. Append must not keep dst; Decode must not keep src.
type Codec[T any] interface {
	Append(dst []byte, v T) []byte
	Decode(src []byte) (T, error)
}

// Backend is the keyed state of one operator of one subtask.
type Backend interface {
	// SelectUint64 and SelectBytes choose the key that all tables of the backend are read and written at next. An
	// operator uses one of the two, always the same. SelectBytes does not keep k.
	SelectUint64(h keygroup.Hash, k uint64)
	SelectBytes(h keygroup.Hash, k []byte)
	// Warm reads what selections of these keys will read, side by side, so that their way from memory is not waited for
	// one after the other. It changes nothing.
	Warm(keys []keygroup.Hash)
	// Freeze fixes all tables as they are and starts a new list of changes.
	Freeze() Frozen
	// Load puts one entry of a snapshot in, as a clean one. It is called before the first Select.
	Load(e Entry) error
}

// Value is one table, at the key that was selected.
type Value[V any] interface {
	Get() (V, bool)
	Set(V)
	Delete()
}

// Entry is one entry of a snapshot. Integer keys are eight bytes, big endian, so that bytes sort as numbers do.
type Entry struct {
	Table string
	Group keygroup.Group
	Key   []byte
	Value []byte
}

// Frozen is the state of an operator at a barrier. It may be read from any one goroutine at a time.
type Frozen interface {
	// Entries is the number of entries in all tables.
	Entries() int
	// Changed is the number of entries set or deleted since the freeze before.
	Changed() int
	// Tables are the names of all tables, sorted.
	Tables() []string
	// Each visits all entries of a table sorted by group and key. The entry's bytes are valid during the call.
	Each(table string, visit func(Entry))
	// EachChanged visits what was set (deleted false) or deleted (Value nil) since the freeze before, in the same order.
	EachChanged(table string, visit func(e Entry, deleted bool))
}
