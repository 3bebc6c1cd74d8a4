package simbroker

import (
	"time"

	"github.com/onefold/onefold/sim"
)

// brokerDied is what follows the death of a process: what it had in memory is gone at once, but the controller notices
// only when its session has run out.
func (c *Cluster) brokerDied(b *Broker, incarnation uint64) {
	for _, s := range c.shards {
		if s.leader == b.id {
			s.unload()
		}
	}
	for _, p := range c.parts {
		if p.leader == b.id {
			p.forget()
		}
	}
	c.w.Loop().After(c.span(c.cfg.Session, kindSession, b.node.Key(), incarnation, 0), func() {
		if b.node.Incarnation() == incarnation {
			c.fenceBroker(b)
			c.failOver()
		}
	})
}

// able tells whether a broker may be given something to lead.
func (b *Broker) able() bool { return b.led && b.up() && !b.node.Paused() }

// watch notices brokers that are held: their sessions run out like those of dead ones. One that wakes up registers again.
func (c *Cluster) watch() {
	now := c.w.Now()
	for _, b := range c.brokers {
		switch paused := b.node.Paused(); {
		case !paused && b.pausedAt == 0, !b.up():
			b.pausedAt = 0
		case !paused:
			b.pausedAt = 0
			if !b.led {
				c.registerLater(b, b.node.Incarnation())
			}
		case b.pausedAt == 0:
			b.pausedAt = now
		case b.led && now.Sub(b.pausedAt) >= c.span(c.cfg.Session, kindSession, b.node.Key(), uint64(b.pausedAt), 1):
			c.fenceBroker(b)
			c.failOver()
		}
	}
	c.w.Loop().After(watchInterval, c.watch)
}

const watchInterval = 500 * time.Millisecond

// fenceBroker takes a broker's partitions away.
func (c *Cluster) fenceBroker(b *Broker) {
	b.led = false
	for _, s := range c.shards {
		if s.leader == b.id {
			s.unload()
			s.lead(-1)
		}
	}
	for _, p := range c.parts {
		if p.leader == b.id {
			p.lead(-1)
		}
	}
	for _, k := range c.brokers {
		if k.up() && k.peers[b.id].link != nil { // what others still ask it will not be answered
			k.peers[b.id].link.Break(sim.ErrTimeout)
		}
	}
}

// failOver gives the coordinator partitions that nobody leads to other brokers after a while.
func (c *Cluster) failOver() {
	for _, s := range c.shards {
		if s.leader < 0 {
			d := c.span(c.cfg.FailOver, kindFailOver, uint64(s.ix), s.term, 0)
			c.w.Loop().After(d, func() { c.adoptShard(s, nil) })
		}
	}
	for _, p := range c.offsets {
		if p.leader < 0 {
			d := c.span(c.cfg.FailOver, kindFailOver, 1<<32|uint64(p.ix), uint64(p.leaderEpoch), 0)
			c.w.Loop().After(d, func() { c.adoptOffsets(p, nil) })
		}
	}
}

// elect draws a broker that may lead; nil if there is none.
func (c *Cluster) elect(a, b uint64) *Broker {
	able := make([]*Broker, 0, len(c.brokers))
	for _, k := range c.brokers {
		if k.able() {
			able = append(able, k)
		}
	}
	if len(able) == 0 {
		return nil
	}
	return able[c.draw(kindNewLeader, a, b, 0)%uint64(len(able))]
}

func (c *Cluster) adoptShard(s *shard, to *Broker) {
	if s.leader >= 0 {
		return
	}
	if to == nil {
		to = c.elect(uint64(s.ix), s.term)
	}
	if to != nil {
		s.load(to.id)
	}
}

func (c *Cluster) adoptOffsets(p *partition, to *Broker) {
	if p.leader >= 0 || p.deleted || p.held {
		return
	}
	if to == nil {
		to = c.elect(1<<32|uint64(p.ix), uint64(p.leaderEpoch))
	}
	if to != nil {
		p.home = to.id
		p.lead(to.id)
	}
}

// brokerStarted lets a booted broker lead again. Its registration as a new process takes away first whatever it still
// led: between the two its partitions have no leader, however short it was away.
func (c *Cluster) brokerStarted(b *Broker, incarnation uint64) {
	if incarnation == 1 {
		c.registerCoordinators(b)
		c.registerData(b)
		return
	}
	c.fenceBroker(b)
	c.registerLater(b, incarnation)
}

func (c *Cluster) registerLater(b *Broker, incarnation uint64) {
	d := c.span(c.cfg.Registration, kindRegistration, b.node.Key(), incarnation, uint64(b.c.w.Now()))
	c.w.Loop().After(d, func() {
		if b.node.Incarnation() != incarnation || !b.up() {
			return
		}
		c.registerCoordinators(b)
		lag := time.Duration(0)
		if v := c.draw(kindDataLag, b.node.Key(), incarnation, 0); v&3 == 0 {
			lag = sim.Between(v, 0, 2*c.cfg.Registration.Max)
		}
		c.w.Loop().After(lag, func() {
			if b.node.Incarnation() == incarnation && b.led {
				c.registerData(b)
			}
		})
	})
}

// registerCoordinators gives a started broker what it coordinated, and what nobody does.
func (c *Cluster) registerCoordinators(b *Broker) {
	b.led = true
	for _, s := range c.shards {
		switch {
		case s.leader == b.id && !s.loaded:
			s.load(b.id)
		case s.leader < 0:
			c.adoptShard(s, b)
		}
	}
	for _, p := range c.offsets {
		switch {
		case p.held:
		case p.leader == b.id && !p.group.loaded:
			p.group.load()
		case p.leader < 0:
			p.home = b.id
			p.lead(b.id)
		}
	}
}

// registerData gives a started broker the partitions that are on its disk. Sometimes that comes after its coordinators
// have loaded, and decided transactions are then driven to their end while partitions have no leader.
func (c *Cluster) registerData(b *Broker) {
	for _, p := range c.parts {
		if !p.deleted && !p.held && p.leader < 0 && p.home == b.id {
			p.lead(b.id)
		}
	}
}

// MoveCoordinator gives the coordinator of a transactional id to another broker, as a reassignment does: the new one loads
// its log, and what the old one had pending is forgotten. It is false when that broker cannot lead.
func (c *Cluster) MoveCoordinator(transactionalID string, to int) bool {
	return c.moveShard(c.coordinator(transactionalID), to)
}

func (c *Cluster) moveShard(s *shard, to int) bool {
	if to < 0 || to >= len(c.brokers) || !c.brokers[to].able() {
		return false
	}
	s.unload()
	s.load(int32(to))
	return true
}

// MoveCoordinators gives every transaction coordinator of a broker to the next broker that can lead. It returns how many
// moved.
func (c *Cluster) MoveCoordinators(from int) int {
	moved := 0
	for _, s := range c.shards {
		if s.leader == int32(from) && c.moveShard(s, c.nextAble(from)) {
			moved++
		}
	}
	return moved
}

// MoveGroup gives the coordinator of a group to another broker.
func (c *Cluster) MoveGroup(group string, to int) bool {
	return c.moveLeader(c.groupPartition(group), to)
}

// MoveLeader gives a partition, and its only copy, to another broker. Guards are lost, data is not.
func (c *Cluster) MoveLeader(topic string, num int32, to int) bool {
	p := c.find(topic, num)
	return p != nil && c.moveLeader(p, to)
}

func (c *Cluster) moveLeader(p *partition, to int) bool {
	if to < 0 || to >= len(c.brokers) || !c.brokers[to].able() || p.leader == int32(to) {
		return false
	}
	p.home = int32(to)
	p.lead(int32(to))
	return true
}

// TakeLeader leaves a partition without a leader until GiveLeader, as when the only replica of it is lost for a while.
func (c *Cluster) TakeLeader(topic string, num int32) bool {
	p := c.find(topic, num)
	if p == nil || p.leader < 0 {
		return false
	}
	p.held = true
	p.lead(-1)
	return true
}

// GiveLeader undoes TakeLeader.
func (c *Cluster) GiveLeader(topic string, num int32) {
	p := c.find(topic, num)
	if p == nil || !p.held {
		return
	}
	p.held = false
	if b := c.brokers[p.home]; b.able() {
		p.lead(b.id)
	} else if p.group != nil {
		c.adoptOffsets(p, nil)
	}
}

func (c *Cluster) nextAble(from int) int {
	for i := 1; i <= len(c.brokers); i++ {
		if b := c.brokers[(from+i)%len(c.brokers)]; b.able() && int(b.id) != from {
			return int(b.id)
		}
	}
	return -1
}

// lead notes who leads the shard, or that nobody does (-1).
func (s *shard) lead(leader int32) {
	s.leader = leader
	s.c.w.Entry(nil, entryCoord, uint64(s.ix), uint64(int64(leader)), uint64(s.epoch), 0)
}

var _ sim.LinkHandler = (*peer)(nil)
