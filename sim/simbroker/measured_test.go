package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What was measured on real brokers where descriptions of Kafka say otherwise.

// The repeat of a batch after its transaction ended is told the old offset once the next transaction has the partition, and
// nothing is appended; while nothing is open it is refused.
func TestRepeatAfterTheEndIsKnownAgain(t *testing.T) {
	for _, c := range []struct {
		profile  string
		v, e     int16
		unopened int16
	}{{"k35", 9, 3, ok}, {"k37", 10, 3, invalidTxnState}, {"k39", 11, 4, transactionAbortable}, {"k44-tv1", 11, 4, transactionAbortable}} {
		r := newRig(t, 1, c.profile)
		x := r.open("a", c.v)
		equal(t, c.profile+" commit", r.end(c.e, x, true).ErrorCode, ok)
		r.settle()
		code, _ := r.produce(c.v, x, 0, batchOf(x, 0, true, "x"))
		equal(t, c.profile+" nothing open", code, c.unopened)
		equal(t, c.profile+" add", r.add(x, 0), ok)
		high := r.c.Bounds("out", 0).High
		code, base := r.produce(c.v, x, 0, batchOf(x, 0, true, "x"))
		equal(t, c.profile+" added again", code, ok)
		equal(t, c.profile+" old offset", base, 0)
		equal(t, c.profile+" nothing appended", r.c.Bounds("out", 0).High, high)
	}
}

// While the abort of a transaction past its timeout runs, its owner is refused as stale where a marker is, and below
// version 12 elsewhere, too.
func TestProduceWhileATimeoutAbortRuns(t *testing.T) {
	r := newRig(t, 1, "k44-tv1")
	q := r.initReq("a", 4, -1, -1)
	q.TransactionTimeoutMillis = 500
	p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), q)
	x := identity{"a", p.ProducerID, p.ProducerEpoch}
	equal(t, "add", r.add(x, 0, 1), ok)
	for part := range int32(2) {
		code, _ := r.produce(11, x, part, batchOf(x, 0, true, "x"))
		equal(t, "produce", code, ok)
	}
	held := r.c.Leader("out", 1)
	if held == r.c.Coordinator("a") || held == r.c.Leader("out", 0) {
		to := 3 - r.c.Coordinator("a") - r.c.Leader("out", 0)
		if r.c.Coordinator("a") == r.c.Leader("out", 0) {
			to = (r.c.Coordinator("a") + 1) % 3
		}
		r.c.MoveLeader("out", 1, to)
		held = to
	}
	r.c.Node(held).Pause(0)
	r.w.RunFor(1200 * time.Millisecond)
	equal(t, "abort runs", r.state("a"), PrepareAbort)
	code, _ := r.produce(11, x, 0, batchOf(x, 1, true, "y"))
	equal(t, "marked", code, invalidProducerEpoch)
	r.c.MoveLeader("out", 2, r.c.Leader("out", 0))
	code, _ = r.produce(11, x, 2, batchOf(x, 0, true, "y"))
	equal(t, "untouched", code, invalidProducerEpoch)
	r.c.Node(held).Resume()
	r.settle()
}

// A stale epoch commits offsets on 3.5, where the group's partition has not seen the newer one; later releases ask.
func TestStaleEpochCommitsOffsetsOn35(t *testing.T) {
	for _, c := range []struct {
		profile string
		code    int16
	}{{"k35", ok}, {"k37", invalidProducerEpoch}, {"k44", invalidProducerEpoch}} {
		r := newRig(t, 1, c.profile)
		x := r.init("a")
		r.init("a")
		q := kmsg.NewPtrTxnOffsetCommitRequest()
		q.Version, q.TransactionalID, q.Group, q.ProducerID, q.ProducerEpoch, q.Generation = 3, "a", "g", x.pid, x.epoch, -1
		rt := kmsg.NewTxnOffsetCommitRequestTopic()
		rt.Topic = "out"
		rp := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		rp.Offset = 5
		rt.Partitions = append(rt.Partitions, rp)
		q.Topics = append(q.Topics, rt)
		p := ask1[*kmsg.TxnOffsetCommitResponse](r, r.c.groupPartition("g").leader, q)
		equal(t, c.profile, p.Topics[0].Partitions[0].ErrorCode, c.code)
	}
}

// At level 0 of the feature the requests of the new protocol are offered, answered 35, and leave the id busy until its
// coordinator is loaded again.
func TestNewProtocolAtLevelZero(t *testing.T) {
	for _, produce := range []bool{true, false} {
		r := newRig(t, 1, "k44-tv0", func(c *Config) { c.ClientTimeout = time.Minute })
		x := r.init("a")
		if produce {
			code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
			equal(t, "produce 12", code, unsupportedVersion)
			equal(t, "add", r.add(x, 0), concurrentTransactions)
		} else {
			equal(t, "add", r.add(x, 0), ok)
			r.produce(11, x, 0, batchOf(x, 0, true, "x"))
			equal(t, "commit 5 under another epoch", r.end(5, identity{"a", x.pid, x.epoch + 9}, true).ErrorCode, producerFenced)
			equal(t, "commit 5", r.end(5, x, true).ErrorCode, unsupportedVersion)
			equal(t, "commit 4", r.end(4, x, true).ErrorCode, concurrentTransactions)
		}
		p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1))
		equal(t, "init", p.ErrorCode, concurrentTransactions)
		r.c.MoveCoordinator("a", (r.c.Coordinator("a")+1)%3)
		r.w.RunFor(time.Second)
		if !produce {
			equal(t, "commit 4 after a move", r.end(4, x, true).ErrorCode, ok)
		} else {
			r.init("a")
		}
	}
}
