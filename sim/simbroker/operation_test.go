package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// An open transaction that is fenced in memory only is committed by whoever shows the epoch of that memory; until a move, the
// owner is fenced. The record holds all of it, so that the sequential model finds an order.
func TestMemoryFenceIsOnRecord(t *testing.T) {
	for _, profile := range []string{"k39", "k44-tv1", "k400"} {
		for _, moved := range []bool{false, true} {
			r := newRig(t, 7, profile, func(c *Config) { c.Record = true })
			v, e := int16(11), int16(4)
			if r.c.TransactionVersion() == 2 {
				v, e = 12, 5
			}
			x := r.open("a", v)
			at := r.c.Coordinator("a")
			r.c.FailTxnLog(at, TxnLogRefused)
			for range 3 {
				p := ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1))
				equal(t, profile+" init", p.ErrorCode, coordinatorNotAvailable)
			}
			r.c.FailTxnLog(at, TxnLogFine)
			equal(t, profile+" owner", r.end(e, x, true).ErrorCode, producerFenced)
			shown := x
			if shown.epoch++; moved {
				r.c.MoveCoordinator("a", (at+1)%3)
				r.w.RunFor(time.Second)
				equal(t, profile+" epoch in memory, after a move", r.end(e, shown, true).ErrorCode, producerFenced)
				shown.epoch--
			}
			equal(t, profile+" commit", r.end(e, shown, true).ErrorCode, ok)
			r.settle()
			sameStrings(t, profile, r.committed(0), "x")
			r.init("a")
			r.judge()
			want := 1
			if moved {
				want = 2 // the memory is gone, too
			}
			equal(t, profile+" on record", r.recorded(FencedInMemory), want)
		}
	}
}

// The abort of a timeout that was reported as failed, and is in the log all the same, is on record once the next coordinator
// has it; one that is not in the log never happened, and that coordinator aborts by itself.
func TestTimeoutThatSurvivesIsOnRecord(t *testing.T) {
	for _, c := range []struct {
		fault  TxnLogFault
		aborts int
	}{{TxnLogSurvives, 1}, {TxnLogRefused, 0}} {
		for _, profile := range []string{"k39", "k44"} {
			r := newRig(t, 7, profile, func(c *Config) { c.Record, c.ScanInterval = true, 10*time.Second })
			v, e := int16(11), int16(4)
			if profile == "k44" {
				v, e = 12, 5
			}
			x := r.open("a", v)
			at := r.c.Coordinator("a")
			r.c.FailTxnLog(at, c.fault)
			s := r.c.coordinator("a")
			before := s.byID["a"].writes
			tried := func() bool { return s.byID["a"].writes > before && !s.byID["a"].writing }
			r.w.RunUntil(tried, r.w.Now().Add(75*time.Second))
			equal(t, profile+" tried", tried(), true)
			equal(t, profile+" not yet", r.recorded(TimedOut), 0)
			r.c.MoveCoordinator("a", (at+1)%3)
			r.w.RunFor(50 * time.Millisecond)
			equal(t, profile+" aborts", r.recorded(TimedOut), c.aborts)
			r.w.RunFor(15 * time.Second)
			equal(t, profile+" aborts in the end", r.recorded(TimedOut), 1)
			equal(t, profile+" commit is done", r.end(e, x, true).ErrorCode == ok, false)
			y := r.init("a")
			equal(t, profile+" epoch moved", y.epoch > x.epoch, true)
			r.judge()
		}
	}
}

// recorded counts the operations of a kind.
func (r *rig) recorded(k OperationKind) int {
	n := 0
	for _, o := range r.c.Operations() {
		if o.Kind == k {
			n++
		}
	}
	return n
}
