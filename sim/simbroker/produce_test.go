package simbroker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The window of five, gaps, old epochs and the wrap: a retry that is not recognised is a duplicate, one that is
// recognised wrongly is a loss.
func TestIdempotentWindow(t *testing.T) {
	r := newRig(t, 1, "k44")
	p := ask1[*kmsg.InitProducerIDResponse](r, 0, func() *kmsg.InitProducerIDRequest {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.Version = 4
		return q
	}())
	x := identity{"", p.ProducerID, p.ProducerEpoch}
	send := func(what string, seq int32, n int, code int16, base int64) {
		t.Helper()
		values := make([]string, n)
		c, b := r.produce(11, x, 0, batchOf(x, seq, false, values...))
		equal(t, what, c, code)
		if code == ok {
			equal(t, what+" offset", b, base)
		}
	}
	for i := range int32(7) {
		send("next", i*2, 2, ok, int64(i)*2)
	}
	send("newest again", 12, 2, ok, 12)
	send("fifth again", 4, 2, ok, 4)
	send("sixth", 2, 2, outOfOrderSequence, 0)
	send("overlap", 12, 3, outOfOrderSequence, 0)
	send("gap", 15, 1, outOfOrderSequence, 0)
	equal(t, "nothing appended", r.c.Bounds("out", 0).High, 14)
	x.epoch++
	send("new epoch at 1", 1, 1, outOfOrderSequence, 0)
	send("new epoch at 0", 0, 1, ok, 14)
	x.epoch--
	send("old epoch", 14, 1, invalidProducerEpoch, 0)

	y := identity{"", p.ProducerID + 1000, 0}
	c, _ := r.produce(11, y, 1, batchOf(y, 2147483646, false, "a", "b"))
	equal(t, "any first sequence", c, ok)
	c, _ = r.produce(11, y, 1, batchOf(y, 0, false, "c"))
	equal(t, "wraps to 0", c, ok)
}

func TestTransactionalSequences(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	c, _ := r.produce(12, x, 0, batchOf(x, 1, true, "x"))
	equal(t, "first sequence of version 2", c, outOfOrderSequence)
	r = newRig(t, 1, "k400")
	x = r.init("a")
	c, _ = r.produce(12, x, 0, batchOf(x, 1, true, "x"))
	equal(t, "first sequence on 4.0.0", c, ok)
	c, _ = r.produce(12, x, 0, batchOf(x, 2, false, "x"))
	equal(t, "plain batch inside a transaction", c, invalidTxnState)
	q := produceReq(12, x, 0, batchOf(x, 2, true, "x"))
	q.TransactionID = nil
	e := ask1[*kmsg.ProduceResponse](r, int32(r.c.Leader("out", 0)), q)
	equal(t, "no transactional id", e.Topics[0].Partitions[0].ErrorCode, idAuthorizationFailed)
}

// A refused first batch poisons the guard, and the right sequence is refused until the transaction ends.
func TestGuardPoisoning(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.add(x, 0)
	r.produce(11, x, 0, batchOf(x, 0, true, "one"))
	r.end(4, x, true)
	r.settle()
	r.add(x, 0)
	c, base := r.produce(11, x, 0, batchOf(x, 0, true, "one"))
	equal(t, "old batch in the next transaction", c, ok)
	equal(t, "old offset", base, 0)
	c, _ = r.produce(11, x, 0, batchOf(x, 1, true, "two"))
	equal(t, "right sequence", c, outOfOrderSequence)
	equal(t, "abort", r.end(4, x, false).ErrorCode, ok)
	r.settle()
	r.add(x, 0)
	c, _ = r.produce(11, x, 0, batchOf(x, 1, true, "two"))
	equal(t, "after the end", c, ok)
}

// Under the old protocol an aborted record that arrives late is committed with the next transaction. Under the
// new one it opens a transaction that nobody owns, if nothing has moved the epoch.
func TestLateProduceMeetsTheNextTransaction(t *testing.T) {
	r := newRig(t, 1, "k39")
	x := r.init("a")
	r.add(x, 0)
	r.produce(11, x, 0, batchOf(x, 0, true, "aborted"))
	r.end(4, x, false)
	r.settle()
	late := batchOf(x, 1, true, "late")
	c, _ := r.produce(11, x, 0, late)
	equal(t, "nothing open", c, transactionAbortable)
	r.add(x, 0)
	c, _ = r.produce(11, x, 0, late)
	equal(t, "joins", c, ok)
	r.end(4, x, true)
	r.settle()
	sameStrings(t, "committed with the next", r.committed(0), "late")

	r = newRig(t, 1, "k44")
	x = r.init("a")
	c, _ = r.produce(12, x, 0, batchOf(x, 0, true, "late"))
	equal(t, "opens", c, ok)
	equal(t, "state", r.state("a"), Ongoing)
	e := r.end(5, x, false)
	r.settle()
	c, _ = r.produce(12, x, 0, batchOf(x, 1, true, "later"))
	equal(t, "epoch has moved", c, invalidProducerEpoch)
	equal(t, "epoch", e.ProducerEpoch, x.epoch+1)
}

func TestCorruptBatchesAreRefused(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := identity{pid: -1, epoch: -1}
	good := batchOf(x, -1, false, "x", "y")
	try := func(what string, want int16, change func(b []byte) []byte) {
		t.Helper()
		b := change(append([]byte(nil), good...))
		c, _ := r.produce(11, x, 0, b)
		equal(t, what, c, want)
	}
	same := func(b []byte) []byte { return b }
	try("flipped bit", corruptMessage, func(b []byte) []byte { b[len(b)-1] ^= 1; return b })
	try("short", corruptMessage, func(b []byte) []byte { return b[:40] })
	try("truncated", corruptMessage, func(b []byte) []byte { return b[:len(b)-1] })
	try("two batches", invalidRecord, func(b []byte) []byte { return append(b, good...) })
	try("wrong count", invalidRecord, func(b []byte) []byte { b[atCount+3], b[atLastDelta+3] = 3, 2; seal(b); return b })
	try("control", invalidRecord, func(b []byte) []byte { b[atAttributes+1] |= attrControl; seal(b); return b })
	try("old format", unsupportedFormat, func(b []byte) []byte { b[atMagic] = 1; return b })
	equal(t, "nothing appended", r.c.Bounds("out", 0).High, 0)
	try("good", ok, same)
	equal(t, "appended", r.c.Bounds("out", 0).High, 2)
}

func TestProduceToWrongPlaces(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := identity{pid: -1, epoch: -1}
	b := batchOf(x, -1, false, "x")
	leader := int32(r.c.Leader("out", 0))
	e := ask1[*kmsg.ProduceResponse](r, (leader+1)%3, produceReq(12, x, 0, b)).Topics[0].Partitions[0]
	equal(t, "other broker", e.ErrorCode, notLeader)
	equal(t, "hint", e.CurrentLeader.LeaderID, leader)
	e = ask1[*kmsg.ProduceResponse](r, leader, produceReq(12, x, 7, b)).Topics[0].Partitions[0]
	equal(t, "no such partition", e.ErrorCode, unknownTopicOrPartition)
	old := newRig(t, 1, "k39")
	late := old.start(0, endReq(5, x, true))
	old.wait(late)
	if late.err == nil || old.c.brokers[0].loop.Closed() {
		t.Errorf("a version that the release does not know: %v", late.resp)
	}
}
