package simbroker

// Truncation is records that were acknowledged, or visible, and are no more: what an unclean election took away.
type Truncation struct {
	TopicPartition
	From int64 // the first offset that is gone
}

// Truncations are all of them, in order. Clean elections make none.
func (c *Cluster) Truncations() []Truncation { return c.cuts }

func (c *Cluster) truncated(p *partition, from int64) {
	c.cuts = append(c.cuts, Truncation{p.name(), from})
}

// StallReplica keeps the copy of a partition on a broker from fetching, until ResumeReplica. It falls behind, and out of
// the ISR after Config.ReplicaLag. It is false where there is no such replica, or it is the only one.
func (c *Cluster) StallReplica(topic string, num int32, broker int) bool {
	p := c.mustFind(topic, num)
	r := p.replicaOn(int32(broker))
	if r == nil || !p.replicated() {
		return false
	}
	p.settle()
	r.stalls++
	r.due, r.to = 0, -1
	return true
}

// ResumeReplica undoes StallReplica.
func (c *Cluster) ResumeReplica(topic string, num int32, broker int) {
	p := c.mustFind(topic, num)
	if r := p.replicaOn(int32(broker)); r != nil && r.stalls > 0 {
		r.stalls--
		p.replicate()
	}
}

// StallReplicas keeps all followers on a broker from fetching, until ResumeReplicas. What it leads goes on.
func (c *Cluster) StallReplicas(broker int) {
	b := c.brokers[broker]
	b.stalls++
	for _, p := range c.parts {
		if r := p.replicaOn(b.id); r != nil && p.replicated() {
			p.settle()
			r.due, r.to = 0, -1
		}
	}
}

// ResumeReplicas undoes StallReplicas.
func (c *Cluster) ResumeReplicas(broker int) {
	b := c.brokers[broker]
	if b.stalls == 0 {
		return
	}
	if b.stalls--; b.stalls == 0 {
		for _, p := range c.parts {
			p.replicate()
		}
	}
}

// ElectUnclean makes a replica the leader of a partition whatever it has, as an operator does. Acknowledged records may be
// gone after it. It is false if the broker has no replica or cannot lead, and for groups where Config does not allow it.
func (c *Cluster) ElectUnclean(topic string, num int32, broker int) bool {
	p := c.mustFind(topic, num)
	r := p.replicaOn(int32(broker))
	if r == nil || !p.replicated() || p.deleted || p.leader == r.broker || !c.brokers[broker].able() {
		return false
	}
	if p.group != nil && !c.cfg.UncleanElection {
		return false
	}
	p.electUnclean(r)
	return true
}

// ShrinkISR takes a follower out of the ISR at once, as if its lag had been noticed. It comes back when it has caught up,
// unless it is stalled. It is false if it is not in sync, leads, or is the last one.
func (c *Cluster) ShrinkISR(topic string, num int32, broker int) bool {
	p := c.mustFind(topic, num)
	r := p.replicaOn(int32(broker))
	if r == nil || r.broker == p.leader || !p.shrink(bit(r.broker)) {
		return false
	}
	p.advance()
	return true
}

// ReplicaStatus is one copy of a partition.
type ReplicaStatus struct {
	Broker     int
	InSync     bool
	Eligible   bool  // not in sync, and can be elected without a loss
	End, High  int64 // end of its log, and the high watermark as it knows it
	Diverges   bool  // it has, or may have, what the leader does not
	LeadsSince int32 // the leader's term; -1: it follows
}

// Replicas are the copies of a partition, in order of preference.
func (c *Cluster) Replicas(topic string, num int32) []ReplicaStatus {
	p := c.mustFind(topic, num)
	p.settle()
	var out []ReplicaStatus
	for i := range p.replicas {
		r := &p.replicas[i]
		s := ReplicaStatus{Broker: int(r.broker), InSync: r.isr, Eligible: r.elr, End: r.leo, High: r.hw, Diverges: r.log != p.log, LeadsSince: -1}
		if r.broker == p.leader {
			s.End, s.High, s.LeadsSince = p.log.leo, p.log.hw, p.leaderEpoch
		}
		out = append(out, s)
	}
	return out
}
