package mem

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/state"
)

// frozen implements state.Frozen.
type frozen struct{ tables []frozenTable }

type frozenTable interface {
	title() string
	size() int
	delta() int
	each(visit func(state.Entry))
	eachChanged(visit func(state.Entry, bool))
}

func (f *frozen) Entries() int {
	n := 0
	for _, t := range f.tables {
		n += t.size()
	}
	return n
}

func (f *frozen) Changed() int {
	n := 0
	for _, t := range f.tables {
		n += t.delta()
	}
	return n
}

func (f *frozen) Tables() []string {
	var names []string
	for _, t := range f.tables {
		names = append(names, t.title())
	}
	return names
}

func (f *frozen) Each(table string, visit func(state.Entry)) {
	for _, t := range f.tables {
		if t.title() == table {
			t.each(visit)
		}
	}
}

func (f *frozen) EachChanged(table string, visit func(state.Entry, bool)) {
	for _, t := range f.tables {
		if t.title() == table {
			t.eachChanged(visit)
		}
	}
}

// frozenHash is a hashTable as it was. Its pages are written by nobody any more.
type frozenHash[K comparable, V any] struct {
	name  string
	codec interface {
		Append([]byte, V) []byte
		Decode([]byte) (V, error)
	}
	bytes   func([]byte, K) []byte
	groups  int32
	pages   []*page[K, V]
	live    int
	changed []uint32
	gone    []removed[K]
}

func (f *frozenHash[K, V]) title() string { return f.name }
func (f *frozenHash[K, V]) size() int     { return f.live }
func (f *frozenHash[K, V]) delta() int    { return len(f.changed) + len(f.gone) }

// ref is an entry while entries are sorted. A nil entry is a deleted key.
type ref[K comparable, V any] struct {
	group keygroup.Group
	key   []byte
	entry *entry[K, V]
}

func (f *frozenHash[K, V]) each(visit func(state.Entry)) {
	refs := make([]ref[K, V], 0, f.live)
	arena := make([]byte, 0, 8*f.live)
	for _, p := range f.pages {
		for i := range p.entries {
			if e := &p.entries[i]; e.live {
				refs, arena = f.collect(refs, arena, e.key, e.hash, e)
			}
		}
	}
	f.emit(refs, func(e state.Entry, _ bool) { visit(e) })
}

func (f *frozenHash[K, V]) eachChanged(visit func(state.Entry, bool)) {
	var refs []ref[K, V]
	var arena []byte
	for _, slot := range f.changed {
		if e := &f.pages[slot/pageSize].entries[slot%pageSize]; e.live {
			refs, arena = f.collect(refs, arena, e.key, e.hash, e)
		}
	}
	set := make(map[K]bool, len(refs)+len(f.gone)) // a key that is back is set; a key deleted twice is deleted once
	for i := range refs {
		set[refs[i].entry.key] = true
	}
	for _, g := range f.gone {
		if !set[g.key] {
			set[g.key] = true
			refs, arena = f.collect(refs, arena, g.key, g.hash, nil)
		}
	}
	f.emit(refs, visit)
}

func (f *frozenHash[K, V]) collect(refs []ref[K, V], arena []byte, k K, h keygroup.Hash, e *entry[K, V]) ([]ref[K, V], []byte) {
	at := len(arena)
	arena = f.bytes(arena, k)
	return append(refs, ref[K, V]{keygroup.Of(h, f.groups), arena[at:len(arena):len(arena)], e}), arena
}

func (f *frozenHash[K, V]) emit(refs []ref[K, V], visit func(state.Entry, bool)) {
	slices.SortFunc(refs, func(a, b ref[K, V]) int { // keys differ, so no two are equal
		return cmp.Or(cmp.Compare(a.group, b.group), bytes.Compare(a.key, b.key))
	})
	var buf []byte
	for _, r := range refs {
		if r.entry == nil {
			visit(state.Entry{Table: f.name, Group: r.group, Key: r.key}, true)
			continue
		}
		buf = f.codec.Append(buf[:0], r.entry.value)
		visit(state.Entry{Table: f.name, Group: r.group, Key: r.key, Value: buf}, false)
	}
}
