package simbroker

// Eligible leader replicas (KIP-966, from 4.1 on for new clusters) are those that left the ISR while it was, or so became,
// smaller than min.insync.replicas. The high watermark does not move then, so that they have all that was ever below it, and
// may lead when nobody is in sync, which the last one need not be any more.
//
//  1. The ISR is {1, 2} of min.insync.replicas 2. Broker 2 is held: ISR {1}, ELR {2}. What 1 appends stays invisible.
//  2. Broker 1 is held as well: ISR {}, ELR {1, 2}, no leader.
//  3. Broker 2 wakes up and leads: ISR {2}, ELR {1}. Without eligible replicas the ISR was {1} all the time, and the partition
//     waits for 1.
//
// A broker that did not stop cleanly may have lost the end of its logs, for all that the controller knows, and is eligible no
// more when it registers. Where that leaves nobody, the last leader is elected as soon as it is back.

const eligibleFeature = "eligible.leader.replicas.version"

// clearEligible leaves nobody eligible when enough replicas are in sync.
func (p *partition) clearEligible() {
	if !p.c.elr || p.inSync() < p.minISR() {
		return
	}
	for i := range p.replicas {
		p.replicas[i].elr = false
	}
}

// electEligible finds a leader where nobody is in sync: the first eligible replica that can lead, or the last leader when
// there are no eligible ones.
func (p *partition) electEligible() bool {
	if !p.c.elr || p.inSync() > 0 {
		return false
	}
	some := false
	for i := range p.replicas {
		r := &p.replicas[i]
		if r.elr && p.c.brokers[r.broker].able() {
			p.c.reached(probeEligible)
			p.leadAlone(r)
			return true
		}
		some = some || r.elr
	}
	if some || !p.c.brokers[p.lastLeader].able() {
		return false
	}
	p.c.reached(probeLastLeader)
	p.leadAlone(p.replicaOn(p.lastLeader))
	return true
}

// leadAlone makes a replica the leader and the only one in sync.
func (p *partition) leadAlone(r *replica) {
	r.isr, r.elr = true, false
	p.clearEligible()
	p.noteISR()
	p.lead(r.broker)
}

// mayLead tells whether a clean election could make a replica the leader, now or when its broker is back.
func (p *partition) mayLead(r *replica) bool {
	return r.isr || r.elr || p.c.elr && r.broker == p.lastLeader && p.inSync() == 0
}

// lostTail is the registration of a broker that did not stop cleanly: it is eligible nowhere.
func (c *Cluster) lostTail(b *Broker) {
	for _, p := range c.parts {
		r := p.replicaOn(b.id)
		if p.deleted || r == nil || !r.elr {
			continue
		}
		r.elr = false
		p.noteISR()
		if p.leader < 0 {
			p.electLater()
		}
	}
}

// EnableELR turns eligible leader replicas on, as kafka-features does. It is false when they are on, or when a broker, in the
// release that it runs or will start with, does not have the feature.
func (c *Cluster) EnableELR() bool {
	if c.elr {
		return false
	}
	for _, b := range c.brokers {
		if !b.profile.HasELR || !b.next.HasELR {
			return false
		}
	}
	c.elr = true
	c.enabled++
	return true
}
