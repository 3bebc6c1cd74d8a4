package checker

import "fmt"

// mark is the newest thing seen of something, in one output partition.
type mark struct {
	stamp int32 // number of the output partition and view; another one means: nothing seen yet
	value int64
	read  int32
}

// marks is a table of marks by whole numbers from 0.
type marks struct {
	dense []mark
	many  map[int64]*mark
}

func newMarks(n int64) *marks {
	if n <= 1<<22 {
		return &marks{dense: make([]mark, n)}
	}
	return &marks{many: map[int64]*mark{}}
}

func (m *marks) at(i int64) *mark {
	if m.dense != nil {
		return &m.dense[i]
	}
	k := m.many[i]
	if k == nil {
		k = &mark{}
		m.many[i] = k
	}
	return k
}

// namer resolves what outputs name, one after the other, so that the k-th output that names a number means the k-th input
// that has it.
type namer struct {
	j     *judge
	taken []int32
}

func (n *namer) input(s Source) int32 {
	o := n.j.resolve(s)
	if o == none || s.Partition != Numbered {
		return o
	}
	for n.taken[o] > 0 && n.j.next[o] != none {
		o = n.j.next[o]
	}
	n.taken[o]++
	return o
}

// keyOrder: within one output partition the inputs of one key and input partition are named in their order. The key is
// the input's: a job that gathers many keys into one output keeps no order between them.
func (j *judge) keyOrder() {
	if j.opts.AtLeastOnce {
		return
	}
	parts := int64(len(j.records))
	seen := newMarks(int64(len(j.h.keys)) * parts)
	stamp := int32(0)
	for i := range j.views {
		v := &j.views[i]
		f := Finding{Place: j.h.Topics[v.topic].Name}
		n := namer{j, make([]int32, len(j.inputs))}
		for _, b := range v.parts {
			stamp++
			for _, at := range b {
				r := &j.h.Reads[at]
				if r.Key < 0 {
					continue
				}
				for _, s := range j.h.Sources(&r.Event) {
					o := n.input(s)
					if o == none {
						continue
					}
					in := j.input(o)
					key := in.Key
					if key < 0 {
						key = r.Key
					}
					m := seen.at(int64(key)*parts + int64(j.part(in.Topic, in.Partition)))
					if m.stamp == stamp && m.value > in.Offset {
						f.evidence("%s names %s after %s", j.describeRead(r), j.describeInput(in), j.describeRead(&j.h.Reads[m.read]))
					}
					m.stamp, m.value, m.read = stamp, in.Offset, at
				}
			}
		}
		j.settle(&f, "outputs of a key out of order")
	}
}

// sequenceRises: the numbers that a job gives to the outputs of a key rise within an output partition.
func (j *judge) sequenceRises() {
	if j.opts.AtLeastOnce {
		return
	}
	seen := newMarks(int64(len(j.h.keys)))
	stamp := int32(0)
	for i := range j.views {
		v := &j.views[i]
		f := Finding{Place: j.h.Topics[v.topic].Name}
		for _, b := range v.parts {
			stamp++
			for _, at := range b {
				r := &j.h.Reads[at]
				if r.Key < 0 || r.Sequence == 0 {
					continue
				}
				m := seen.at(int64(r.Key))
				if m.stamp == stamp && m.value >= r.Sequence {
					f.evidence("%s comes after %s", j.describeRead(r), j.describeRead(&j.h.Reads[m.read]))
				}
				m.stamp, m.value, m.read = stamp, r.Sequence, at
			}
		}
		j.settle(&f, "sequence numbers of a key that do not rise")
	}
}

// stateIsFold: the numbers of every output are those of a fold over the inputs that the outputs of its key name, in
// order. A key is judged up to its first difference.
func (j *judge) stateIsFold() {
	if j.opts.AtLeastOnce || j.opts.AtMostOnce {
		return
	}
	var inputs []*Record
	for i := range j.views {
		v := &j.views[i]
		f := Finding{Place: j.h.Topics[v.topic].Name}
		states := make([]Values, len(j.h.keys)+1)
		wrong := make([]bool, len(j.h.keys)+1)
		n := namer{j, make([]int32, len(j.inputs))}
		for _, b := range v.parts {
			for _, at := range b {
				r := &j.h.Reads[at]
				if inputs = inputs[:0]; r.Undecoded || wrong[r.Key+1] {
					continue
				}
				for _, s := range j.h.Sources(&r.Event) {
					if o := n.input(s); o != none {
						inputs = append(inputs, j.input(o))
					}
				}
				want, judged := j.o.Fold(j.h, v.topic, &states[r.Key+1], inputs, &r.Event)
				if judged && want != r.Values {
					wrong[r.Key+1] = true
					f.evidence("%s, and the fold gives %s", j.describeRead(r), fmt.Sprint(want))
				}
			}
		}
		j.settle(&f, "keys whose numbers differ from the fold")
	}
}

// effectsOnce: an effect outside of Kafka happens once per input and name.
func (j *judge) effectsOnce() {
	f := Finding{}
	seen := make(map[Effect]int, len(j.h.Effects))
	for _, e := range j.h.Effects {
		if seen[e]++; seen[e] == 2 {
			f.Place = e.Name
			f.evidence("the effect %s of %s happened again", e.Name, j.describeSource(e.Source))
		}
	}
	j.settle(&f, "effects that happened more than once")
}
