package simbroker

import "fmt"

// TopicSpec describes a topic that CreateTopic makes.
type TopicSpec struct {
	Name       string
	Partitions int
	Start      int64   // first offset of each partition, as if older records had been deleted
	Starts     []int64 // of single partitions, instead of Start
	// Replication is how many copies there are; 0 is the cluster's default.
	Replication int
	Config      TopicConfig
}

// CreateTopic makes a topic at once; every broker knows it. It panics if it exists.
func (c *Cluster) CreateTopic(s TopicSpec) {
	if c.byName[s.Name] != nil {
		panic("simbroker: topic " + s.Name + " exists")
	}
	n := s.Replication
	if n <= 0 {
		n = c.cfg.Replication.Factor
	}
	t := c.addTopic(s.Name, s.Partitions, n, s.Start, s.Config, false)
	for i, start := range s.Starts {
		t.parts[i].reset(start)
	}
}

// DeleteTopic deletes a topic with everything in it; offsets committed for it go, too. It is false if there is none.
func (c *Cluster) DeleteTopic(name string) bool {
	t := c.byName[name]
	if t == nil {
		return false
	}
	c.remove(t)
	return true
}

// Topic tells whether a topic exists, and how many partitions it has.
func (c *Cluster) Topic(name string) (partitions int, exists bool) {
	t := c.byName[name]
	if t == nil {
		return 0, false
	}
	return len(t.parts), true
}

func (c *Cluster) find(topic string, num int32) *partition {
	t := c.byName[topic]
	if t == nil || num < 0 || int(num) >= len(t.parts) {
		return nil
	}
	return t.parts[num]
}

func (c *Cluster) mustFind(topic string, num int32) *partition {
	p := c.find(topic, num)
	if p == nil {
		panic(fmt.Sprintf("simbroker: no partition %s/%d", topic, num))
	}
	return p
}

// Append appends one batch of records to a partition, as a producer without idempotence, and returns the offset of the
// first. It is on all replicas in sync, and on the eligible ones, at once. Waiting fetches see it.
func (c *Cluster) Append(topic string, num int32, records []Record) int64 {
	return c.appendAs(c.mustFind(topic, num), header{producerID: -1, epoch: -1, sequence: -1}, records)
}

func (c *Cluster) appendAs(p *partition, h header, records []Record) int64 {
	c.scratch = appendPlainBatch(c.scratch[:0], h, records)
	b := c.scratch
	h = readHeader(b)
	base := p.log.appendBatch(b, &h, p.leaderEpoch, p.appendTime(c.w.Wall().UnixMilli()))
	p.everywhere()
	return base
}

// everywhere puts what was appended without a network on all replicas that a clean election can make the leader at once, be
// there a leader or not.
func (p *partition) everywhere() {
	if p.replicated() {
		for i := range p.replicas {
			r := &p.replicas[i]
			if r.broker == p.leader || !p.mayLead(r) {
				continue
			}
			if r.log != p.log {
				p.rejoin(r)
			}
			r.leo, r.hw = p.log.leo, p.log.hw
			if p.leader >= 0 {
				r.acked = r.leo
			}
		}
		p.advance()
		p.replicate()
	}
	p.wake()
}

// appendTime is the time that the broker gives to a batch; -1 leaves the producer's.
func (p *partition) appendTime(now int64) int64 {
	if p.topic.cfg.AppendTime {
		return now
	}
	return -1
}

// AppendTxn appends one batch as a transaction of a producer of its own, and ends it. The marker takes an offset.
func (c *Cluster) AppendTxn(topic string, num int32, records []Record, commit bool) int64 {
	base, end := c.OpenTxn(topic, num, records)
	end(commit)
	return base
}

// OpenTxn appends one batch as a transaction that stays open until end is called.
func (c *Cluster) OpenTxn(topic string, num int32, records []Record) (base int64, end func(commit bool)) {
	p := c.mustFind(topic, num)
	pid := c.newPID()
	base = c.appendAs(p, header{attributes: attrTxn, producerID: pid}, records)
	return base, func(commit bool) {
		p.log.appendMarker(marker{pid: pid, commit: commit}, p.leaderEpoch, &c.brokers[p.replicas[0].broker].profile, c.w.Wall().UnixMilli())
		p.everywhere()
	}
}

// ReadAll is every record of a partition that is still there, markers and aborted ones included.
func (c *Cluster) ReadAll(topic string, num int32) []Logged {
	p := c.mustFind(topic, num)
	return p.log.records(p.log.start, p.log.hw)
}

func (l *log) records(from, limit int64) []Logged { return l.appendRecords(nil, from, limit) }

func (l *log) appendRecords(out []Logged, from, limit int64) []Logged {
	for i := l.find(from); i < len(l.batches) && l.batches[i].base < limit; i++ {
		b := &l.batches[i]
		if b.size == 0 {
			continue
		}
		n := len(out)
		out = readRecords(out, l.bytes(b))
		for n < len(out) && out[n].Offset < from {
			out = append(out[:n], out[n+1:]...)
		}
	}
	return out
}

// ReadCommitted is what a correct read_committed reader sees of a partition: data records below the last stable offset
// whose transaction was committed, or that are in none. It is computed from the markers in the log alone.
func (c *Cluster) ReadCommitted(topic string, num int32) []Logged {
	p := c.mustFind(topic, num)
	all := p.log.records(p.log.start, p.log.hw) // a marker may lie above what it decides
	stable := p.log.stable()
	verdict := map[int64]bool{} // by producer id, looking back from the end
	kept := make([]Logged, 0, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		r := &all[i]
		switch {
		case r.Control:
			verdict[r.ProducerID] = r.Commit
		case r.Offset < stable && (!r.Txn || verdict[r.ProducerID]):
			kept = append(kept, *r)
		}
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	return kept
}

// DeleteRecords moves the start of a partition, as retention does. It is false above the high watermark.
func (c *Cluster) DeleteRecords(topic string, num int32, before int64) bool {
	p := c.find(topic, num)
	if p == nil || before > p.log.hw {
		return false
	}
	p.log.deleteBefore(before)
	return true
}

// Leader is the broker that leads a partition; -1: none.
func (c *Cluster) Leader(topic string, num int32) int { return int(c.mustFind(topic, num).leader) }

// Coordinator is the broker that coordinates a transactional id; -1: none.
func (c *Cluster) Coordinator(transactionalID string) int {
	return int(c.coordinator(transactionalID).leader)
}

// GroupCoordinator is the broker that coordinates a group; -1: none.
func (c *Cluster) GroupCoordinator(group string) int { return int(c.groupPartition(group).leader) }
