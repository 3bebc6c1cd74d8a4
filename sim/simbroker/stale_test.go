package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// H25: a coordinator that moved answers from its memory until it hears of it, and what it wants to write fails.
func TestFormerCoordinatorSpeaksOn(t *testing.T) {
	r := newRig(t, 4, "k44", func(c *Config) { c.Visible = Span{400 * time.Millisecond, 500 * time.Millisecond} })
	r.w.RunFor(time.Second)
	x := r.open("a", 12)
	old := r.coord("a")
	r.c.MoveCoordinator("a", (int(old)+1)%3)
	r.w.RunFor(150 * time.Millisecond)
	equal(t, "commit at the new one", r.end(5, x, true).ErrorCode, ok)
	equal(t, "described by the old one", r.describe(old, "a").State, "Ongoing")
	listed := ask1[*kmsg.ListTransactionsResponse](r, old, kmsg.NewPtrListTransactionsRequest())
	found := false
	for _, s := range listed.TransactionStates {
		found = found || s.TransactionalID == "a" && s.TransactionState == "Ongoing"
	}
	equal(t, "listed by the old one", found, true)
	equal(t, "commit at the old one", ask1[*kmsg.EndTxnResponse](r, old, endReq(5, x, false)).ErrorCode, notCoordinator)
	r.w.RunFor(time.Second)
	equal(t, "later", r.describe(old, "a").ErrorCode, notCoordinator)
	r.settle()
	sameStrings(t, "committed once", r.committed(0), "x")
}

// A held coordinator that wakes up after another took over refuses a commit that it should know nothing of.
func TestHeldCoordinatorRefusesFromMemory(t *testing.T) {
	r := newRig(t, 4, "k44", func(c *Config) { c.Visible = Span{400 * time.Millisecond, 500 * time.Millisecond} })
	x := r.init("a")
	old := r.c.Coordinator("a")
	for p := range int32(3) { // data must not be held
		if r.c.Leader("out", p) == old {
			r.c.MoveLeader("out", p, (old+1)%3)
		}
	}
	r.c.Node(old).Pause(0)
	r.w.RunFor(8 * time.Second)
	if r.c.Coordinator("a") == old {
		t.Fatal("the coordinator did not move")
	}
	code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	equal(t, "produce", code, ok)
	r.c.Node(old).Resume()
	equal(t, "commit at the old one", ask1[*kmsg.EndTxnResponse](r, int32(old), endReq(5, x, true)).ErrorCode, invalidTxnState)
	equal(t, "commit at the new one", r.end(5, x, true).ErrorCode, ok)
	r.settle()
	sameStrings(t, "committed", r.committed(0), "x")
}

// Markers of a former coordinator are refused where the new one has written, and never split a decision.
func TestMarkersOfAFormerCoordinator(t *testing.T) {
	for seed := range uint64(12) {
		r := newRig(t, seed, "k41", func(c *Config) {
			c.Visible = Span{200 * time.Millisecond, 300 * time.Millisecond}
			c.Marker = Span{20 * time.Millisecond, 150 * time.Millisecond}
		})
		r.w.RunFor(time.Second)
		x := r.init("a")
		for p := range int32(3) {
			r.produce(12, x, p, batchOf(x, 0, true, "x"))
		}
		at := r.c.Coordinator("a")
		equal(t, "commit", r.end(5, x, seed%2 == 0).ErrorCode, ok)
		r.c.MoveCoordinator("a", (at+1)%3)
		r.settle()
		for p := range int32(3) {
			for _, l := range r.c.ReadAll("out", p) {
				if l.Control {
					equal(t, "verdict", l.Commit, seed%2 == 0)
				}
			}
		}
	}
}
