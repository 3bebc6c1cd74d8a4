package sim

import (
	"math/bits"
	"slices"
	"strings"
)

// Disk keeps values under keys. A write is visible at once and survives a crash once Sync has returned; of the writes
// since the last Sync a crash keeps a drawn prefix. A value must not be changed after it was written.
type Disk struct {
	kept  []file // sorted by name
	dirty []file // in order of writing
}

type file struct {
	name   string
	value  any
	absent bool
}

// Write puts a value under a name.
func (d *Disk) Write(name string, value any) {
	d.dirty = append(d.dirty, file{name: name, value: value})
}

// Remove takes the value of a name away; an absent one is no error.
func (d *Disk) Remove(name string) { d.dirty = append(d.dirty, file{name: name, absent: true}) }

// Read returns the value under a name.
func (d *Disk) Read(name string) (any, bool) {
	for i := len(d.dirty) - 1; i >= 0; i-- {
		if d.dirty[i].name == name {
			return d.dirty[i].value, !d.dirty[i].absent
		}
	}
	if i, ok := d.find(name); ok {
		return d.kept[i].value, true
	}
	return nil, false
}

// List returns the names with a prefix in ascending order.
func (d *Disk) List(prefix string) []string {
	c := Disk{kept: slices.Clone(d.kept), dirty: d.dirty}
	c.apply(len(c.dirty))
	var names []string
	for _, f := range c.kept {
		if strings.HasPrefix(f.name, prefix) {
			names = append(names, f.name)
		}
	}
	return names
}

// Sync makes all writes durable.
func (d *Disk) Sync() { d.apply(len(d.dirty)) }

func (d *Disk) crash(draw uint64) {
	n, _ := bits.Mul64(draw, uint64(len(d.dirty))+1)
	d.apply(int(n))
	d.dirty = nil
}

func (d *Disk) apply(n int) {
	for _, f := range d.dirty[:n] {
		i, found := d.find(f.name)
		switch {
		case found && f.absent:
			d.kept = slices.Delete(d.kept, i, i+1)
		case found:
			d.kept[i] = f
		case !f.absent:
			d.kept = slices.Insert(d.kept, i, f)
		}
	}
	d.dirty = slices.Clone(d.dirty[n:])
}

func (d *Disk) find(name string) (int, bool) {
	return slices.BinarySearchFunc(d.kept, name, func(f file, name string) int { return strings.Compare(f.name, name) })
}
