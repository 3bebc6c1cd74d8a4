package simbroker

import "github.com/onefold/onefold/engine/env"

// lead gives a partition another leader, or none (-1). What the old one had only in memory is gone. Whoever waited for its
// replicas is told 6, unless it is dead.
func (p *partition) lead(leader int32) {
	if p.leader == leader {
		return
	}
	p.stepDown()
	if p.leader >= 0 {
		p.lastLeader = p.leader
	}
	p.leader = leader
	p.forget()
	if leader >= 0 {
		p.leaderEpoch++
		p.takeOver()
	}
	p.c.w.Entry(nil, entryLeader, uint64(p.ix), uint64(int64(leader)), uint64(p.leaderEpoch), 0)
	if p.group != nil && leader >= 0 {
		p.group.load()
	}
	p.tell(notLeader, func(*ackWait) bool { return true })
	p.alert()
	p.replicate()
}

// stepDown ends a leader's term: its followers are where they are.
func (p *partition) stepDown() {
	p.round++
	p.copying = false
	if p.leader < 0 || !p.replicated() {
		return
	}
	p.settle()
	for i := range p.replicas {
		r := &p.replicas[i]
		r.due, r.to, r.acked = 0, -1, -1
		switch {
		case r.broker == p.leader:
			r.log, r.leo, r.hw = p.log, p.log.leo, p.log.hw
		case p.fetches(r):
			p.hears(i, p.c.w.Now())
		}
	}
}

// hears tells replica number i the high watermark as far as it can have heard of it until a time: of a new one with the fetch
// after the one that moved it.
func (p *partition) hears(i int, until env.Instant) {
	r := &p.replicas[i]
	if r.log != p.log || r.leo < p.log.hw {
		return
	}
	heard := p.hwAt.Add(p.c.span(p.c.cfg.Replication.Fetch, kindHeard, uint64(p.ix)<<8|uint64(i), uint64(p.log.hw), p.round))
	if r.hw = max(r.hw, p.hwBefore); heard <= until {
		r.hw = p.log.hw
	}
}

// takeOver begins a leader's term on its own copy. What the others have and it does not is lost; they keep it until they
// fetch from the new leader.
func (p *partition) takeOver() {
	if !p.replicated() {
		p.replicas[0].broker = p.leader
		p.log.startEpoch(p.leaderEpoch)
		return
	}
	r := p.replicaOn(p.leader)
	old, end := r.log, r.leo
	if end < old.leo {
		p.c.reached(probeShorter)
		p.log = old.fork(end)
		for i := range p.replicas {
			if o := &p.replicas[i]; o.log == old && o.leo <= end {
				o.log = p.log
			}
		}
		r.log = p.log
	} else {
		p.log = old
	}
	p.log.hw = min(r.hw, end)
	p.log.reopen()
	p.log.startEpoch(p.leaderEpoch)
	if end < p.committed { // of an unclean election: acknowledged records are gone
		p.committed = end
		p.c.truncated(p, end)
	}
	now := p.c.w.Now()
	for i := range p.replicas {
		p.replicas[i].caught = now
	}
	p.hwBefore, p.hwAt = p.log.hw, now
	if p.group != nil {
		p.group.truncate(end)
	}
	p.advance()
}

// reopen makes transactions whose marker is not below the high watermark any more undecided for readers again: a new leader
// knows an older high watermark than the one before it.
func (l *log) reopen() {
	l.closing = l.closing[:0]
	var firsts map[int64]int64
	for i := l.find(l.hw); i < len(l.batches); i++ {
		if b := &l.batches[i]; b.control && b.last >= l.hw {
			if firsts == nil {
				firsts = l.firstsBefore()
			}
			if first, known := firsts[b.base]; known {
				l.closing = append(l.closing, closedTxn{first, b.base})
			}
		}
	}
}

// firstsBefore maps the offset of each marker to the first offset of what it ended.
func (l *log) firstsBefore() map[int64]int64 {
	open, firsts := map[int64]int64{}, map[int64]int64{}
	if l.floor != nil {
		for _, o := range l.floor.open {
			open[o.pid] = o.first
		}
	}
	for i := range l.batches {
		b := &l.batches[i]
		first, isOpen := open[b.pid]
		switch {
		case b.control && isOpen:
			firsts[b.base] = first
			delete(open, b.pid)
		case b.txn && !b.control && !isOpen:
			open[b.pid] = b.base
		}
	}
	return firsts
}

// elect finds a leader for a partition that has none: the first of its replicas, in their order, that is in sync and can
// lead, or that is eligible when none is in sync. If there is none and the topic allows it, any replica will do.
func (p *partition) elect() bool {
	if p.leader >= 0 || p.deleted || p.held || !p.replicated() {
		return false
	}
	for i := range p.replicas {
		if r := &p.replicas[i]; r.isr && p.c.brokers[r.broker].able() {
			p.lead(r.broker)
			return true
		}
	}
	if p.electEligible() {
		return true
	}
	if !p.topic.cfg.UncleanElection && !p.c.cfg.UncleanElection {
		return false
	}
	for i := range p.replicas {
		if r := &p.replicas[i]; p.c.brokers[r.broker].able() {
			p.electUnclean(r)
			return true
		}
	}
	return false
}

// electUnclean makes a replica the leader whatever it has. It is the only one in sync then.
func (p *partition) electUnclean(r *replica) {
	p.c.reached(probeUnclean)
	p.c.uncleans++
	for i := range p.replicas {
		p.replicas[i].isr, p.replicas[i].elr = false, false
	}
	r.isr = true
	p.noteISR()
	p.lead(r.broker)
}

// fence is what the controller does with a partition when a broker's session has ended: the broker leaves the ISR, unless it
// is the last one there and there are no eligible replicas in this cluster, and leads no more.
func (p *partition) fence(broker int32) {
	if p.deleted || !p.replicated() {
		if p.leader == broker {
			p.lead(-1)
		}
		return
	}
	if p.replicaOn(broker) == nil {
		return
	}
	was := p.leader
	if was == broker {
		p.lead(-1)
	}
	if p.shrink(bit(broker)) && p.leader >= 0 {
		p.advance()
	}
	if p.leader < 0 && was == broker {
		p.electLater()
	}
}

// electLater is the election by the controller, until brokers have heard of it.
func (p *partition) electLater() {
	d := p.c.span(p.c.cfg.FailOver, kindFailOver, 2<<32|uint64(p.ix), uint64(p.leaderEpoch), 0)
	p.c.w.Loop().After(d, func() { p.elect() })
}

// forget is what the death of the leader does: guards are gone.
func (p *partition) forget() {
	p.log.guards = nil
	if p.group != nil {
		p.group.loaded = false
	}
}

// halt is what the death of the leader's process does: what followers have not fetched by now they do not get from it, and
// nobody is answered.
func (p *partition) halt() {
	p.forget()
	p.settle()
	for i := range p.replicas {
		p.replicas[i].due = 0
	}
	p.copying = false
	p.round++
	p.acks = nil
}
