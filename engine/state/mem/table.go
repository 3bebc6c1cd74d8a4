package mem

import "github.com/onefold/onefold/engine/keygroup"

const pageSize = 128 // entries

// entry is one key with its value. Dead entries are in the free list.
type entry[K comparable, V any] struct {
	key   K
	value V
	hash  keygroup.Hash
	epoch uint32 // in which it was changed last
	live  bool
}

// page is entries that are shared with a freeze or not as one. Invariant: only a page of the table's epoch is written.
type page[K comparable, V any] struct {
	epoch   uint32
	entries [pageSize]entry[K, V]
}

// removed is a key that was deleted since the last freeze.
type removed[K comparable] struct {
	key  K
	hash keygroup.Hash
}

// hashTable implements state.Value at the backend's selection.
type hashTable[K comparable, V any] struct {
	backend *Backend
	name    string
	codec   interface {
		Append([]byte, V) []byte
		Decode([]byte) (V, error)
	}
	key   *K        // of the selection
	own   func(K) K // makes a key that outlives the selection
	bytes func([]byte, K) []byte

	// index has hash and slot+1 of each entry, 0 where it is empty; linear probing from the hash's low bits.
	index []uint64
	pages []*page[K, V]
	slots uint32 // ever used
	free  []uint32
	live  int

	epoch   uint32
	changed []uint32 // slots set since the last freeze
	gone    []removed[K]

	looked uint64 // selection that found is for
	found  uint32 // slot+1, 0 for none
}

func (t *hashTable[K, V]) title() string { return t.name }

func (t *hashTable[K, V]) at(slot uint32) *entry[K, V] {
	return &t.pages[slot/pageSize].entries[slot%pageSize]
}

// writable is the entry of a slot in a page that no freeze shares: a page that was not made or copied since the last freeze is
// copied first.
func (t *hashTable[K, V]) writable(slot uint32) *entry[K, V] {
	p := t.pages[slot/pageSize]
	if p.epoch != t.epoch {
		c := *p
		c.epoch = t.epoch
		p = &c
		t.pages[slot/pageSize] = p
	}
	return &p.entries[slot%pageSize]
}

// look finds the selected key: slot+1, or 0.
func (t *hashTable[K, V]) look() uint32 {
	if t.looked == t.backend.selection {
		return t.found
	}
	t.looked, t.found = t.backend.selection, 0
	if len(t.index) == 0 {
		return 0
	}
	h := t.backend.hash
	mask := uint32(len(t.index) - 1)
	for i := uint32(h) & mask; ; i = (i + 1) & mask {
		word := t.index[i]
		if word == 0 {
			return 0
		}
		if keygroup.Hash(word>>32) == h {
			if slot := uint32(word) - 1; t.at(slot).key == *t.key {
				t.found = uint32(word)
				return t.found
			}
		}
	}
}

// warm touches the index and the entry of each key. The keys do not depend on each other, so the processor has several of
// these reads under way at a time.
func (t *hashTable[K, V]) warm(keys []keygroup.Hash) (sum uint64) {
	index := t.index
	if len(index) == 0 {
		return 0
	}
	mask := uint32(len(index) - 1)
	for _, h := range keys {
		for i := uint32(h) & mask; index[i] != 0; i = (i + 1) & mask {
			if word := index[i]; keygroup.Hash(word>>32) == h {
				sum += uint64(t.at(uint32(word) - 1).epoch)
				break
			}
		}
	}
	return sum
}

// Get implements state.Value.
func (t *hashTable[K, V]) Get() (V, bool) {
	if f := t.look(); f != 0 {
		return t.at(f - 1).value, true
	}
	var none V
	return none, false
}

// Set implements state.Value.
func (t *hashTable[K, V]) Set(v V) {
	f := t.look()
	if f == 0 {
		f = t.insert()
	}
	e := t.writable(f - 1)
	e.value = v
	if e.epoch != t.epoch {
		e.epoch = t.epoch
		t.changed = append(t.changed, f-1)
	}
}

func (t *hashTable[K, V]) insert() uint32 {
	if 4*(t.live+1) > 3*len(t.index) {
		t.grow()
	}
	var slot uint32
	if n := len(t.free); n > 0 {
		slot = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		slot = t.slots
		t.slots++
		if int(slot/pageSize) == len(t.pages) {
			t.pages = append(t.pages, &page[K, V]{epoch: t.epoch})
		}
	}
	e := t.writable(slot)
	// An entry that takes over the slot of one deleted in this epoch stands in the list of changes already.
	*e = entry[K, V]{key: t.own(*t.key), hash: t.backend.hash, live: true, epoch: e.epoch}
	t.live++
	t.place(t.backend.hash, slot)
	t.found = slot + 1
	return t.found
}

func (t *hashTable[K, V]) place(h keygroup.Hash, slot uint32) {
	mask := uint32(len(t.index) - 1)
	i := uint32(h) & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i] = uint64(h)<<32 | uint64(slot+1)
}

func (t *hashTable[K, V]) grow() {
	old := t.index
	t.index = make([]uint64, max(64, 2*len(old)))
	for _, word := range old {
		if word != 0 {
			t.place(keygroup.Hash(word>>32), uint32(word)-1)
		}
	}
}

// Delete implements state.Value.
func (t *hashTable[K, V]) Delete() {
	f := t.look()
	if f == 0 {
		return
	}
	e := t.writable(f - 1)
	t.gone = append(t.gone, removed[K]{e.key, e.hash})
	t.unplace(e.hash, f)
	*e = entry[K, V]{epoch: e.epoch}
	t.free = append(t.free, f-1)
	t.live--
	t.found = 0
}

// unplace empties the index entry of a slot and moves back what was pushed along behind it.
func (t *hashTable[K, V]) unplace(h keygroup.Hash, found uint32) {
	mask := uint32(len(t.index) - 1)
	i := uint32(h) & mask
	for uint32(t.index[i]) != found {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		word := t.index[j]
		if word == 0 {
			break
		}
		// An entry may move to i when i lies between where it belongs and where it is.
		home := uint32(word>>32) & mask
		if (j-home)&mask >= (j-i)&mask {
			t.index[i] = word
			i = j
		}
	}
	t.index[i] = 0
}

func (t *hashTable[K, V]) load(value []byte) error {
	v, err := t.codec.Decode(value)
	if err != nil {
		return err
	}
	if t.look() == 0 {
		t.insert()
	}
	t.writable(t.found - 1).value = v
	return nil
}

func (t *hashTable[K, V]) freeze() frozenTable {
	f := &frozenHash[K, V]{
		name: t.name, codec: t.codec, bytes: t.bytes, groups: t.backend.groups,
		pages: append([]*page[K, V](nil), t.pages...), live: t.live, changed: t.changed, gone: t.gone,
	}
	t.epoch++
	t.changed, t.gone = make([]uint32, 0, len(t.changed)), nil
	return f
}
