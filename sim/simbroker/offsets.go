package simbroker

import (
	"slices"

	"github.com/onefold/onefold/engine/env"
)

// offsets is the group coordinator of the groups that hash to one partition of __consumer_offsets. What is in it follows
// from the partition's log, so it survives; loaded belongs to the leader.
type offsets struct {
	p       *partition
	loaded  bool
	settled env.Instant  // until when appends are being replicated, where there is one copy only
	writes  []groupWrite // not below the high watermark yet, in order
	groups  []*group
	byName  map[string]*group
	past    []past // what was taken in, where an unclean election may take it back
}

// group is one consumer group: here only what simple groups have.
type group struct {
	name  string
	gone  bool // deleted with values still pending: until a next commit it is unknown to everybody
	slots []offsetSlot
	at    map[TopicPartition]int32
}

// offsetSlot is what a group has committed for one partition.
type offsetSlot struct {
	tp      TopicPartition
	value   offsetValue
	pending []pendingOffset // of open transactions; at most one for each producer
}

type offsetValue struct {
	offset      int64 // -1: none
	leaderEpoch int32
	metadata    string
	logOffset   int64 // where the commit lies in the log of the partition
	timeMs      int64
	topicID     [16]byte
}

type pendingOffset struct {
	pid int64
	offsetValue
}

func newOffsets(p *partition) *offsets {
	return &offsets{p: p, byName: map[string]*group{}}
}

// groupPartition is the partition of __consumer_offsets that a group hashes to.
func (c *Cluster) groupPartition(name string) *partition {
	return c.offsets[javaHash(name)%int32(len(c.offsets))]
}

// groupWrite is one record of the log of a group partition: a value that was committed, or the end of a transaction. It
// counts from when all replicas in sync have it.
type groupWrite struct {
	at     int64
	pid    int64
	marker bool
	commit bool // of a marker
	group  string
	tp     TopicPartition
	value  offsetValue
}

// write takes in a record that was appended.
func (o *offsets) write(w groupWrite) {
	if w.at < o.p.log.hw {
		o.take(&w)
		return
	}
	o.writes = append(o.writes, w)
}

// apply takes in what has come below the high watermark.
func (o *offsets) apply(hw int64) {
	n := 0
	for n < len(o.writes) && o.writes[n].at < hw {
		o.take(&o.writes[n])
		n++
	}
	o.writes = append(o.writes[:0], o.writes[n:]...)
}

func (o *offsets) take(w *groupWrite) {
	o.remember(past{groupWrite: *w})
	if w.marker {
		o.ended(w.pid, w.commit)
		return
	}
	o.ensure(w.group).slot(w.tp).commit(w.value, w.pid)
}

// truncate forgets what a new leader does not have.
func (o *offsets) truncate(end int64) {
	n := len(o.writes)
	for n > 0 && o.writes[n-1].at >= end {
		n--
	}
	o.writes = o.writes[:n]
	o.rewind(end)
}

// load reads the log of the partition in its new leader's memory, which takes a while.
func (o *offsets) load() {
	c, epoch := o.p.c, o.p.leaderEpoch
	b := c.brokers[o.p.leader]
	if !b.up() {
		return // when it starts
	}
	o.loaded = false
	b.loop.After(c.span(c.cfg.Load, kindGroupLoad, uint64(o.p.ix), uint64(epoch), 0), func() {
		o.loaded = o.loaded || o.p.leaderEpoch == epoch && o.p.leader == b.id
	})
}

// get is the prelude of every request about a group.
func (o *offsets) get(b *Broker, name string) int16 {
	switch {
	case o.p.leader != b.id:
		return notCoordinator
	case !o.loaded:
		return coordinatorLoading
	case name == "":
		return invalidGroupID
	}
	return ok
}

// known is the group of that name; nil if there is none.
func (o *offsets) known(name string) *group {
	if g := o.byName[name]; g != nil && !g.gone {
		return g
	}
	return nil
}

func (o *offsets) ensure(name string) *group {
	if g := o.byName[name]; g != nil {
		g.gone = false
		return g
	}
	g := &group{name: name, at: map[TopicPartition]int32{}}
	o.groups = append(o.groups, g)
	o.byName[name] = g
	return g
}

func (g *group) slot(tp TopicPartition) *offsetSlot {
	if i, known := g.at[tp]; known {
		return &g.slots[i]
	}
	g.at[tp] = int32(len(g.slots))
	g.slots = append(g.slots, offsetSlot{tp: tp, value: offsetValue{offset: -1, leaderEpoch: -1}})
	return &g.slots[len(g.slots)-1]
}

func (g *group) find(tp TopicPartition) *offsetSlot {
	if i, known := g.at[tp]; known {
		return &g.slots[i]
	}
	return nil
}

// commit stores a value: at once, or for a transaction, whose last value counts.
func (s *offsetSlot) commit(v offsetValue, pid int64) {
	if pid < 0 {
		s.value = v
		return
	}
	for i := range s.pending {
		if s.pending[i].pid == pid {
			s.pending[i].offsetValue = v
			return
		}
	}
	s.pending = append(s.pending, pendingOffset{pid, v})
}

// ended takes over or drops what a producer has pending. A value that was committed plainly after it wins.
func (o *offsets) ended(pid int64, commit bool) {
	for _, g := range o.groups {
		for i := range g.slots {
			s := &g.slots[i]
			for j := range s.pending {
				if s.pending[j].pid != pid {
					continue
				}
				if v := s.pending[j].offsetValue; commit && (s.value.offset < 0 || v.logOffset > s.value.logOffset) {
					s.value = v
				}
				s.pending = append(s.pending[:j], s.pending[j+1:]...)
				break
			}
		}
	}
}

// drop forgets what a producer has pending.
func (s *offsetSlot) drop(pid int64) {
	for i := range s.pending {
		if s.pending[i].pid == pid {
			s.pending = append(s.pending[:i], s.pending[i+1:]...)
			return
		}
	}
}

// pending tells whether any transaction has something pending in a group.
func (g *group) pending() bool {
	return slices.ContainsFunc(g.slots, func(s offsetSlot) bool { return len(s.pending) > 0 })
}

// committed tells whether a group has a committed value.
func (g *group) committed() bool {
	return slices.ContainsFunc(g.slots, func(s offsetSlot) bool { return s.value.offset >= 0 })
}

func (o *offsets) topicDeleted(name string) {
	for _, g := range o.groups {
		for i := range g.slots {
			if g.slots[i].tp.Topic == name {
				o.clear(g, &g.slots[i])
			}
		}
	}
}

// clear removes committed and pending values.
func (o *offsets) clear(g *group, s *offsetSlot) {
	o.remember(past{groupWrite: groupWrite{at: o.p.log.leo, group: g.name, tp: s.tp}, cleared: true})
	s.value = offsetValue{offset: -1, leaderEpoch: -1}
	s.pending = nil
}

// drop deletes a group.
func (o *offsets) drop(name string) bool {
	g := o.known(name)
	if g == nil {
		return false
	}
	o.remember(past{groupWrite: groupWrite{at: o.p.log.leo, group: name}, dropped: true})
	delete(o.byName, name)
	for i := range o.groups {
		if o.groups[i] == g {
			o.groups = append(o.groups[:i], o.groups[i+1:]...)
			break
		}
	}
	return true
}

func (o *offsets) truth(name string) []Offset {
	g := o.byName[name]
	if g == nil {
		return nil
	}
	out := make([]Offset, 0, len(g.slots))
	for i := range g.slots {
		s := &g.slots[i]
		t := Offset{TopicPartition: s.tp, Offset: s.value.offset, Metadata: s.value.metadata}
		for j := range s.pending {
			t.Pending = append(t.Pending, s.pending[j].pid)
		}
		out = append(out, t)
	}
	return out
}
