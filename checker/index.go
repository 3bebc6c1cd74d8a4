package checker

import (
	"cmp"
	"slices"
)

// none is an ordinal that stands for no input.
const none int32 = -1

// index finds things in a history: its records by partition and offset, its inputs by identity. It is built once per
// Check, in time linear in the history when records come in order.
type index struct {
	h     *History
	base  []int32 // per topic, the number of its first partition; one more at the end
	place []Partition
	known []bool // per partition: its Partition is in the history

	records []bucket // per partition, ordered by offset: indexes into h.Records
	inputs  []int32  // ordinal -> index into h.Records, of input records
	ordinal []int32  // index into h.Records -> ordinal, none for outputs
	at      []dense  // per partition of an input topic: offset -> ordinal
	number  []dense  // per topic: number -> ordinal of the first input that has it
	next    []int32  // ordinal -> the next input with the same number
}

// bucket is a list of indexes.
type bucket []int32

// dense maps a range of whole numbers to ordinals.
type dense struct {
	from int64
	to   []int32
	many map[int64]int32 // instead, when the range is too wide
}

func (d *dense) get(n int64) int32 {
	if d.many != nil {
		if o, ok := d.many[n]; ok {
			return o
		}
		return none
	}
	if i := n - d.from; i >= 0 && i < int64(len(d.to)) {
		return d.to[i]
	}
	return none
}

func (d *dense) set(n int64, o int32) {
	if d.many != nil {
		d.many[n] = o
	} else {
		d.to[n-d.from] = o
	}
}

func newDense(from, to int64, count int) dense {
	if count == 0 {
		return dense{}
	}
	if span := to - from + 1; span > 0 && span <= int64(count)*16+1024 {
		d := dense{from: from, to: make([]int32, span)}
		for i := range d.to {
			d.to[i] = none
		}
		return d
	}
	return dense{many: make(map[int64]int32, count)}
}

func newIndex(h *History) *index {
	x := &index{h: h, base: make([]int32, len(h.Topics)+1)}
	for i, t := range h.Topics {
		x.base[i+1] = x.base[i] + t.Partitions
	}
	n := int(x.base[len(h.Topics)])
	x.place, x.known = make([]Partition, n), make([]bool, n)
	for _, p := range h.Partitions {
		x.place[x.part(p.Topic, p.Partition)], x.known[x.part(p.Topic, p.Partition)] = p, true
	}
	x.records = buckets(n, len(h.Records), func(i int) int { return x.part(h.Records[i].Topic, h.Records[i].Partition) })
	for _, b := range x.records {
		x.inOrder(b, func(i int32) int64 { return h.Records[i].Offset })
	}
	x.nameInputs()
	return x
}

// part is the number of a partition among all.
func (x *index) part(topic int16, partition int32) int { return int(x.base[topic] + partition) }

// buckets sorts 0..count-1 into n lists, keeping their order.
func buckets(n, count int, which func(int) int) []bucket {
	sizes := make([]int32, n+1)
	for i := range count {
		sizes[which(i)+1]++
	}
	for i := range n {
		sizes[i+1] += sizes[i]
	}
	all := make([]int32, count)
	out := make([]bucket, n)
	for i := range n {
		out[i] = all[sizes[i]:sizes[i]:sizes[i+1]]
	}
	for i := range count {
		b := which(i)
		out[b] = append(out[b], int32(i))
	}
	return out
}

func (x *index) inOrder(b bucket, offset func(int32) int64) {
	for i := 1; i < len(b); i++ {
		if offset(b[i-1]) > offset(b[i]) {
			slices.SortStableFunc(b, func(p, q int32) int { return cmp.Compare(offset(p), offset(q)) })
			return
		}
	}
}

// nameInputs gives every input record an ordinal and makes it findable by offset and by number.
func (x *index) nameInputs() {
	h := x.h
	x.ordinal = make([]int32, len(h.Records))
	for i := range x.ordinal {
		x.ordinal[i] = none
	}
	x.at = make([]dense, len(x.records))
	x.number = make([]dense, len(h.Topics))
	for t := range h.Topics {
		if h.Topics[t].Role != Input {
			continue
		}
		first := len(x.inputs)
		for p := x.base[t]; p < x.base[t+1]; p++ {
			b := x.records[p]
			if len(b) == 0 {
				continue
			}
			x.at[p] = newDense(h.Records[b[0]].Offset, h.Records[b[len(b)-1]].Offset, len(b))
			for _, i := range b {
				x.ordinal[i] = int32(len(x.inputs))
				x.at[p].set(h.Records[i].Offset, x.ordinal[i])
				x.inputs = append(x.inputs, i)
			}
		}
		x.nameByNumber(t, first)
	}
}

// nameByNumber chains the inputs of a topic that have the same number, the first one first. Inputs that no reader can see
// are not in the chains, unless nobody else has their number.
func (x *index) nameByNumber(t, first int) {
	least, most, count := int64(0), int64(-1), 0
	for _, i := range x.inputs[first:] {
		if n := x.h.Records[i].Number; n >= 0 {
			if count == 0 || n < least {
				least = n
			}
			most = max(most, n)
			count++
		}
	}
	for len(x.next) < len(x.inputs) {
		x.next = append(x.next, none)
	}
	x.number[t] = newDense(least, most, count)
	if count == 0 {
		return
	}
	for pass := range 2 { // the visible ones last, so that they come first in the chains
		for o := len(x.inputs) - 1; o >= first; o-- {
			r := &x.h.Records[x.inputs[o]]
			if r.Number < 0 || visible(r.Outcome) != (pass == 1) {
				continue
			}
			head := x.number[t].get(r.Number)
			if pass == 1 && head != none && !visible(x.input(head).Outcome) {
				head = none
			}
			x.next[o] = head
			x.number[t].set(r.Number, int32(o))
		}
	}
}

func visible(o Outcome) bool { return o == Plain || o == Committed }

func (x *index) input(ordinal int32) *Record { return &x.h.Records[x.inputs[ordinal]] }

// resolve finds the input that a source names. For names by number it is the first of those that share the number.
func (x *index) resolve(s Source) int32 {
	if s.Topic < 0 || int(s.Topic) >= len(x.h.Topics) || x.h.Topics[s.Topic].Role != Input {
		return none
	}
	if s.Partition == Numbered {
		return x.number[s.Topic].get(s.Offset)
	}
	if s.Partition < 0 || s.Partition >= x.h.Topics[s.Topic].Partitions {
		return none
	}
	return x.at[x.part(s.Topic, s.Partition)].get(s.Offset)
}

// record finds a record of the broker's truth.
func (x *index) record(topic int16, partition int32, offset int64) *Record {
	b := x.records[x.part(topic, partition)]
	i, ok := slices.BinarySearchFunc(b, offset, func(i int32, o int64) int { return cmp.Compare(x.h.Records[i].Offset, o) })
	if !ok {
		return nil
	}
	return &x.h.Records[b[i]]
}
