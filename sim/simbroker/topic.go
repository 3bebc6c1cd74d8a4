package simbroker

import (
	"encoding/binary"
	"time"

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
	MinISR          int    // min.insync.replicas; 0 is the cluster's
	UncleanElection bool   // unclean.leader.election.enable; the cluster's setting counts, too
	SegmentMs       int64  // segment.ms; 0 is 7 days
	SegmentBytes    int    // segment.bytes; 0 is 1 GiB
	RetentionBytes  int64  // retention.bytes; 0 and -1: no limit
	DeleteRetention int64  // delete.retention.ms; 0 is 1 day, -1 is none
}

// rolls says when logs of the topic begin a new segment.
func (t *TopicConfig) rolls() rolls {
	r := defaultRolls
	if t.SegmentMs > 0 {
		r.ms = t.SegmentMs
	}
	if t.SegmentBytes > 0 {
		r.bytes = t.SegmentBytes
	}
	return r
}

type topic struct {
	name     string
	id       [16]byte
	parts    []*partition
	cfg      TopicConfig
	internal bool
	deleted  bool

	replication int // how many replicas a new partition gets
}

// partition is one partition with its copies.
type partition struct {
	c     *Cluster
	topic *topic
	num   int32
	ix    int32 // dense over the cluster

	replicas    []replica // in order of preference; never empty
	leader      int32     // -1: none
	lastLeader  int32     // who led before it, or before there was none
	leaderEpoch int32
	visible     []env.Instant // from when each broker knows of it
	deleted     bool
	held        bool // kept without a leader by TakeLeader

	log       *log  // of the leader, or of the last one
	committed int64 // the largest high watermark so far, but for what unclean elections took away
	hwBefore  int64 // the high watermark before it last moved
	hwAt      env.Instant
	copying   bool // fetches of followers are under way
	copyBy    env.Instant
	round     uint64    // changes with each term and whenever fetches are given up
	acks      []ackWait // writes that wait for their replicas
	ackTimer  bool

	waiters []*fetchWait // fetches that wait for the visible end to move
	woken   []*fetchWait // space for the next of them
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
func (c *Cluster) addTopic(name string, partitions, replication int, start int64, cfg TopicConfig, lag bool) *topic {
	t := &topic{name: name, cfg: cfg, replication: min(max(replication, 1), len(c.brokers))}
	n := uint64(len(c.topics))
	binary.BigEndian.PutUint64(t.id[:], c.draw(kindTopicID, n, 0, 0)|1)
	binary.BigEndian.PutUint64(t.id[8:], c.draw(kindTopicID, n, 1, 0))
	c.topics = append(c.topics, t)
	c.byName[name], c.byID[t.id] = t, t
	c.addPartitions(t, partitions, start, lag)
	return t
}

// SwitchAppendTime changes message.timestamp.type of a topic, for what is written from now on. It returns whether the brokers
// replace timestamps now.
func (c *Cluster) SwitchAppendTime(topic string) bool {
	cfg := &c.byName[topic].cfg
	cfg.AppendTime = !cfg.AppendTime
	return cfg.AppendTime
}

// addPartitions adds partitions, each led by the next broker that is up. With lag, brokers learn of them one by one.
func (c *Cluster) addPartitions(t *topic, n int, start int64, lag bool) {
	for range n {
		num := int32(len(t.parts))
		p := &partition{c: c, topic: t, num: num, ix: int32(len(c.parts))}
		p.place(c.placeFor(int32(len(c.topics))-1+num), start)
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

// place puts a new partition on brokers: its leader, and those that follow it.
func (p *partition) place(leader int32, start int64) {
	brokers := int32(len(p.c.brokers))
	for i := range int32(p.topic.replication) {
		p.replicas = append(p.replicas, replica{broker: (leader + i) % brokers, isr: true, acked: -1, to: -1})
	}
	p.leader, p.lastLeader = leader, leader
	p.reset(start)
}

// reset gives an empty log to all replicas.
func (p *partition) reset(start int64) {
	p.log = newLog(start)
	p.log.only, p.log.rolls = !p.replicated(), p.topic.cfg.rolls()
	p.log.startEpoch(p.leaderEpoch)
	p.committed, p.hwBefore, p.hwAt = start, start, p.c.w.Now()
	for i := range p.replicas {
		r := &p.replicas[i]
		r.log, r.leo, r.acked, r.hw, r.caught = p.log, start, start, start, p.hwAt
		r.isr, r.elr = p.c.brokers[r.broker].led || r.broker == p.leader, false
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

// writeMarker ends what a producer has open here, as the leader does for a coordinator. It answers when all replicas in
// sync have the marker.
func (p *partition) writeMarker(b *Broker, m marker, answer func(code int16)) {
	switch {
	case p.deleted || !b.sees(p), p.leader != b.id:
		answer(unknownTopicOrPartition)
		return
	case p.group != nil && !p.group.loaded:
		answer(coordinatorLoading)
		return
	case p.underMinISR():
		answer(notEnoughReplicas)
		return
	}
	_, code := p.log.appendMarker(m, p.leaderEpoch, &b.profile, b.wallMs())
	if code != ok {
		answer(code)
		return
	}
	end := p.log.leo
	if p.group != nil {
		p.group.write(groupWrite{at: end - 1, pid: m.pid, marker: true, commit: m.commit})
	}
	p.written()
	p.whenCommitted(end, markerTimeout, answer)
}

// markerTimeout is request.timeout.ms of the brokers, which bounds the replication of a marker.
const markerTimeout = 30 * time.Second
