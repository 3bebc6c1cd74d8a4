package simbroker

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/trace"
	"github.com/onefold/onefold/sim"
)

// Broker is one process of the cluster. Everything in it is lost when it crashes; logs are not in it.
type Broker struct {
	c    *Cluster
	id   int32
	node *sim.Node
	led  bool // the controller lets it lead partitions

	clean bool // it was stopped as an operator stops it, and has not started since

	profile Profile // its release
	next    Profile // the one that it starts with the next time
	knows   int16   // the level of transaction.version that it has heard of

	stalls int         // how many faults keep its followers from fetching
	txnLog TxnLogFault // of what it appends to __transaction_state

	pausedAt env.Instant // since when it is seen to be held; 0: it is not

	p     *proc.Process
	loop  *sim.Loop // nil before the first boot
	peers []*peer   // connections to other brokers, by their id
	adds  []addQueue
}

func newBroker(c *Cluster, n int32) *Broker {
	b := &Broker{c: c, id: n, led: true, next: c.cfg.Profile}
	b.node = c.w.NewNode(c.cfg.Prefix+strconv.Itoa(int(n)), b.boot)
	return b
}

// boot is the start of the process.
func (b *Broker) boot(p *proc.Process) {
	b.p = p
	b.profile, b.knows = b.next, b.c.level
	b.loop = p.NewLoop("kafka").(*sim.Loop)
	b.peers = make([]*peer, len(b.c.brokers))
	b.adds = make([]addQueue, len(b.c.brokers))
	for i := range b.peers {
		b.peers[i] = &peer{b: b, to: b.c.brokers[i]}
	}
	n := b.node.Incarnation()
	b.loop.OnClose(func() { b.c.brokerDied(b, n) })
	b.node.Listen(sim.PortKafka, b.loop, func(l *sim.Link) sim.LinkHandler { return &serverConn{b: b, link: l} })
	first := sim.Between(b.c.draw(kindScan, b.node.Key(), n, 0), 0, b.c.cfg.ScanInterval)
	b.loop.After(first, b.scan)
	b.loop.After(sim.Between(b.c.draw(kindExpire, b.node.Key(), n, 1), 0, b.c.cfg.OffsetsScan), b.expireOffsets)
	if b.c.cfg.IDExpiration > 0 {
		b.loop.After(sim.Between(b.c.draw(kindExpire, b.node.Key(), n, 0), 0, b.c.cfg.IDScan), b.expire)
	}
	b.c.brokerStarted(b, n)
}

// up tells whether the process runs and has booted.
func (b *Broker) up() bool { return b.node.Up() && b.loop != nil && !b.loop.Closed() }

// wallMs is the broker's wall clock, from which Kafka takes the age of a transaction.
func (b *Broker) wallMs() int64 { return b.p.Wall().UnixMilli() }

func (b *Broker) note(k trace.Kind, x, y, z uint64) { b.p.Entry(k, x, y, z, 0) }

func (b *Broker) reached(p probe.Probe) { b.p.Reached(p) }

// scan looks through the coordinator's ids once in a while.
func (b *Broker) scan() {
	for _, s := range b.c.shards {
		if s.leader == b.id && s.loaded {
			s.scan(b)
		}
	}
	b.loop.After(b.c.cfg.ScanInterval, b.scan)
}

// expireOffsets looks through the groups that the broker coordinates once in a while.
func (b *Broker) expireOffsets() {
	for _, p := range b.c.offsets {
		if p.leader == b.id && p.group.loaded {
			p.group.expireOffsets(b)
		}
	}
	b.loop.After(b.c.cfg.OffsetsScan, b.expireOffsets)
}

// expire looks for ids that nobody used for long.
func (b *Broker) expire() {
	for _, s := range b.c.shards {
		if s.leader == b.id && s.loaded {
			s.expire(b)
		}
	}
	b.loop.After(b.c.cfg.IDScan, b.expire)
}

// hook tells the world that a transaction has passed a point. The process may be dead when it returns.
func (c *Cluster) hook(b *Broker, at hook.Point, e *txnEntry) {
	ev := hook.Event{Point: at, Subtask: id.Subtask{Vertex: -1}}
	gen, isOurs := generationOf(e.id)
	if !isOurs {
		return
	}
	ev.Generation = gen
	if c.cfg.Where != nil {
		ev.Checkpoint, ev.Subtask = c.cfg.Where(e.id, e.mem.pid)
	}
	b.p.Hook(ev)
}

// generationOf reads the generation out of onefold.JOB.SINK.gGENERATION.SUBTASK.LANE. A salvage id belongs to the sink
// and has none.
func generationOf(transactionalID string) (id.Generation, bool) {
	const prefix = "onefold."
	if len(transactionalID) < len(prefix) || transactionalID[:len(prefix)] != prefix {
		return 0, false
	}
	rest := transactionalID[len(prefix):]
	for range 2 {
		i := 0
		for i < len(rest) && rest[i] != '.' {
			i++
		}
		if i == len(rest) {
			return 0, false
		}
		rest = rest[i+1:]
	}
	if rest == "" || rest[0] != 'g' {
		return 0, true
	}
	var g uint64
	for i := 1; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		g = g*10 + uint64(rest[i]-'0')
	}
	return id.Generation(g), true
}

// handler answers one request. reply is called once, now or later on the broker's loop.
type handler func(b *Broker, req kmsg.Request, reply func(kmsg.Response))
