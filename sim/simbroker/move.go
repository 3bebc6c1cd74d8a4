package simbroker

// MoveCoordinator gives the coordinator of a transactional id to another broker, as a reassignment does: the new one loads
// its log, and what the old one had pending is forgotten. It is false when that broker cannot lead.
func (c *Cluster) MoveCoordinator(transactionalID string, to int) bool {
	return c.moveShard(c.coordinator(transactionalID), to)
}

func (c *Cluster) moveShard(s *shard, to int) bool {
	if to < 0 || to >= len(c.brokers) || !c.brokers[to].able() {
		return false
	}
	s.depose()
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

// leave is a controlled shutdown as far as the controller is concerned: what the broker coordinates is given to others
// while it is still there, and the data that only it has stays behind.
func (c *Cluster) leave(b *Broker) {
	c.MoveCoordinators(int(b.id))
	for _, p := range c.parts {
		for i := 1; i < len(c.brokers) && p.leader == b.id && (p.replicated() || p.group != nil); i++ {
			c.moveLeader(p, (int(b.id)+i)%len(c.brokers))
		}
	}
}

// MoveGroup gives the coordinator of a group to another broker.
func (c *Cluster) MoveGroup(group string, to int) bool {
	return c.moveLeader(c.groupPartition(group), to)
}

// MoveLeader gives a partition to another broker: to a replica in sync, or with its only copy to any broker. Guards are
// lost, and what is not on all replicas in sync yet may be.
func (c *Cluster) MoveLeader(topic string, num int32, to int) bool {
	if s := c.findShard(topic, num); s != nil {
		return s.leader != int32(to) && c.moveShard(s, to)
	}
	p := c.find(topic, num)
	return p != nil && c.moveLeader(p, to)
}

func (c *Cluster) moveLeader(p *partition, to int) bool {
	if to < 0 || to >= len(c.brokers) || !c.brokers[to].able() || p.leader == int32(to) {
		return false
	}
	if r := p.replicaOn(int32(to)); p.replicated() && (r == nil || !r.isr) {
		return false
	}
	p.lead(int32(to))
	return true
}

// TakeLeader leaves a partition without a leader until GiveLeader, as when the only replica of it is lost for a while. The
// partitions of __transaction_state are among them.
func (c *Cluster) TakeLeader(topic string, num int32) bool {
	if s := c.findShard(topic, num); s != nil {
		if s.leader < 0 {
			return false
		}
		s.depose()
		s.unload()
		s.held = true
		s.lead(-1)
		return true
	}
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
	if s := c.findShard(topic, num); s != nil {
		s.held = false
		c.adoptShard(s, nil)
		return
	}
	p := c.find(topic, num)
	if p == nil || !p.held {
		return
	}
	p.held = false
	if p.elect() || p.replicated() {
		return
	}
	if b := c.brokers[p.replicas[0].broker]; b.able() {
		p.lead(b.id)
	} else if p.group != nil {
		c.adoptOffsets(p, nil)
	}
}

// findShard is a partition of __transaction_state; nil if it is of another topic.
func (c *Cluster) findShard(topic string, num int32) *shard {
	if topic != coordinatorTopic || num < 0 || int(num) >= len(c.shards) {
		return nil
	}
	return c.shards[num]
}

func (c *Cluster) nextAble(from int) int {
	for i := 1; i <= len(c.brokers); i++ {
		if b := c.brokers[(from+i)%len(c.brokers)]; b.able() && int(b.id) != from {
			return int(b.id)
		}
	}
	return -1
}

// nextLeader is the next broker that a partition can move to; -1: none.
func (p *partition) nextLeader() int {
	if !p.replicated() {
		return p.c.nextAble(int(p.leader))
	}
	at := 0
	for i := range p.replicas {
		if p.replicas[i].broker == p.leader {
			at = i
		}
	}
	for i := 1; i < len(p.replicas); i++ {
		if r := &p.replicas[(at+i)%len(p.replicas)]; r.isr && p.c.brokers[r.broker].able() {
			return int(r.broker)
		}
	}
	return -1
}
