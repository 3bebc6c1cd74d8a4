package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// describe is a transactional id as a broker describes it.
func (r *rig) describe(node int32, id string) kmsg.DescribeTransactionsResponseTransactionState {
	r.t.Helper()
	q := kmsg.NewPtrDescribeTransactionsRequest()
	q.TransactionalIDs = []string{id}
	return ask1[*kmsg.DescribeTransactionsResponse](r, node, q).TransactionStates[0]
}

// open begins a transaction of an id with one record on partition 0.
func (r *rig) open(id string, version int16) identity {
	r.t.Helper()
	x := r.init(id)
	if version < 12 {
		equal(r.t, "add", r.add(x, 0), ok)
	}
	code, _ := r.produce(version, x, 0, batchOf(x, 0, true, "x"))
	equal(r.t, "produce", code, ok)
	return x
}

// An append that fails is answered by what failed, leaves what is in force as it was, and the id free for another try.
func TestFailedAppendsOfTheTransactionLog(t *testing.T) {
	for _, c := range []struct {
		fault TxnLogFault
		code  int16
	}{
		{TxnLogRefused, coordinatorNotAvailable},
		{TxnLogUnknown, coordinatorNotAvailable},
		{TxnLogSurvives, coordinatorNotAvailable},
		{TxnLogNotLeader, notCoordinator},
		{TxnLogTooLarge, unknownServerError},
	} {
		for _, profile := range []string{"k44", "k39"} {
			r := newRig(t, 3, profile)
			v, e := int16(12), int16(5)
			if profile == "k39" {
				v, e = 11, 4
			}
			x := r.open("a", v)
			r.c.FailTxnLog(r.c.Coordinator("a"), c.fault)
			equal(t, profile+" commit", r.end(e, x, true).ErrorCode, c.code)
			d := r.describe(r.coord("a"), "a")
			equal(t, profile+" in force", d.State, "Ongoing")
			p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("b"), r.initReq("b", 4, -1, -1))
			if r.coord("a") == r.coord("b") {
				equal(t, profile+" init", p.ErrorCode, c.code)
			}
			r.c.FailTxnLog(r.c.Coordinator("a"), TxnLogFine)
			equal(t, profile+" again", r.end(e, x, true).ErrorCode, ok)
			r.settle()
			sameStrings(t, profile, r.committed(0), "x")
		}
	}
}

// H11: a commit that is answered 15 becomes durable all the same when the record survives: the next coordinator commits, and
// an abort is too late.
func TestFailedCommitSurvivesAMove(t *testing.T) {
	for _, c := range []struct {
		fault   TxnLogFault
		commits bool
	}{{TxnLogSurvives, true}, {TxnLogRefused, false}} {
		r := newRig(t, 5, "k44")
		x := r.open("a", 12)
		from := r.c.Coordinator("a")
		r.c.FailTxnLog(from, c.fault)
		equal(t, "commit", r.end(5, x, true).ErrorCode, coordinatorNotAvailable)
		r.c.FailTxnLog(from, TxnLogFine)
		r.c.MoveCoordinator("a", (from+1)%3)
		r.w.RunFor(time.Second)
		code := r.end(5, x, false).ErrorCode
		if c.commits {
			equal(t, "abort", code, invalidTxnState)
			r.settle()
			sameStrings(t, "committed", r.committed(0), "x")
			continue
		}
		equal(t, "abort", code, ok)
		r.settle()
		sameStrings(t, "aborted", r.committed(0))
	}
}

// Whether a record survives that was not on all replicas is open, but never against the order of the log: what a later
// success covers is sure, and what lies behind a lost record is lost.
func TestTailOfTheTransactionLogIsAPrefix(t *testing.T) {
	survived := 0
	for seed := range uint64(24) {
		r := newRig(t, seed, "k44", func(c *Config) { c.TxnShards = 1 })
		a, b := r.open("a", 12), r.open("b", 12)
		at := r.c.Coordinator("a")
		r.c.FailTxnLog(at, TxnLogUnknown)
		equal(t, "a", r.end(5, a, true).ErrorCode, coordinatorNotAvailable)
		equal(t, "b", r.end(5, b, true).ErrorCode, coordinatorNotAvailable)
		r.c.FailTxnLog(at, TxnLogFine)
		sure := seed%3 == 0
		if sure {
			r.init("c") // its record is behind the two
		}
		r.c.MoveCoordinator("a", (at+1)%3)
		r.w.RunFor(time.Second)
		as, bs := r.state("a") == CompleteCommit, r.state("b") == CompleteCommit
		if bs && !as || sure && !bs {
			t.Errorf("seed %d: a survives %v, b survives %v, covered %v", seed, as, bs, sure)
		}
		if as && !bs || !sure && bs {
			survived++
		}
	}
	if survived == 0 {
		t.Error("no record survived that was not sure")
	}
}

// A take-over whose abort could not be written: below version 2 the epoch has moved in memory, once however often it is
// tried, and the producer is fenced although its transaction is open; a move of the coordinator forgets that. From version
// 2 on nothing has moved.
func TestFailedFenceIsInMemoryOnly(t *testing.T) {
	for _, c := range []struct {
		profile string
		early   bool
		epochs  int16 // of the new incarnation in the end
	}{{"k39", true, 2}, {"k44-tv1", true, 2}, {"k400", true, 3}, {"k44", false, 2}} {
		r := newRig(t, 7, c.profile)
		v, e := int16(11), int16(4)
		if r.c.TransactionVersion() == 2 {
			v, e = 12, 5
		}
		x := r.open("a", v)
		at := r.c.Coordinator("a")
		r.c.FailTxnLog(at, TxnLogRefused)
		for range 3 {
			p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1))
			equal(t, c.profile+" init", p.ErrorCode, coordinatorNotAvailable)
		}
		d := r.describe(r.coord("a"), "a")
		equal(t, c.profile+" state", d.State, "Ongoing")
		want := x.epoch
		if c.early {
			want++
		}
		equal(t, c.profile+" epoch in memory", d.ProducerEpoch, want)
		r.c.FailTxnLog(at, TxnLogFine)
		if c.early {
			equal(t, c.profile+" owner is fenced", r.end(e, x, true).ErrorCode, producerFenced)
			r.c.MoveCoordinator("a", (at+1)%3)
			r.w.RunFor(time.Second)
			equal(t, c.profile+" epoch of the log", r.describe(r.coord("a"), "a").ProducerEpoch, x.epoch)
			r.c.FailTxnLog(r.c.Coordinator("a"), TxnLogRefused)
			ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1))
			r.c.FailTxnLog(r.c.Coordinator("a"), TxnLogFine)
		}
		y := r.init("a")
		equal(t, c.profile+" new incarnation", y.epoch, x.epoch+c.epochs)
		r.settle()
		sameStrings(t, c.profile, r.committed(0))
	}
}

// A completion that cannot be written is tried again until it can; the id stays busy meanwhile.
func TestCompletionIsTriedAgain(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.open("a", 12)
	at := r.c.Coordinator("a")
	equal(t, "commit", r.end(5, x, true).ErrorCode, ok)
	r.c.FailTxnLog(at, TxnLogRefused)
	r.w.RunFor(2 * time.Second)
	equal(t, "state", r.state("a"), PrepareCommit)
	sameStrings(t, "visible", r.committed(0), "x")
	equal(t, "repeat", r.end(5, x, true).ErrorCode, concurrentTransactions)
	r.c.FailTxnLog(at, TxnLogFine)
	r.settle()
	equal(t, "repeat when complete", r.end(5, x, true).ErrorCode, ok)
}

// A completion that is answered "not coordinator" is left to another one: the id is busy until it moves.
func TestCompletionIsDropped(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.open("a", 12)
	at := r.c.Coordinator("a")
	equal(t, "commit", r.end(5, x, true).ErrorCode, ok)
	r.c.FailTxnLog(at, TxnLogNotLeader)
	r.w.RunFor(time.Second)
	r.c.FailTxnLog(at, TxnLogFine)
	r.w.RunFor(5 * time.Second)
	equal(t, "busy", r.end(5, x, true).ErrorCode, concurrentTransactions)
	r.c.MoveCoordinator("a", (at+1)%3)
	r.settle()
	equal(t, "repeat", r.end(5, x, true).ErrorCode, ok)
}

// The previous producer id survives a fail-over from 4.3 on, in a log of the newer format: then a repeat of the commit that
// moved to a new one is known by it.
func TestRotationAndFailOver(t *testing.T) {
	for _, c := range []struct {
		profile string
		after   int16
	}{{"k44", ok}, {"k43", ok}, {"k42", invalidProducerID}, {"k400", invalidProducerID}} {
		r := newRig(t, 2, c.profile, func(c *Config) { c.Profile.MaxEpoch = 3 })
		x := r.init("a")
		for x.epoch < 2 {
			code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
			equal(t, c.profile+" produce", code, ok)
			p := r.end(5, x, true)
			equal(t, c.profile+" commit", p.ErrorCode, ok)
			r.settle()
			x.pid, x.epoch = p.ProducerID, p.ProducerEpoch
		}
		code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "last"))
		equal(t, c.profile+" produce at the last epoch", code, ok)
		p := r.end(5, x, true)
		equal(t, c.profile+" commit at the last epoch", p.ErrorCode, ok)
		equal(t, c.profile+" moves on", p.ProducerID != x.pid && p.ProducerEpoch == 0, true)
		r.settle()
		equal(t, c.profile+" repeat", r.end(5, x, true).ErrorCode, ok)
		r.c.MoveCoordinator("a", (r.c.Coordinator("a")+1)%3)
		r.w.RunFor(time.Second)
		again := r.end(5, x, true)
		equal(t, c.profile+" repeat at the next coordinator", again.ErrorCode, c.after)
		if c.after == ok {
			equal(t, c.profile+" same answer", again.ProducerID, p.ProducerID)
		}
	}
}

// At an exhausted epoch an internal abort moves to another producer id from 4.3 on, and to the highest epoch before.
func TestFenceAtTheLastEpoch(t *testing.T) {
	for _, c := range []struct {
		profile string
		rotates bool
	}{{"k44", true}, {"k42", false}} {
		r := newRig(t, 2, c.profile, func(c *Config) { c.Profile.MaxEpoch = 2 })
		x := r.init("a")
		x = identity{"a", x.pid, x.epoch}
		for x.epoch < 1 {
			x = r.init("a")
		}
		code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
		equal(t, c.profile+" produce", code, ok)
		ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1))
		r.settle()
		s, _ := r.c.Transaction("a")
		equal(t, c.profile+" another producer id", s.ProducerID != x.pid, c.rotates)
		if !c.rotates {
			equal(t, c.profile+" epoch", s.Epoch, 2)
		}
	}
}

// An id is forgotten by a record of the log: one that cannot be written forgets nothing.
func TestExpiryIsARecord(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.IDExpiration, c.IDScan = time.Second, 100*time.Millisecond })
	r.init("a")
	at := r.c.Coordinator("a")
	r.c.FailTxnLog(at, TxnLogRefused)
	r.w.RunFor(3 * time.Second)
	equal(t, "kept", r.describe(r.coord("a"), "a").ErrorCode, ok)
	r.c.FailTxnLog(at, TxnLogFine)
	r.w.RunFor(time.Second)
	equal(t, "forgotten", r.describe(r.coord("a"), "a").ErrorCode, transactionalIDNotFound)
}
