package simbroker

import (
	"math"

	"github.com/onefold/onefold/engine/env"
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
	tail    []tailRecord // of the log

	held   bool        // kept without a leader by TakeLeader
	former *shard      // what the leader before this one believes, until it hears that it leads no more; nil: it knows
	stale  bool        // this is what a former leader believes
	until  env.Instant // of a stale one: when it hears; 0: it is held, and cannot
	boot   uint64      // of a stale one: the incarnation of its broker
}

// coordinator is the shard of an id.
func (c *Cluster) coordinator(id string) *shard { return c.shards[javaHash(id)%int32(len(c.shards))] }

// get is the prelude of every request about an id: who asks the wrong broker is told so.
func (s *shard) get(b *Broker, id string) (*txnEntry, int16) {
	switch {
	case id == "":
		return nil, invalidRequest
	case s.leader != b.id:
		return nil, notCoordinator
	case !s.loaded:
		return nil, coordinatorLoading
	}
	return s.byID[id], ok
}

// over tells whether a term has ended: the leader moved, or its process died a moment ago.
func (s *shard) over(term uint64) bool {
	return s.term != term || s.leader < 0 || !s.c.brokers[s.leader].up() || s.stale && s.heard()
}

// maxEpoch is the highest epoch of a producer, in the release of the shard's leader.
func (s *shard) maxEpoch() int16 { return s.broker().profile.MaxEpoch }

func (s *shard) broker() *Broker { return s.c.brokers[s.leader] }

// scan looks for transactions past their timeout.
func (s *shard) scan(b *Broker) {
	now, term := b.wallMs(), s.term
	for i := 0; i < len(s.entries) && s.term == term; i++ {
		e := s.entries[i]
		if !e.pending && e.mem.state == Ongoing && e.mem.timeoutMs != math.MaxInt32 && e.mem.startMs+int64(e.mem.timeoutMs) < now {
			b.reached(probeTimeout)
			s.c.recordTimeout(e)
			b.note(entryTimeout, e.key, uint64(e.mem.pid), uint64(e.mem.epoch))
			op := e.timedOut
			s.fence(e, func(code int16) {
				if code != ok && e.timedOut == op { // not one of a later term
					e.timedOut = nil
				}
			})
		}
	}
}

// expire looks for ids that nobody used for long. Each is forgotten once the log says so.
func (s *shard) expire(b *Broker) {
	x := s.c.cfg.IDExpiration.Milliseconds()
	for _, e := range append([]*txnEntry(nil), s.entries...) {
		if x > 0 && e.expirable() && e.mem.updateMs <= b.wallMs()-x {
			s.writeTombstone(e)
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
