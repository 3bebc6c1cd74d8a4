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
		switch {
		case p.leader == b.id:
			p.halt()
		case p.replicated():
			p.settle()
			if r := p.replicaOn(b.id); r != nil {
				r.due, r.to = 0, -1
			}
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
	c.housekeep(now)
	c.w.Loop().After(watchInterval, c.watch)
}

const watchInterval = 500 * time.Millisecond

// fenceBroker takes a broker's partitions away.
func (c *Cluster) fenceBroker(b *Broker) {
	b.led = false
	for _, s := range c.shards {
		if s.leader == b.id {
			s.depose()
			s.unload()
			s.lead(-1)
		}
	}
	for _, p := range c.parts {
		p.fence(b.id)
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
		if p.leader < 0 && !p.replicated() {
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
	if s.leader >= 0 || s.held {
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
	if p.replicated() {
		p.elect()
		return
	}
	if p.leader >= 0 || p.deleted || p.held {
		return
	}
	if to == nil {
		to = c.elect(1<<32|uint64(p.ix), uint64(p.leaderEpoch))
	}
	if to != nil {
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
	if !b.clean {
		c.lostTail(b)
	}
	b.clean = false
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
		case p.leader < 0 && p.replicated():
			p.elect()
		case p.leader < 0:
			p.lead(b.id)
		}
	}
}

// registerData gives a started broker the partitions that are on its disk. Sometimes that comes after its coordinators
// have loaded, and decided transactions are then driven to their end while partitions have no leader.
func (c *Cluster) registerData(b *Broker) {
	for _, p := range c.parts {
		switch {
		case p.deleted || p.held || p.leader >= 0:
		case p.replicated():
			p.elect()
		case p.replicas[0].broker == b.id:
			p.lead(b.id)
		}
	}
}

// lead notes who leads the shard, or that nobody does (-1).
func (s *shard) lead(leader int32) {
	s.leader = leader
	s.c.w.Entry(nil, entryCoord, uint64(s.ix), uint64(int64(leader)), uint64(s.epoch), 0)
}

var _ sim.LinkHandler = (*peer)(nil)
