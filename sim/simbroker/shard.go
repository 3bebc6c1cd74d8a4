package simbroker

import (
	"math"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/invariant"
)

// shard is one partition of __transaction_state and the coordinator of the transactional ids that hash to it. Its entries'
// disk records survive; everything else belongs to one term of one leader.
type shard struct {
	c      *Cluster
	ix     int32
	leader int32 // -1: none
	epoch  int32 // the coordinator epoch that markers carry
	term   uint64
	loaded bool

	entries []*txnEntry
	byID    map[string]*txnEntry
}

// coordinator is the shard of an id.
func (c *Cluster) coordinator(id string) *shard { return c.shards[javaHash(id)%int32(len(c.shards))] }

// get is the prelude of every request about an id: who asks the wrong broker is told so.
func (s *shard) get(b *Broker, id string) (*txnEntry, int16) {
	switch {
	case s.leader != b.id:
		return nil, notCoordinator
	case !s.loaded:
		return nil, coordinatorLoading
	case id == "":
		return nil, invalidRequest
	}
	return s.byID[id], ok
}

// over tells whether a term has ended: the leader moved, or its process died a moment ago.
func (s *shard) over(term uint64) bool {
	return s.term != term || s.leader < 0 || !s.c.brokers[s.leader].up()
}

// maxEpoch is the highest epoch of a producer, in the release of the shard's leader.
func (s *shard) maxEpoch() int16 { return s.broker().profile.MaxEpoch }

func (s *shard) broker() *Broker { return s.c.brokers[s.leader] }

// write appends a record to the log of the shard. then runs when it is durable and in force, or when the coordinator has
// moved meanwhile: the record may then be durable or not.
func (s *shard) write(e *txnEntry, next txnRecord, then func(code int16)) {
	invariant.Check(e.writing == nil, "transactional id %s: two appends at once", e.id)
	b, term := s.broker(), s.term
	next.updateMs = b.wallMs()
	e.pending, e.writing = true, &next
	e.writes++
	b.loop.After(s.c.span(s.c.cfg.TxnAppend, kindTxnAppend, e.key, e.writes, 0), func() {
		if s.over(term) {
			then(notCoordinator)
			return
		}
		e.writing, e.pending = nil, next.state.Prepared() // until it is complete
		s.applied(e, next)
		then(ok)
	})
}

func (s *shard) applied(e *txnEntry, r txnRecord) {
	e.store(r)
	e.mem = r
	s.c.note(e, r)
	if s.c.cfg.Expensive {
		e.check()
		for _, p := range r.parts {
			p.log.check(p.String())
		}
	}
}

// fence aborts the open transaction of an entry and moves its epoch, for a timeout or a new incarnation of the producer.
// then runs when the decision is durable; markers follow.
func (s *shard) fence(e *txnEntry, then func(code int16)) {
	p, level, next := &s.broker().profile, s.broker().level(), e.mem
	next.state, next.version = PrepareAbort, int8(level)
	switch exhausted := next.epoch >= p.MaxEpoch-1; {
	case level < 2:
		next.epoch, next.lastEpoch = min(next.epoch+1, p.MaxEpoch), -1
	case p.FenceTwice:
		next.epoch = min(next.epoch+2, p.MaxEpoch)
		next.lastEpoch = next.epoch - 1
	case exhausted && p.RotateOnFence:
		next.lastEpoch, next.epoch, next.nextPID = next.epoch, p.MaxEpoch, s.c.newPID()
	default:
		next.lastEpoch, next.epoch = next.epoch, min(next.epoch+1, p.MaxEpoch)
	}
	s.decide(e, next, then)
}

// end decides the transaction of an entry for its client. Under version 2 each end moves the epoch.
func (s *shard) end(e *txnEntry, commit bool, version int8, then func(code int16)) {
	next := e.mem
	next.state, next.version = PrepareAbort, version
	if commit {
		next.state = PrepareCommit
	}
	if e.mem.state != Ongoing { // an abort of nothing, to move the epoch
		next.parts, next.startMs = nil, s.broker().wallMs()
	}
	if version >= 2 {
		next.lastEpoch = next.epoch
		if next.epoch >= s.maxEpoch()-1 {
			next.epoch, next.nextPID = s.maxEpoch(), s.c.newPID()
		} else {
			next.epoch++
		}
	}
	s.decide(e, next, then)
}

// decide makes a decision durable, then answers, then sends markers.
func (s *shard) decide(e *txnEntry, next txnRecord, then func(code int16)) {
	term := s.term
	s.write(e, next, func(code int16) {
		if code != ok {
			then(code)
			return
		}
		s.c.hook(s.broker(), hook.K10EndTxnDurable, e)
		if s.over(term) {
			then(notCoordinator) // moved in the hook; a process that died there says nothing any more
			return
		}
		then(ok)
		s.sendMarkers(e)
	})
}

// after is the identity that a decided transaction leaves to its producer.
func (r *txnRecord) after() (pid int64, epoch int16) {
	if r.nextPID >= 0 {
		return r.nextPID, 0
	}
	return r.pid, r.epoch
}

// complete ends a decided transaction whose markers are all written.
func (s *shard) complete(e *txnEntry) {
	if s.c.cfg.Expensive {
		e.checkMarked()
	}
	next := e.mem
	next.state, next.parts = next.state.decided(), nil
	if next.nextPID >= 0 {
		next.prevPID, next.pid, next.epoch, next.nextPID = next.pid, next.nextPID, 0, -1
	}
	s.write(e, next, func(code int16) {
		if code != ok {
			return
		}
		e.dropped = nil
		s.c.hook(s.broker(), hook.K12AllMarkers, e)
	})
}

// scan looks for transactions past their timeout and for ids that nobody used for long.
func (s *shard) scan(b *Broker) {
	now, term := b.wallMs(), s.term
	for i := 0; i < len(s.entries) && s.term == term; i++ {
		e := s.entries[i]
		if e.pending {
			continue
		}
		if e.mem.state == Ongoing && e.mem.timeoutMs != math.MaxInt32 && e.mem.startMs+int64(e.mem.timeoutMs) < now {
			b.reached(probeTimeout)
			s.c.recordTimeout(e)
			b.note(entryTimeout, e.key, uint64(e.mem.pid), uint64(e.mem.epoch))
			s.fence(e, func(int16) {})
		}
		if x := s.c.cfg.IDExpiration.Milliseconds(); x > 0 && e.expirable() && e.mem.updateMs <= now-x {
			s.forget(e)
			i--
		}
	}
}

func (e *txnEntry) expirable() bool {
	return !e.pending && e.durable && (e.mem.state == Empty || e.mem.state.Complete())
}

// forget removes an expired id.
func (s *shard) forget(e *txnEntry) {
	for i := range s.entries {
		if s.entries[i] == e {
			s.entries = append(s.entries[:i], s.entries[i+1:]...)
			break
		}
	}
	delete(s.byID, e.id)
}

// unload ends the term of a leader: pending work is forgotten. An append under way may have become durable.
func (s *shard) unload() {
	s.term++
	s.loaded = false
	for _, e := range s.entries {
		if e.writing == nil {
			continue
		}
		r := *e.writing
		e.writing = nil
		if s.c.draw(kindSurvives, e.key, e.writes, s.term)&1 == 0 {
			e.store(r)
			s.c.note(e, r)
		}
		e.timedOut = nil
	}
}

// load starts the term of a leader: the log is replayed, and every decided transaction is driven to its end again.
func (s *shard) load(leader int32) {
	s.epoch++
	s.term++
	s.lead(leader)
	term, b := s.term, s.c.brokers[leader]
	b.loop.After(s.c.span(s.c.cfg.Load, kindLoad, uint64(s.ix), s.term, 0), func() {
		if !s.over(term) {
			s.replay()
		}
	})
}

func (s *shard) replay() {
	s.loaded = true
	kept := s.entries[:0]
	for _, e := range s.entries {
		if !e.durable {
			delete(s.byID, e.id)
			continue
		}
		e.mem = e.disk
		e.mem.lastEpoch = -1
		if !s.broker().profile.PersistPrev {
			e.mem.prevPID, e.mem.nextPID = -1, -1
		}
		e.pending, e.wedged, e.left, e.dropped = e.mem.state.Prepared(), false, nil, nil
		kept = append(kept, e)
	}
	s.entries = kept
	for _, e := range kept {
		if e.mem.state.Prepared() {
			b := s.broker()
			b.reached(probeReDriven)
			s.sendMarkers(e)
		}
	}
}
