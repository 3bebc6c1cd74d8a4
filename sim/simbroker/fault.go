package simbroker

import (
	"slices"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/sim"
)

// planned is the cluster as a fault plan strikes it.
type planned struct{ c *Cluster }

var _ sim.BrokerFaults = planned{}

// MoveCoordinator moves everything that a broker coordinates, transactions and groups, to the next one that can lead. ""
// is the broker with the most.
func (p planned) MoveCoordinator(name string) bool {
	from := -1
	for i, b := range p.c.brokers {
		if b.node.Name() == name || name == "" && (from < 0 || p.c.coordinates(i) > p.c.coordinates(from)) {
			from = i
		}
	}
	if from < 0 {
		return false
	}
	moved := p.c.MoveCoordinators(from)
	for _, q := range p.c.offsets {
		if q.leader == int32(from) && p.c.moveLeader(q, q.nextLeader()) {
			moved++
		}
	}
	return moved > 0
}

// Locate names the broker that leads the most partitions, or coordinates the most transactional ids; the first of several.
func (p planned) Locate(part string) string {
	best, name := 0, ""
	for i, b := range p.c.brokers {
		n := p.c.coordinates(i)
		if part == faults.Leader {
			n = p.c.leads(i)
		}
		if n > best {
			best, name = n, b.node.Name()
		}
	}
	return name
}

func (c *Cluster) leads(broker int) int {
	n := 0
	for _, p := range c.parts {
		if p.leader == int32(broker) {
			n++
		}
	}
	return n
}

// coordinates is how many transactional ids a broker coordinates.
func (c *Cluster) coordinates(broker int) int {
	n := 0
	for _, s := range c.shards {
		if s.leader == int32(broker) {
			n += len(s.entries)
		}
	}
	return n
}

// MoveLeader gives a partition to the next broker that can lead.
func (p planned) MoveLeader(topic string, num int32) bool {
	if s := p.c.findShard(topic, num); s != nil {
		return s.leader >= 0 && p.c.moveShard(s, p.c.nextAble(int(s.leader)))
	}
	q := p.c.find(topic, num)
	if q == nil || q.leader < 0 {
		return false
	}
	return p.c.moveLeader(q, q.nextLeader())
}

// DropLeader leaves a partition without a leader until ElectLeader.
func (p planned) DropLeader(topic string, num int32) bool { return p.c.TakeLeader(topic, num) }

// ElectLeader undoes DropLeader.
func (p planned) ElectLeader(topic string, num int32) bool {
	if s := p.c.findShard(topic, num); s != nil {
		held := s.held
		p.c.GiveLeader(topic, num)
		return held
	}
	q := p.c.find(topic, num)
	if q == nil || !q.held {
		return false
	}
	p.c.GiveLeader(topic, num)
	return true
}

// StallReplicas keeps the followers on a broker from fetching until ResumeReplicas. It meets nothing where partitions have
// one copy.
func (p planned) StallReplicas(name string) bool {
	i := p.c.brokerNamed(name)
	if i < 0 || !slices.ContainsFunc(p.c.parts, func(q *partition) bool { return q.replicated() && q.replicaOn(int32(i)) != nil }) {
		return false
	}
	p.c.StallReplicas(i)
	return true
}

// ResumeReplicas undoes StallReplicas.
func (p planned) ResumeReplicas(name string) bool {
	i := p.c.brokerNamed(name)
	if i < 0 || p.c.brokers[i].stalls == 0 {
		return false
	}
	p.c.ResumeReplicas(i)
	return true
}

func (c *Cluster) brokerNamed(name string) int {
	return slices.IndexFunc(c.brokers, func(b *Broker) bool { return b.node.Name() == name })
}

// Upgrade stops a broker cleanly, as far as the cluster is concerned, and gives it another release for its next start.
func (p planned) Upgrade(broker, profile string) bool {
	to, known := ProfileOf(profile)
	i := p.c.brokerNamed(broker)
	return known && i >= 0 && p.c.upgrade(p.c.brokers[i], to)
}

// Finalize sets the level of transaction.version.
func (p planned) Finalize(level int16) bool { return p.c.Finalize(level) }

// TroubleTxnLog makes appends to __transaction_state fail on a broker, or ends that; "" is every broker.
func (p planned) TroubleTxnLog(broker string, on bool) bool {
	met := false
	for _, b := range p.c.brokers {
		if broker != "" && b.node.Name() != broker {
			continue
		}
		if b.txnLog = TxnLogFine; on {
			b.txnLog = TxnLogTrouble
		}
		met = met || b.up() && p.c.coordinates(int(b.id)) > 0
	}
	return met
}

// inFlight tells whether a node is in the middle of something that involves the cluster: a client waits for an answer
// (fetches that wait for records aside), a broker coordinates a transaction that is open or being ended.
func (c *Cluster) inFlight(node string) bool {
	for _, k := range c.clients {
		if !k.loop.Closed() && k.class != broker.Fetch && k.node.Name() == node && k.waits() {
			return true
		}
	}
	for _, s := range c.shards {
		if s.leader < 0 || c.brokers[s.leader].node.Name() != node {
			continue
		}
		for _, e := range s.entries {
			if e.pending || e.mem.state == Ongoing {
				return true
			}
		}
	}
	for _, p := range c.parts {
		if p.leader >= 0 && c.brokers[p.leader].node.Name() == node && len(p.log.open) > 0 {
			return true
		}
	}
	return false
}

// forgetClosed drops the ports of loops that are gone.
func (c *Cluster) forgetClosed() {
	kept := c.clients[:0]
	for _, k := range c.clients {
		if !k.loop.Closed() {
			kept = append(kept, k)
		}
	}
	clear(c.clients[len(kept):])
	c.clients = kept
}

func (c *client) waits() bool {
	for _, k := range c.conns {
		if k != nil && len(k.asked) > 0 {
			return true
		}
	}
	return false
}
