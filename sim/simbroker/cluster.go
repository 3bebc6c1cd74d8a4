package simbroker

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/sim"
)

// TopicPartition names a partition.
type TopicPartition = id.TopicPartition

// Cluster is the brokers of a world and what their controller knows.
type Cluster struct {
	w   *sim.World
	cfg Config

	brokers []*Broker
	topics  []*topic // in order of creation; deleted ones stay, marked
	byName  map[string]*topic
	byID    map[[16]byte]*topic
	parts   []*partition // of all topics, by their dense index
	offsets []*partition // of __consumer_offsets
	shards  []*shard
	nextPID int64
	level   int16 // the feature transaction.version, as the controller has it
	levels  int64 // how often it was set
	elr     bool  // the feature eligible.leader.replicas.version
	enabled int64 // how often that was set
	history []TxnEvent
	ops     operations
	ports   int       // made so far
	scratch []byte    // of appends without a network
	clients []*client // of loops that were alive when last looked at
	late    []LateAnswer

	frames      sim.Slab[frame]
	productions sim.Slab[production]
	answers     sim.Slab[fetchAnswer]

	uncleans int // elections of replicas that were not in sync
	cuts     []Truncation
	house    house
}

// New puts a cluster on a world, where fault plans find it, and starts its brokers. World.BrokerPort is left to the caller.
func New(w *sim.World, cfg Config) *Cluster {
	cfg = cfg.withDefaults()
	cfg.Expensive = cfg.Expensive || w.Checks()
	c := &Cluster{
		w: w, cfg: cfg, level: cfg.Profile.TransactionVersion, elr: cfg.Profile.ELR, nextPID: 1000,
		byName: map[string]*topic{}, byID: map[[16]byte]*topic{},
	}
	c.ops.of = map[operationKey]*Operation{}
	for i := range cfg.Brokers {
		c.brokers = append(c.brokers, newBroker(c, int32(i)))
	}
	for i := range cfg.TxnShards {
		s := &shard{c: c, ix: int32(i), leader: int32(i % cfg.Brokers), byID: map[string]*txnEntry{}}
		c.shards = append(c.shards, s)
	}
	t := c.addTopic(offsetsTopic, cfg.OffsetsPartitions, cfg.Replication.Factor, 0, TopicConfig{Cleanup: "compact"}, false)
	t.internal = true
	c.offsets = t.parts
	for _, p := range c.offsets {
		p.group = newOffsets(p)
	}
	for _, b := range c.brokers {
		b.node.Start()
	}
	w.Brokers = planned{c}
	w.ReportInFlight(c.inFlight)
	w.Loop().After(watchInterval, c.watch)
	return c
}

const offsetsTopic = "__consumer_offsets"

// Requests makes the port of one loop of a node over the connections of one class. It has the form of World.BrokerPort.
func (c *Cluster) Requests(n *sim.Node, l env.Loop, class broker.Class) broker.Requests {
	return newClient(c, n, l.(*sim.Loop), class)
}

// Node is the node of broker number i, for crashes, pauses and cuts.
func (c *Cluster) Node(i int) *sim.Node { return c.brokers[i].node }

// Brokers is how many there are.
func (c *Cluster) Brokers() int { return len(c.brokers) }

func (c *Cluster) draw(k env.Kind, a, b, d uint64) uint64 { return c.w.Draw(k, a, b, d) }

func (c *Cluster) span(s Span, k env.Kind, a, b, d uint64) time.Duration {
	return sim.Between(c.w.Draw(k, a, b, d), s.Min, s.Max)
}

func (c *Cluster) reached(p probe.Probe) { c.w.Reach(p) }

func (c *Cluster) newPID() int64 {
	c.nextPID++
	return c.nextPID - 1
}

// Check looks at every partition and every coordinator for what only a bug of the model can break.
func (c *Cluster) Check() {
	for _, p := range c.parts {
		p.log.check(p)
	}
	for _, s := range c.shards {
		for _, e := range s.entries {
			e.check()
		}
	}
}

func (e *txnEntry) check() {
	if e.mem.state.Prepared() && !e.pending { // asked first: the words are boxed for nothing otherwise
		invariant.Check(false, "transactional id %s: %s and not pending", e.id, e.mem.state)
	}
	if e.mem.state == Empty && len(e.mem.parts) > 0 {
		invariant.Check(false, "transactional id %s: empty with partitions", e.id)
	}
	for _, p := range e.left {
		if !e.mem.has(p) {
			invariant.Check(false, "transactional id %s: marker for foreign partition %s", e.id, p)
		}
	}
}

// note records a durable transition.
func (c *Cluster) note(e *txnEntry, r txnRecord) {
	ev := TxnEvent{
		At: c.w.Now(), ID: e.id, ProducerID: r.pid, Epoch: r.epoch, State: r.state,
		Partitions: make([]TopicPartition, 0, len(r.parts)),
	}
	for _, p := range r.parts {
		ev.Partitions = append(ev.Partitions, p.name())
	}
	if r.state.Complete() {
		for _, p := range e.dropped {
			ev.Dropped = append(ev.Dropped, p.name())
		}
	}
	c.history = append(c.history, ev)
	if e.timedOut != nil && r.state == PrepareAbort {
		e.timedOut.Return = c.w.Now()
		c.ops.list = append(c.ops.list, e.timedOut)
		e.timedOut = nil
	}
	c.w.Entry(nil, entryTxn, e.key, uint64(r.pid), uint64(r.epoch), uint64(r.state))
}

// String names the cluster.
func (c *Cluster) String() string {
	return fmt.Sprintf("%d brokers, %s", len(c.brokers), c.cfg.Profile.Name)
}
