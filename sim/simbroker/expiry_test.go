package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// An id that was idle for too long is forgotten, and then nobody can say what became of its last transaction.
func TestIdleIDIsForgotten(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.IDExpiration, c.IDScan = 2*time.Second, 100*time.Millisecond })
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	r.w.RunFor(3 * time.Second)
	equal(t, "open ids stay", r.end(5, x, true).ErrorCode, ok)
	r.settle()
	r.w.RunFor(3 * time.Second)
	equal(t, "commit", r.end(5, x, true).ErrorCode, invalidProducerID)
	equal(t, "add", r.add(x, 0), invalidProducerID)
	p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, x.pid, x.epoch))
	equal(t, "init", p.ErrorCode, ok)
	equal(t, "epoch", p.ProducerEpoch, 0)
	equal(t, "new producer id", p.ProducerID != x.pid, true)
}

// History is what a checker judges the transaction log by.
func TestHistoryTellsTheTransactionLog(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	r.produce(12, x, 1, batchOf(x, 0, true, "x"))
	r.c.TakeLeader("out", 1)
	r.end(5, x, true)
	r.ended("a")
	want := []TxnState{Empty, Ongoing, Ongoing, PrepareCommit, CompleteCommit}
	h := r.c.History()
	equal(t, "events", len(h), len(want))
	for i, e := range h {
		equal(t, "state", e.State, want[i])
		equal(t, "in order", i == 0 || h[i-1].At <= e.At, true)
	}
	equal(t, "partitions of the decision", len(h[3].Partitions), 2)
	equal(t, "dropped", h[4].Dropped[0].String(), "out/1")
}
