package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/hook"
)

// fence aborts the open transaction of an entry and moves its epoch, for a timeout or a new incarnation of the producer.
// then runs when the decision is durable; markers follow.
//
// Below version 2, and in 4.0.0, the epoch moves in memory before the append. When that fails, the producer is fenced
// although its transaction is still open, until the coordinator moves or aborts it after all.
func (s *shard) fence(e *txnEntry, then func(code int16)) {
	p, level, next := &s.broker().profile, s.broker().level(), e.mem
	early := level < 2 || p.FenceTwice
	fenced := next.epoch
	if early && !e.failedFence {
		fenced = min(fenced+1, p.MaxEpoch)
	}
	next.state, next.version = PrepareAbort, int8(level)
	switch exhausted := next.epoch >= p.MaxEpoch-1; {
	case level < 2:
		next.epoch, next.lastEpoch = fenced, -1
	case p.FenceTwice:
		next.epoch, next.lastEpoch = min(fenced+1, p.MaxEpoch), fenced
	case exhausted && p.RotateOnFence:
		next.lastEpoch, next.epoch, next.nextPID = next.epoch, p.MaxEpoch, s.c.newPID()
	default:
		next.lastEpoch, next.epoch = next.epoch, min(next.epoch+1, p.MaxEpoch)
	}
	term := s.term
	s.decide(e, next, func(code int16) {
		if early && code != ok && !s.over(term) && e.mem.state == Ongoing {
			if !s.stale && fenced != e.mem.epoch {
				s.c.recordMemoryFence(e, e.mem.epoch, OperationDone)
			}
			s.broker().reached(probeMemoryFence)
			e.mem.epoch, e.mem.lastEpoch, e.failedFence = fenced, -1, true
		}
		then(code)
	})
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
	term := s.term
	s.write(e, next, func(code int16) {
		switch {
		case code == ok:
			e.dropped = nil
			s.c.hook(s.broker(), hook.K12AllMarkers, e)
		case s.over(term):
		case code == coordinatorNotAvailable:
			d := s.c.span(Span{5 * time.Millisecond, 100 * time.Millisecond}, kindTxnRetry, e.key, e.writes, 0)
			s.broker().loop.After(d, func() {
				if !s.over(term) {
					s.complete(e)
				}
			})
		default:
			e.wedged = true // dropped: another coordinator is believed to do it
		}
	})
}
