package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// If a committed transaction were not visible whole, or its epoch did not move, nothing above would be exactly-once.
func TestCommitMakesAllPartitionsVisible(t *testing.T) {
	for _, profile := range []string{"k44", "k43", "k41", "k400"} {
		r := newRig(t, 1, profile)
		x := r.init("a")
		for p := range int32(3) {
			code, _ := r.produce(12, x, p, batchOf(x, 0, true, "x", "y"))
			equal(t, "produce", code, ok)
		}
		equal(t, "state", r.state("a"), Ongoing)
		sameStrings(t, "before", r.committed(0))
		e := r.end(5, x, true)
		equal(t, "end", e.ErrorCode, ok)
		equal(t, "epoch", e.ProducerEpoch, x.epoch+1)
		r.settle()
		for p := range int32(3) {
			sameStrings(t, "after", r.committed(p), "x", "y")
			equal(t, "high watermark", r.c.Bounds("out", p).High, 3)
		}
		equal(t, "state", r.state("a"), CompleteCommit)
	}
}

// The old protocol keeps its epoch and its sequences over transactions, and needs partitions added.
func TestOldProtocolCommit(t *testing.T) {
	for _, profile := range []string{"k44", "k44-tv1", "k44-tv0", "k41", "k39", "k35"} {
		r := newRig(t, 1, profile)
		v, ev := int16(11), int16(4)
		unadded := transactionAbortable
		if profile == "k35" {
			v, ev, unadded = 9, 3, ok
		}
		x := r.init("a")
		code, _ := r.produce(v, x, 0, batchOf(x, 0, true, "u"))
		equal(t, profile+" produce without add", code, unadded)
		if profile == "k35" {
			continue // that record hangs now, as it does there
		}
		equal(t, profile+" add", r.add(x, 0, 1), ok)
		code, _ = r.produce(v, x, 0, batchOf(x, 0, true, "x"))
		equal(t, profile+" produce", code, ok)
		equal(t, profile+" end", r.end(ev, x, true).ErrorCode, ok)
		r.settle()
		equal(t, profile+" repeat", r.end(ev, x, true).ErrorCode, ok)
		equal(t, profile+" other verdict", r.end(ev, x, false).ErrorCode, invalidTxnState)
		equal(t, profile+" add", r.add(x, 0), ok)
		code, _ = r.produce(v, x, 0, batchOf(x, 1, true, "y"))
		equal(t, profile+" next", code, ok)
		equal(t, profile+" abort", r.end(ev, x, false).ErrorCode, ok)
		r.settle()
		sameStrings(t, profile, r.committed(0), "x")
	}
}

// A client that loses the answer must be able to ask again, and must not be told "done" before it is decided.
func TestEndTxnAnswersBeforeMarkers(t *testing.T) {
	r := newRig(t, 3, "k44", func(c *Config) { c.Marker = Span{200 * time.Millisecond, 200 * time.Millisecond} })
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	equal(t, "state", r.state("a"), PrepareCommit)
	sameStrings(t, "decided, not visible", r.committed(0))
	equal(t, "repeat while markers are under way", r.end(5, x, true).ErrorCode, concurrentTransactions)
	equal(t, "init", ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1)).ErrorCode,
		concurrentTransactions)
	// The transaction is decided, but not sealed.
	code, _ := r.produce(12, x, 0, batchOf(x, 1, true, "late"))
	equal(t, "late produce joins", code, ok)
	r.settle()
	sameStrings(t, "visible", r.committed(0), "x", "late")
	e := r.end(5, x, true)
	equal(t, "repeat", e.ErrorCode, ok)
	equal(t, "repeat's epoch", e.ProducerEpoch, x.epoch+1)
}

// The take-over of an open transaction takes two calls and moves the epoch twice.
func TestInitFencesInTwoCalls(t *testing.T) {
	for _, c := range []struct {
		profile string
		epochs  int16
		late    int16
	}{{"k44", 2, producerFenced}, {"k400", 3, producerFenced}, {"k39", 2, producerFenced}} {
		r := newRig(t, 4, c.profile)
		v, ev := int16(12), int16(5)
		if c.profile == "k39" {
			v, ev = 11, 4
		}
		x := r.init("a")
		if v == 11 {
			equal(t, "add", r.add(x, 0), ok)
		}
		r.produce(v, x, 0, batchOf(x, 0, true, "x"))
		first := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1))
		equal(t, c.profile+" first call", first.ErrorCode, concurrentTransactions)
		y := r.init("a")
		equal(t, c.profile+" epoch", y.epoch, x.epoch+c.epochs)
		equal(t, c.profile+" pid", y.pid, x.pid)
		equal(t, c.profile+" old commit", r.end(ev, x, true).ErrorCode, c.late)
		code, _ := r.produce(v, x, 1, batchOf(x, 0, true, "zombie"))
		equal(t, c.profile+" zombie on another partition", code, invalidProducerEpoch)
		r.settle()
		sameStrings(t, c.profile, r.committed(0))
	}
}

// With the right producer id any epoch aborts an open transaction, and the zombie itself gets nothing.
func TestZombieInitAbortsOwner(t *testing.T) {
	r := newRig(t, 5, "k44")
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	z := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, x.pid, x.epoch+50))
	equal(t, "zombie", z.ErrorCode, concurrentTransactions)
	r.ended("a")
	equal(t, "zombie again", ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, x.pid, x.epoch+50)).ErrorCode,
		producerFenced)
	equal(t, "owner", r.end(5, x, true).ErrorCode, invalidTxnState)
	other := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, x.pid+1, 0))
	equal(t, "wrong producer id", other.ErrorCode, producerFenced)
}

// Without it a transaction whose owner died holds the last stable offset for ever.
func TestTimeoutAborts(t *testing.T) {
	for _, c := range []struct {
		profile              string
		v, ev, commit, abort int16
		bump                 int16
	}{
		{"k44", 12, 5, invalidTxnState, ok, 1},
		{"k400", 12, 5, producerFenced, producerFenced, 2},
		{"k44-tv1", 11, 4, producerFenced, producerFenced, 1},
		{"k39", 11, 4, producerFenced, producerFenced, 1},
	} {
		r := newRig(t, 6, c.profile)
		q := r.initReq("a", 4, -1, -1)
		q.TransactionTimeoutMillis = 1000
		p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), q)
		x := identity{"a", p.ProducerID, p.ProducerEpoch}
		if c.v == 11 {
			r.add(x, 0)
		}
		r.produce(c.v, x, 0, batchOf(x, 0, true, "x"))
		r.w.RunFor(900 * time.Millisecond)
		equal(t, c.profile+" in time", r.state("a"), Ongoing)
		r.w.RunFor(400 * time.Millisecond)
		r.settle()
		s, _ := r.c.Transaction("a")
		equal(t, c.profile+" state", s.State, CompleteAbort)
		equal(t, c.profile+" epoch", s.Epoch, x.epoch+c.bump)
		equal(t, c.profile+" commit", r.end(c.ev, x, true).ErrorCode, c.commit)
		code, _ := r.produce(c.v, x, 0, batchOf(x, 1, true, "y"))
		equal(t, c.profile+" produce touched", code, invalidProducerEpoch)
		code, _ = r.produce(c.v, x, 1, batchOf(x, 0, true, "y"))
		equal(t, c.profile+" produce untouched", code, invalidProducerEpoch)
		equal(t, c.profile+" add", r.add(x, 1), producerFenced)
		equal(t, c.profile+" abort", r.end(c.ev, x, false).ErrorCode, c.abort)
	}
}

func TestInitExpectedEpoch(t *testing.T) {
	r := newRig(t, 7, "k44")
	expect := func(what string, pid int64, epoch, code, want int16) {
		t.Helper()
		p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, pid, epoch))
		equal(t, what+" code", p.ErrorCode, code)
		equal(t, what+" epoch", p.ProducerEpoch, want)
	}
	x := r.init("a")
	expect("current", x.pid, 0, ok, 1)
	expect("previous is a repeat", x.pid, 0, ok, 1)
	expect("current", x.pid, 1, ok, 2)
	expect("older", x.pid, 0, producerFenced, -1)
	r.c.MoveCoordinator("a", int(r.coord("a")+1)%3)
	r.w.RunFor(200 * time.Millisecond)
	expect("previous after a move", x.pid, 1, producerFenced, -1)
	expect("one of two", x.pid, -1, invalidRequest, -1)
	for _, ms := range []int32{0, -1, 1 << 30} {
		q := r.initReq("a", 4, -1, -1)
		q.TransactionTimeoutMillis = ms
		equal(t, "timeout", ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), q).ErrorCode, invalidTxnTimeout)
	}
}

// Producer ids rotate when epochs are exhausted, and a repeat of the commit that did it is still known.
func TestProducerIDsRotate(t *testing.T) {
	for _, profile := range []string{"k44", "k41"} {
		r := newRig(t, 8, profile, func(c *Config) { c.Profile.MaxEpoch = 4 })
		x := r.init("a")
		for i := range 12 {
			code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
			equal(t, "produce", code, ok)
			e := r.end(5, x, true)
			equal(t, "end", e.ErrorCode, ok)
			r.settle()
			again := r.end(5, x, true)
			equal(t, "repeat", again.ErrorCode, ok)
			equal(t, "repeat's producer id", again.ProducerID, e.ProducerID)
			equal(t, "repeat's epoch", again.ProducerEpoch, e.ProducerEpoch)
			if e.ProducerID != x.pid {
				equal(t, "epoch after rotation", e.ProducerEpoch, 0)
			}
			x.pid, x.epoch = e.ProducerID, e.ProducerEpoch
			equal(t, "visible", len(r.committed(0)), i+1)
		}
	}
}
