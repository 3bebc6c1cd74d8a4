package simbroker

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/invariant"
)

// TxnState is the state of a transactional id at its coordinator.
type TxnState uint8

// The states, as Kafka prints them.
const (
	Empty TxnState = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
)

var txnStates = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}

func (s TxnState) String() string { return txnStates[s] }

// Prepared tells whether the transaction is decided and its markers are under way.
func (s TxnState) Prepared() bool { return s == PrepareCommit || s == PrepareAbort }

// Complete tells whether the last transaction of the id has ended.
func (s TxnState) Complete() bool { return s == CompleteCommit || s == CompleteAbort }

// decided is the state that follows a prepared one.
func (s TxnState) decided() TxnState {
	if s == PrepareCommit {
		return CompleteCommit
	}
	return CompleteAbort
}

// txnRecord is what __transaction_state holds of one transactional id. It is a value: a transition makes a new one.
type txnRecord struct {
	pid, prevPID, nextPID int64 // -1: none
	epoch, lastEpoch      int16 // -1: none; lastEpoch is in memory only
	version               int8  // transaction version of whoever wrote it last: 2 or lower
	state                 TxnState
	timeoutMs             int32
	parts                 []*partition // never changed in place
	startMs, updateMs     int64

	// flexible: it was written in the format of transaction.version 1, which holds the version of the client. chained: the
	// release that wrote it keeps the previous and next producer id, too.
	flexible, chained bool
}

func (r *txnRecord) has(p *partition) bool {
	for _, q := range r.parts {
		if q == p {
			return true
		}
	}
	return false
}

// txnEntry is one transactional id at its coordinator.
//
// Invariant: while pending, no request starts another transition.
type txnEntry struct {
	id  string
	key uint64 // names the id in draws

	mem     txnRecord // what the coordinator answers from
	disk    txnRecord // what a new coordinator loads
	durable bool      // disk holds something

	pending  bool // a transition is being written, or a decided transaction is being completed
	writing  bool // an append is under way
	writes   uint64
	timedOut *Operation   // the abort being written is one of a timeout
	left     []*partition // whose marker is missing
	dropped  []*partition // whose marker was dropped in this term
	wedged   bool         // a marker was refused for good, or the log cannot hold the record: pending until a reload
	ghost    bool         // disk holds a record that was reported as failed

	// failedFence: the epoch was moved by an internal abort whose append failed. It is in memory only, and the next attempt
	// does not move it again.
	failedFence bool
}

// TxnEvent is one durable transition of a transactional id.
type TxnEvent struct {
	At         env.Instant
	ID         string
	ProducerID int64
	Epoch      int16
	State      TxnState
	Partitions []TopicPartition // of the record; empty once complete
	Dropped    []TopicPartition // whose marker was dropped before this record, which is then a Complete one
}

// store makes a record durable. A decision never changes once it is durable.
func (e *txnEntry) store(r txnRecord) {
	if e.durable && e.disk.state.Prepared() {
		legal := r.state == e.disk.state.decided() || r.state == e.disk.state && r.epoch == e.disk.epoch
		invariant.Check(legal, "transactional id %s: durable %s of producer %d followed by %s", e.id, e.disk.state,
			e.disk.pid, r.state)
	}
	if r.state.Prepared() {
		before := e.disk.state
		invariant.Check(!e.durable || before != PrepareCommit && before != PrepareAbort || before == r.state,
			"transactional id %s: %s after %s", e.id, r.state, before)
	}
	e.disk, e.durable = r, true
}

// checkMarked makes sure that a transaction which is about to be complete has its marker in every partition that is still
// there, unless the marker was dropped.
func (e *txnEntry) checkMarked() {
	for _, p := range e.mem.parts {
		dropped := p.deleted
		for _, d := range e.dropped {
			dropped = dropped || d == p
		}
		if dropped {
			continue
		}
		s := p.log.producer(e.mem.pid)
		invariant.Check(s != nil && s.coord >= 0 && s.epoch >= e.mem.epoch,
			"transactional id %s: complete without a marker of epoch %d in %s", e.id, e.mem.epoch, p)
	}
}
