package simbroker

import (
	"fmt"
	"time"
)

// Bounds are the offsets of a partition.
type Bounds struct{ Start, Stable, High int64 }

// Bounds of a partition.
func (c *Cluster) Bounds(topic string, num int32) Bounds {
	l := c.mustFind(topic, num).log
	return Bounds{l.start, l.stable(), l.hw}
}

// OpenTransaction is one that has records in a partition and no marker.
type OpenTransaction struct {
	TopicPartition
	ProducerID int64
	Epoch      int16
	First      int64
}

// OpenTransactions are those of all topics, the offsets topic included, by partition and first offset.
func (c *Cluster) OpenTransactions() []OpenTransaction {
	var out []OpenTransaction
	for _, p := range c.parts {
		if p.deleted {
			continue
		}
		for _, o := range p.log.open {
			s := p.log.producer(o.pid)
			out = append(out, OpenTransaction{p.name(), o.pid, s.epoch, o.first})
		}
	}
	return out
}

// TxnStatus is a transactional id as its coordinator would load it.
type TxnStatus struct {
	ID         string
	ProducerID int64
	Epoch      int16
	State      TxnState
	Pending    bool // a transition is under way
	StartMs    int64
	TimeoutMs  int32
	Partitions []TopicPartition
}

// Transactions are all transactional ids, by shard and age.
func (c *Cluster) Transactions() []TxnStatus {
	var out []TxnStatus
	for _, s := range c.shards {
		for _, e := range s.entries {
			if e.durable {
				out = append(out, e.status())
			}
		}
	}
	return out
}

// Transaction is one of them.
func (c *Cluster) Transaction(id string) (TxnStatus, bool) {
	e := c.coordinator(id).byID[id]
	if e == nil || !e.durable {
		return TxnStatus{}, false
	}
	return e.status(), true
}

func (e *txnEntry) status() TxnStatus {
	t := TxnStatus{
		ID: e.id, ProducerID: e.disk.pid, Epoch: e.disk.epoch, State: e.disk.state, Pending: e.pending,
		StartMs: e.disk.startMs, TimeoutMs: e.disk.timeoutMs,
	}
	for _, p := range e.disk.parts {
		t.Partitions = append(t.Partitions, p.name())
	}
	return t
}

// History is every durable transition of every transactional id, in the order in which they became durable.
func (c *Cluster) History() []TxnEvent { return c.history }

// Offset is a committed offset of a group.
type Offset struct {
	TopicPartition
	Offset   int64
	Metadata string
	Pending  []int64 // producer ids of transactions that have committed here and are not ended
}

// Offsets are those of a group, in the order in which partitions were first committed.
func (c *Cluster) Offsets(group string) []Offset { return c.groupPartition(group).group.truth(group) }

// Settled tells whether nothing is under way: every transaction has ended, every partition has a leader, and the last
// stable offset is everywhere at the end. Otherwise it says what is waited for.
func (c *Cluster) Settled() (settled bool, waitsFor string) {
	for _, s := range c.shards {
		if s.leader < 0 || !s.loaded {
			return false, fmt.Sprintf("transaction coordinator %d loads", s.ix)
		}
		for _, e := range s.entries {
			if e.pending || e.mem.state == Ongoing {
				return false, fmt.Sprintf("transactional id %s is %s", e.id, e.mem.state)
			}
		}
	}
	for _, p := range c.parts {
		switch {
		case p.deleted:
		case p.leader < 0:
			return false, fmt.Sprintf("%s has no leader", p)
		case p.log.hw < p.log.leo:
			return false, fmt.Sprintf("%s is replicated up to %d of %d", p, p.log.hw, p.log.leo)
		case p.log.stable() < p.log.hw:
			return false, fmt.Sprintf("%s is open at %d of producer %d", p, p.log.open[0].first, p.log.open[0].pid)
		}
	}
	return true, ""
}

// String is the event in one line.
func (e TxnEvent) String() string {
	s := fmt.Sprintf("%s %s %d/%d %s %v", time.Duration(e.At), e.ID, e.ProducerID, e.Epoch, e.State, e.Partitions)
	if len(e.Dropped) > 0 {
		s += fmt.Sprintf(" dropped %v", e.Dropped)
	}
	return s
}

// String is the status in one line.
func (t TxnStatus) String() string {
	s := fmt.Sprintf("%s %d/%d %s %v", t.ID, t.ProducerID, t.Epoch, t.State, t.Partitions)
	if t.Pending {
		s += " pending"
	}
	return s
}

// String is the open transaction in one line.
func (o OpenTransaction) String() string {
	return fmt.Sprintf("%s from %d open for producer %d/%d", o.TopicPartition, o.First, o.ProducerID, o.Epoch)
}
