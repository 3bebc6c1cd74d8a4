package simbroker

import (
	"encoding/binary"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/sim"
)

// TopicConfig is the settings of a topic that matter here. Zero values mean Kafka's defaults.
type TopicConfig struct {
	AppendTime      bool   // message.timestamp.type=LogAppendTime
	Cleanup         string // cleanup.policy; "" is delete
	RetentionMs     int64  // retention.ms; 0 is 7 days, -1 for ever
	MinCompactionMs int64  // min.compaction.lag.ms
	MaxMessageBytes int    // max.message.bytes; 0 is 1048588
}

type topic struct {
	name     string
	id       [16]byte
	parts    []*partition
	cfg      TopicConfig
	internal bool
	deleted  bool
}

// partition is one partition, its only copy included.
type partition struct {
	c     *Cluster
	topic *topic
	num   int32
	ix    int32 // dense over the cluster

	home        int32 // the broker whose disk holds it
	leader      int32 // -1: none
	leaderEpoch int32
	visible     []env.Instant // from when each broker knows of it
	deleted     bool
	held        bool // kept without a leader by TakeLeader

	log     *log
	waiters []*fetchWait // fetches that wait for the visible end to move
	waiting []awaited    // markers that wait for a leader
	group   *offsets     // of a partition of __consumer_offsets
}

type awaited struct {
	loop *sim.Loop
	fn   func()
}

func (p *partition) name() TopicPartition {
	return id.TopicPartition{Topic: p.topic.name, Partition: p.num}
}

func (p *partition) String() string { return p.name().String() }

// addTopic makes a topic. Start is the first offset of each of its partitions.
func (c *Cluster) addTopic(name string, partitions int, start int64, cfg TopicConfig, lag bool) *topic {
	t := &topic{name: name, cfg: cfg}
	n := uint64(len(c.topics))
	binary.BigEndian.PutUint64(t.id[:], c.draw(kindTopicID, n, 0, 0)|1)
	binary.BigEndian.PutUint64(t.id[8:], c.draw(kindTopicID, n, 1, 0))
	c.topics = append(c.topics, t)
	c.byName[name], c.byID[t.id] = t, t
	c.addPartitions(t, partitions, start, lag)
	return t
}

// addPartitions adds partitions, each led by the next broker that is up. With lag, brokers learn of them one by one.
func (c *Cluster) addPartitions(t *topic, n int, start int64, lag bool) {
	for range n {
		num := int32(len(t.parts))
		p := &partition{c: c, topic: t, num: num, ix: int32(len(c.parts)), log: newLog(start)}
		p.home = c.placeFor(int32(len(c.topics)) - 1 + num)
		p.leader = p.home
		p.visible = make([]env.Instant, len(c.brokers))
		for b := range p.visible {
			if lag {
				p.visible[b] = c.w.Now().Add(c.span(c.cfg.Visible, kindVisible, uint64(p.ix), uint64(b), 0))
			}
		}
		t.parts = append(t.parts, p)
		c.parts = append(c.parts, p)
	}
}

// placeFor picks a broker, going round; one that is down only when all are.
func (c *Cluster) placeFor(n int32) int32 {
	brokers := int32(len(c.brokers))
	for i := range brokers {
		if b := c.brokers[(n+i)%brokers]; b.led {
			return b.id
		}
	}
	return n % brokers
}

// partition looks one up by name as a broker knows it; nil if it does not (yet).
func (b *Broker) partition(topicName string, num int32) *partition {
	return b.pick(b.c.byName[topicName], num)
}

func (b *Broker) partitionByID(id [16]byte, num int32) *partition { return b.pick(b.c.byID[id], num) }

func (b *Broker) pick(t *topic, num int32) *partition {
	if t == nil || t.deleted || num < 0 || int(num) >= len(t.parts) || !b.sees(t.parts[num]) {
		return nil
	}
	return t.parts[num]
}

func (b *Broker) sees(p *partition) bool { return b.c.w.Now() >= p.visible[b.id] }

// lead gives a partition another leader, or none (-1). What the old one had only in memory is gone.
func (p *partition) lead(leader int32) {
	if p.leader == leader {
		return
	}
	p.leader = leader
	p.forget()
	if leader >= 0 {
		p.leaderEpoch++
	}
	p.c.w.Entry(nil, entryLeader, uint64(p.ix), uint64(int64(leader)), uint64(p.leaderEpoch), 0)
	if p.group != nil && leader >= 0 {
		p.group.load()
	}
	p.alert()
}

// alert tells those that wait for a change of leader.
func (p *partition) alert() {
	p.wake()
	waiting := p.waiting
	p.waiting = nil
	for _, a := range waiting {
		d := p.c.span(Span{100_000, 5_000_000}, kindAwait, uint64(p.ix), uint64(p.leaderEpoch), 0)
		a.loop.After(d, a.fn)
	}
}

// forget is what the death of the leader does: guards are gone.
func (p *partition) forget() {
	p.log.guards = nil
	if p.group != nil {
		p.group.loaded = false
	}
}

// await runs fn on a broker's loop when the partition has got or lost a leader.
func (p *partition) await(b *Broker, fn func()) { p.waiting = append(p.waiting, awaited{b.loop, fn}) }

// remove deletes a topic.
func (c *Cluster) remove(t *topic) {
	t.deleted = true
	if c.byName[t.name] == t {
		delete(c.byName, t.name)
	}
	for _, p := range t.parts {
		p.deleted = true
		p.lead(-1)
		p.alert()
	}
	for _, p := range c.offsets {
		p.group.topicDeleted(t.name)
	}
}

// writeMarker ends what a producer has open here, as the leader does for a coordinator.
func (p *partition) writeMarker(b *Broker, m marker) int16 {
	switch {
	case p.deleted || !b.sees(p):
		return unknownTopicOrPartition
	case p.leader != b.id:
		return unknownTopicOrPartition
	case p.group != nil && !p.group.loaded:
		return coordinatorLoading
	}
	_, code := p.log.appendMarker(m, p.leaderEpoch, &b.profile, b.wallMs())
	if code != ok {
		return code
	}
	if p.group != nil {
		p.group.ended(m.pid, m.commit)
	}
	p.wake()
	return ok
}
