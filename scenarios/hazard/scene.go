package hazard

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// Scene is a script at work: the verbs of package stage, and an account of what happened.
type Scene struct {
	*stage.T
	account *account
}

// Leaderless is a backend that can leave a partition without a leader for a while: the simulated one takes it away, a real
// one kills the only broker that holds it and starts it again.
type Leaderless interface {
	TakeLeader(tp id.TopicPartition) error
	GiveLeader(tp id.TopicPartition) error
}

// TxnLogBreaker is a backend that can leave the log of a coordinator without replicas that acknowledge: the coordinator gives
// up what it has appended, and tells that it failed, yet the record is in the log. The simulated one does it by a fault, a real
// one holds all brokers but the coordinator's, and then lets them go on.
type TxnLogBreaker interface {
	FailTxnLog(transactionalID string) error
	HealTxnLog() error
}

// Say adds a line to the account.
func (t *Scene) Say(format string, args ...any) { t.account.say(fmt.Sprintf(format, args...)) }

// Another is a second client: another process, as far as the cluster can tell.
func (t *Scene) Another() *Scene { return &Scene{T: t.T.Another(), account: t.account} }

// Without runs fn while a partition has no leader, and waits until it has one again.
func (t *Scene) Without(tp id.TopicPartition, fn func()) {
	b, can := t.Backend.(Leaderless)
	t.Check(can, "%s cannot take a partition's leader away", t.Backend.Name())
	err := b.TakeLeader(tp)
	t.Check(err == nil, "take the leader of %s: %v", tp, err)
	t.Say("%s has no leader", tp)
	fn()
	err = b.GiveLeader(tp)
	t.Check(err == nil, "give %s its leader again: %v", tp, err)
	t.Visible(tp.Topic, int32(len(t.Describe(tp.Topic).Partitions)))
	t.Say("%s has its leader again", tp)
}

// TV2 reports whether the cluster is at transaction.version 2, so that each end moves the epoch.
func (t *Scene) TV2() bool { return t.Protocol >= 5 }

// Next is the sequence at which a transaction goes on in a partition after one that wrote n records there: it begins anew
// where the epoch moved.
func (t *Scene) Next(n int32) int32 {
	if t.TV2() {
		return 0
	}
	return n
}

// Late delivers a batch that its sender has given up: a request that was under way for long, or a byte for byte repeat. It
// is sent once, by another client, and the script learns what the leader said, which its sender never does.
func (t *Scene) Late(tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) kafka.Code {
	t.Say("a batch of %s, epoch %d, sequence %d, arrives late at %s", who.TransactionalID, who.ProducerEpoch, sequence, tp)
	_, code := t.Another().Send(tp, who, sequence, values...)
	return code
}

// Committed is what a read_committed reader sees of a partition, up to its last stable offset.
func (t *Scene) Committed(tp id.TopicPartition) []string {
	from, stop := t.Offset(tp, kafka.Earliest, kafka.ReadCommitted), t.Stable(tp)
	if stop <= from {
		return nil
	}
	var values []string
	for _, line := range t.Drain(tp, from, stop) {
		values = append(values, line[indexByte(line, ':')+1:])
	}
	return values
}

func indexByte(s string, c byte) int {
	for i := range len(s) {
		if s[i] == c {
			return i
		}
	}
	return -1
}

// Stable is the last stable offset of a partition.
func (t *Scene) Stable(tp id.TopicPartition) int64 {
	return t.Offset(tp, kafka.Latest, kafka.ReadCommitted)
}

// End is the high watermark of a partition.
func (t *Scene) HighWatermark(tp id.TopicPartition) int64 {
	return t.Offset(tp, kafka.Latest, kafka.ReadUncommitted)
}

// OpenFrom is the first offset of what a producer has open in a partition; -1: nothing.
func (t *Scene) OpenFrom(tp id.TopicPartition, who kafka.Identity) int64 {
	p, known := t.Producer(tp, who.ProducerID)
	if !known {
		return -1
	}
	return p.OpenFrom
}

// State is the state of an id at its coordinator.
func (t *Scene) State(transactionalID string) kafka.TxnState {
	x, code := t.Transaction(transactionalID)
	if code != kafka.OK {
		return kafka.TxnState(code.String())
	}
	return x.State
}

// WriterFor is a fresh identity with a transaction timeout.
func (t *Scene) WriterFor(timeout time.Duration) kafka.Identity {
	who, code := t.InitCode(t.Name("txn"), timeout, t.Protocol)
	t.Check(code == kafka.OK, "init: %v", code)
	return who
}

// Again is the identity of a new incarnation of the id: it fences the one before.
func (t *Scene) Again(who kafka.Identity) kafka.Identity {
	return t.Init(who.TransactionalID, t.Protocol)
}

// EndOnce sends one EndTxn at the version of the identity's protocol, and does not repeat it.
func (t *Scene) EndOnce(who kafka.Identity, commit bool) (next kafka.Identity, code kafka.Code) {
	var err error
	t.Do(func(done func()) {
		t.EndTxn(who, commit, func(n kafka.Identity, c kafka.Code, e error) { next, code, err = n, c, e; done() })
	})
	t.Check(err == nil, "end: %v", err)
	return next, code
}

// EndThrough is End for a transaction that may stay in the middle of its end: what ends it is answered, and only 51 before
// any answer of 0 is repeated.
func (t *Scene) EndThrough(who kafka.Identity, commit bool) (next kafka.Identity, code kafka.Code) {
	t.Wait("an answer to the end", func() bool {
		next, code = t.EndOnce(who, commit)
		return !stage.Passing(code)
	})
	return next, code
}

// WithTxnLogFailing runs fn while the coordinator of an id gives up what it appends to its log, although it survives.
func (t *Scene) WithTxnLogFailing(transactionalID string, fn func()) {
	b, can := t.Backend.(TxnLogBreaker)
	t.Check(can, "%s cannot make appends to the log of a coordinator fail", t.Backend.Name())
	err := b.FailTxnLog(transactionalID)
	t.Check(err == nil, "trouble in the log of %s: %v", transactionalID, err)
	fn()
	err = b.HealTxnLog()
	t.Check(err == nil, "end of the trouble in the log of %s: %v", transactionalID, err)
}
