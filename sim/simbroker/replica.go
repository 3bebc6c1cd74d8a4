package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim"
)

// replica is the copy of a partition on one broker. As long as it is the beginning of the leader's log it shares that log,
// and leo says how far it goes. A copy that has more, or other things, than a new leader keeps the log of the old one until
// it hears from the new one.
type replica struct {
	broker int32
	isr    bool // in sync
	elr    bool // eligible: not in sync, but known to have all that is below the high watermark
	stalls int  // how many faults keep it from fetching

	log *log
	leo int64 // its end; the leader's is the end of its log
	hw  int64 // the high watermark as it last heard of it

	acked  int64       // its end as the leader knows it; -1: it has not fetched from this leader
	caught env.Instant // when it was last known to have all that the leader had
	due    env.Instant // when the fetch under way has copied; 0: none is under way
	to     int64       // the end that the fetch copies up to
	toHW   int64
}

// replicated tells whether there is more than one copy.
func (p *partition) replicated() bool { return len(p.replicas) > 1 }

func (p *partition) replicaOn(broker int32) *replica {
	for i := range p.replicas {
		if p.replicas[i].broker == broker {
			return &p.replicas[i]
		}
	}
	return nil
}

// inSync is how many replicas are in sync.
func (p *partition) inSync() int {
	n := 0
	for i := range p.replicas {
		if p.replicas[i].isr {
			n++
		}
	}
	return n
}

// minISR is min.insync.replicas as it counts: never more than there are replicas.
func (p *partition) minISR() int {
	n := p.topic.cfg.MinISR
	if n <= 0 {
		n = p.c.cfg.MinISR
	}
	return min(max(n, 1), len(p.replicas))
}

// underMinISR tells whether there are too few replicas in sync for a write that wants all of them.
func (p *partition) underMinISR() bool { return p.replicated() && p.inSync() < p.minISR() }

// fetches tells whether a follower can fetch from the leader.
func (p *partition) fetches(r *replica) bool {
	b := p.c.brokers[r.broker]
	if r.stalls > 0 || b.stalls > 0 || !b.up() || b.node.Paused() {
		return false
	}
	leader := p.c.brokers[p.leader].node
	return !p.c.w.IsCut(leader, b.node) && !p.c.w.IsCut(b.node, leader)
}

// replicate lets the followers fetch what they do not have. All of them fetch at the same time; the next fetches follow
// when the leader has heard from all of these. A follower has a copy after half of its time, and the leader knows after the
// other half, with the follower's next fetch.
func (p *partition) replicate() {
	if !p.replicated() || p.copying || p.leader < 0 || p.deleted {
		return
	}
	if b := p.c.brokers[p.leader]; !b.up() || b.node.Paused() {
		return
	}
	c, now, end, last := p.c, p.c.w.Now(), p.log.leo, time.Duration(-1)
	for i := range p.replicas {
		r := &p.replicas[i]
		if r.broker == p.leader || r.acked >= end || !p.fetches(r) {
			continue
		}
		d := c.span(c.cfg.Replication.Fetch, kindFetch, uint64(p.ix)<<8|uint64(i), uint64(end), p.round)
		if c.draw(kindFetchLate, uint64(p.ix)<<8|uint64(i), uint64(end), p.round)&63 == 0 {
			d *= 10
		}
		if r.log != p.log {
			p.rejoin(r)
			d *= 2
		}
		r.due, r.to, r.toHW = now.Add(d/2), end, p.log.hw
		last = max(last, d)
	}
	if last < 0 {
		return
	}
	p.copying, p.copyBy = true, now.Add(last)
	round := p.round
	c.brokers[p.leader].loop.After(last, func() {
		if p.round == round && p.copying {
			p.copied(now)
		}
	})
}

// written is what follows an append: with one copy it is visible at once.
func (p *partition) written() {
	switch {
	case !p.replicated():
		p.wake()
	case p.inSync() == 1:
		p.advance()
		p.replicate()
	default:
		p.replicate()
	}
}

// rejoin makes a follower truncate its log to what the leader's has, too.
func (p *partition) rejoin(r *replica) {
	at := r.log.common(r.leo, p.log)
	if at < r.leo {
		p.c.w.Entry(nil, entryTruncated, uint64(p.ix), uint64(r.broker), uint64(r.leo), uint64(at))
		p.c.reached(probeTruncated)
	}
	r.log, r.leo, r.hw = p.log, at, min(r.hw, at)
}

// settle brings the followers to where they are now.
func (p *partition) settle() {
	now := p.c.w.Now()
	for i := range p.replicas {
		if r := &p.replicas[i]; r.due != 0 && r.due <= now {
			r.leo, r.hw, r.due = max(r.leo, r.to), r.toHW, 0
		}
	}
}

// copied is the leader's part of the fetches that began at a time: it knows now how far the followers are.
func (p *partition) copied(began env.Instant) {
	p.copying = false
	p.settle()
	for i := range p.replicas {
		r := &p.replicas[i]
		if r.broker == p.leader || r.log != p.log || r.to < 0 || !p.fetches(r) {
			continue
		}
		r.acked, r.to = r.leo, -1
		r.caught = began
	}
	p.expand()
	p.advance()
	p.replicate()
}

// expand takes followers that fetch and have caught up into the ISR. It tells whether there were any.
func (p *partition) expand() (any bool) {
	for i := range p.replicas {
		r := &p.replicas[i]
		caughtUp := r.log == p.log && r.acked >= p.log.hw && r.acked >= p.termStart()
		if !r.isr && r.broker != p.leader && caughtUp && p.c.brokers[r.broker].led && p.fetches(r) {
			r.isr, r.elr, any = true, false, true
			p.noteISR()
		}
	}
	if any {
		p.clearEligible()
	}
	return any
}

// termStart is the first offset of the leader's term.
func (p *partition) termStart() int64 {
	if n := len(p.log.epochs); n > 0 {
		return p.log.epochs[n-1].start
	}
	return p.log.start
}

// shrink takes the replicas on some brokers out of the ISR, all of them at the same time. Without eligible leader replicas the
// last one stays.
func (p *partition) shrink(brokers uint64) bool {
	out, left := 0, 0
	for i := range p.replicas {
		switch r := &p.replicas[i]; {
		case !r.isr:
		case brokers&bit(r.broker) != 0:
			out++
		default:
			left++
		}
	}
	if out == 0 || left == 0 && !p.c.elr {
		return false
	}
	for i := range p.replicas {
		if r := &p.replicas[i]; r.isr && brokers&bit(r.broker) != 0 {
			r.isr, r.elr = false, p.c.elr && left < p.minISR()
			if p.leader >= 0 && r.acked >= 0 { // it has fetched in this term
				p.hears(i, r.caught)
			}
		}
	}
	p.noteISR()
	p.c.reached(probeShrunk)
	return true
}

// bit is a broker in a set of them.
func bit(broker int32) uint64 { return 1 << uint(broker) }

func (p *partition) noteISR() {
	isr, elr := uint64(0), uint64(0)
	for i := range p.replicas {
		switch r := &p.replicas[i]; {
		case r.isr:
			isr |= bit(r.broker)
		case r.elr:
			elr |= bit(r.broker)
		}
	}
	p.c.w.Entry(nil, entryISR, uint64(p.ix), isr, uint64(p.leaderEpoch), elr)
}

// advance moves the high watermark to what every replica in sync has. Newer releases hold it while there are too few of
// them.
func (p *partition) advance() {
	l := p.log
	if p.leader < 0 {
		return
	}
	if p.underMinISR() && p.c.brokers[p.leader].profile.HWNeedsMinISR {
		if l.hw < l.leo {
			p.c.reached(probeHeld)
		}
		return
	}
	hw := l.leo
	for i := range p.replicas {
		if r := &p.replicas[i]; r.isr && r.broker != p.leader {
			hw = min(hw, r.acked)
		}
	}
	if hw <= l.hw {
		return
	}
	p.hwBefore, p.hwAt = l.hw, p.c.w.Now()
	l.commit(hw)
	p.committed = max(p.committed, hw)
	if p.group != nil {
		p.group.apply(hw)
	}
	p.acknowledge()
	p.wake()
}

// attend is what leader and controller do once in a while: followers that fell behind leave the ISR, those that can fetch
// again do so.
func (p *partition) attend(now env.Instant) {
	if !p.replicated() || p.deleted {
		return
	}
	if p.leader < 0 { // a replica may have become able to lead without a registration, such as one that was held
		p.elect()
		return
	}
	if !p.c.brokers[p.leader].able() {
		return
	}
	if p.copying && now > p.copyBy.Add(watchInterval) { // its leader was held, or the fetches were lost with a callback
		p.copying = false
		p.round++
	}
	p.settle()
	late := uint64(0)
	for i := range p.replicas {
		r := &p.replicas[i]
		switch {
		case r.broker == p.leader:
		case r.acked >= p.log.leo:
			if p.fetches(r) {
				r.caught = now
			}
		case r.isr && now.Sub(r.caught) > p.c.cfg.ReplicaLag:
			late |= bit(r.broker)
		}
	}
	if shrunk := p.shrink(late); p.expand() || shrunk {
		p.advance()
	}
	p.replicate()
}

// ackWait is somebody who waits until what he wrote is on all replicas in sync.
type ackWait struct {
	end      int64
	deadline env.Instant
	done     func(code int16)
}

// whenCommitted runs done when the high watermark has reached an end, at once if it has. Otherwise it is told 7 after the
// timeout, 6 when the leader loses the partition, 20 when the replicas in sync became too few; never, if the leader dies.
func (p *partition) whenCommitted(end int64, timeout time.Duration, done func(code int16)) {
	if p.log.hw >= end {
		done(ok)
		return
	}
	w := ackWait{end: end, deadline: p.c.w.Now().Add(timeout), done: done}
	p.acks = append(p.acks, w)
	if !p.ackTimer {
		p.ackTimer = true
		p.c.w.Loop().After(timeout, p.overdue)
	}
	p.replicate()
}

// acknowledge tells those whose writes are committed.
func (p *partition) acknowledge() {
	if len(p.acks) == 0 {
		return
	}
	code := ok
	if p.underMinISR() {
		code = notEnoughReplicasAfterAppend
		p.c.reached(probeTooFewAfter)
	}
	p.tell(code, func(w *ackWait) bool { return w.end <= p.log.hw })
}

// tell answers those that match. They may write again in their turn.
func (p *partition) tell(code int16, match func(*ackWait) bool) {
	var told []ackWait
	kept := p.acks[:0]
	for i := range p.acks {
		if match(&p.acks[i]) {
			told = append(told, p.acks[i])
		} else {
			kept = append(kept, p.acks[i])
		}
	}
	clear(p.acks[len(kept):])
	p.acks = kept
	for i := range told {
		told[i].done(code)
	}
}

// overdue tells those that have waited too long. What they wrote stays, and may be committed later.
func (p *partition) overdue() {
	p.ackTimer = false
	now := p.c.w.Now()
	late := func(w *ackWait) bool { return w.deadline <= now }
	if p.leader >= 0 && p.c.brokers[p.leader].node.Paused() { // it says nothing before it wakes up
		late = func(*ackWait) bool { return false }
	}
	n := len(p.acks)
	p.tell(requestTimedOut, late)
	if len(p.acks) < n {
		p.c.reached(probeAckTimeout)
	}
	if len(p.acks) == 0 || p.ackTimer {
		return
	}
	next := p.acks[0].deadline
	for i := range p.acks {
		next = min(next, p.acks[i].deadline)
	}
	p.ackTimer = true
	p.c.w.Loop().After(max(next.Sub(now), watchInterval/10), p.overdue)
}

var _ = sim.Between
