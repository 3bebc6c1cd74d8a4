package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/invariant"
)

// TxnLogFault is what becomes of the records that a coordinator appends to its partition of __transaction_state.
type TxnLogFault uint8

// The faults. A record that was appended and reported as failed stays in the log: it may be what the next coordinator
// loads, while this one goes on from the state before it.
const (
	TxnLogFine      TxnLogFault = iota
	TxnLogRefused               // too few replicas in sync: nothing is appended; answered 15
	TxnLogUnknown               // too few after the append: answered 15; whether the record survives a move is open
	TxnLogSurvives              // the same, and it does
	TxnLogNotLeader             // the partition has another leader already: answered 16
	TxnLogTooLarge              // answered -1
	TxnLogTrouble               // replicas come and go: each append is fine, refused or unknown
)

// FailTxnLog gives the coordinators of a broker a fault, until it is given TxnLogFine.
func (c *Cluster) FailTxnLog(broker int, f TxnLogFault) { c.brokers[broker].txnLog = f }

// tailRecord is a record at the end of a shard's log that is not known to be on all replicas in sync.
type tailRecord struct {
	e      *txnEntry
	r      txnRecord
	dead   bool // a tombstone: the id is forgotten
	failed bool // reported as failed
	sure   bool // on all replicas in sync: a later one is

	timedOut *Operation // the abort of a timeout, which counts once the record is durable
}

// write appends a record to the log of the shard. then runs when it is durable and in force, or with a code when the append
// failed, or when the coordinator has moved meanwhile: the record may then be durable or not.
func (s *shard) write(e *txnEntry, next txnRecord, then func(code int16)) {
	b := s.broker()
	next.updateMs = b.wallMs()
	next.flexible, next.chained = b.level() > 0, b.level() > 0 && b.profile.PersistPrev
	s.append(e, tailRecord{e: e, r: next, timedOut: e.timedOut}, func(code int16) {
		if code != ok {
			e.pending = e.mem.state.Prepared()
			then(code)
			return
		}
		e.pending = next.state.Prepared() // until it is complete
		s.applied(e, next)
		then(ok)
	})
}

// writeTombstone forgets an id.
func (s *shard) writeTombstone(e *txnEntry) {
	term := s.term
	s.append(e, tailRecord{e: e, dead: true}, func(code int16) {
		switch {
		case code == ok:
			s.forget(e)
		case !s.over(term):
			e.pending = false
		}
	})
}

// append puts a record at the end of the log. The entry is pending until then has run.
func (s *shard) append(e *txnEntry, t tailRecord, then func(code int16)) {
	invariant.Check(!e.writing, "transactional id %s: two appends at once", e.id)
	b, term := s.broker(), s.term
	e.pending, e.writing = true, true
	e.writes++
	fault := s.fault(e)
	wait := s.c.span(s.c.cfg.TxnAppend, kindTxnAppend, e.key, e.writes, 0)
	switch fault {
	case TxnLogFine, TxnLogUnknown, TxnLogSurvives:
		t.sure = fault == TxnLogSurvives
		s.tail = append(s.tail, t)
		if fault != TxnLogFine {
			wait += s.c.span(Span{20 * time.Millisecond, 2 * time.Second}, kindTxnTrouble, e.key, e.writes, 1)
		}
	}
	b.loop.After(wait, func() {
		if s.over(term) {
			then(notCoordinator)
			return
		}
		e.writing = false
		if code := fault.code(); code != ok {
			b.reached(probeTxnLogFailed)
			for i := range s.tail {
				s.tail[i].failed = s.tail[i].failed || s.tail[i].e == e
			}
			then(code)
			return
		}
		s.replicated(e)
		then(ok)
	})
}

// fault is what strikes the append that an entry begins.
func (s *shard) fault(e *txnEntry) TxnLogFault {
	if s.stale {
		return TxnLogNotLeader
	}
	f := s.broker().txnLog
	if f == TxnLogTrouble {
		f = [...]TxnLogFault{TxnLogFine, TxnLogRefused, TxnLogUnknown}[s.c.draw(kindTxnTrouble, e.key, e.writes, 0)%3]
	}
	return f
}

// code is what the coordinator makes of a failed append.
func (f TxnLogFault) code() int16 {
	switch f {
	case TxnLogRefused, TxnLogUnknown, TxnLogSurvives:
		return coordinatorNotAvailable
	case TxnLogNotLeader:
		return notCoordinator
	case TxnLogTooLarge:
		return unknownServerError
	}
	return ok
}

// replicated takes the last record of an entry out of the tail: it is on all replicas in sync, and so is what lies before it.
func (s *shard) replicated(e *txnEntry) {
	last := len(s.tail) - 1
	for last >= 0 && s.tail[last].e != e {
		last--
	}
	kept := s.tail[:0]
	for i := range s.tail {
		t := s.tail[i]
		if t.e == e && i <= last {
			continue // the record itself, or one that it replaces
		}
		t.sure = t.sure || i < last
		kept = append(kept, t)
	}
	clear(s.tail[len(kept):])
	s.tail = kept
}

// cut decides how much of the tail the next leader has: all that is sure, and a drawn part of the rest. Of the records of
// one id the last one counts.
func (s *shard) cut() {
	sure := 0
	for i := range s.tail {
		if s.tail[i].sure {
			sure = i + 1
		}
	}
	survive := sure
	for survive < len(s.tail) {
		t := &s.tail[survive]
		if s.c.draw(kindSurvives, t.e.key, t.e.writes<<8|uint64(survive&255), s.term)&1 != 0 {
			break
		}
		survive++
	}
	for i := range s.tail[:survive] {
		t := &s.tail[i]
		replaced := false
		for j := i + 1; j < survive; j++ {
			replaced = replaced || s.tail[j].e == t.e
		}
		if replaced {
			continue
		}
		if t.dead {
			s.forget(t.e)
			continue
		}
		t.e.ghost = t.failed
		t.e.store(t.r)
		t.e.timedOut = t.timedOut
		s.c.note(t.e, t.r)
	}
	clear(s.tail)
	s.tail = s.tail[:0]
}

func (s *shard) applied(e *txnEntry, r txnRecord) {
	e.store(r)
	e.mem, e.failedFence = r, false
	s.c.note(e, r)
	if s.c.cfg.Expensive {
		e.check()
		for _, p := range r.parts {
			p.log.check(p)
		}
	}
}

// unload ends the term of a leader: pending work is forgotten. An append under way may have become durable.
func (s *shard) unload() {
	s.term++
	s.loaded = false
	s.cut()
	for _, e := range s.entries {
		if e.failedFence && e.disk.epoch < e.mem.epoch {
			s.c.recordMemoryFence(e, e.disk.epoch, OperationRefused)
		}
		e.writing, e.timedOut, e.failedFence = false, nil, false
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
		if e.ghost {
			s.broker().reached(probeTxnLogGhost)
		}
		e.mem, e.failedFence, e.ghost = e.disk, false, false
		e.mem.lastEpoch = -1
		if !e.mem.flexible {
			e.mem.version = 0
		}
		if !e.mem.chained || !s.broker().profile.PersistPrev {
			e.mem.prevPID, e.mem.nextPID = -1, -1
		}
		e.pending, e.wedged, e.left, e.dropped = e.mem.state.Prepared(), false, nil, nil
		kept = append(kept, e)
	}
	clear(s.entries[len(kept):])
	s.entries = kept
	for _, e := range kept {
		if e.mem.state.Prepared() {
			b := s.broker()
			b.reached(probeReDriven)
			s.sendMarkers(e)
		}
	}
}
