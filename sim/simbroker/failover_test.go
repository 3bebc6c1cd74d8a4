package simbroker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
)

// A coordinator that moves between the decision and the last marker must not split the decision.
func TestCoordinatorMovesBetweenDecisionAndMarkers(t *testing.T) {
	for _, commit := range []bool{true, false} {
		for k := range 4 {
			for _, crash := range []bool{false, true} {
				name := fmt.Sprintf("commit=%v, %d markers written, crash=%v", commit, k, crash)
				r := newRig(t, uint64(10+k), "k41", func(c *Config) { c.Marker = Span{10 * time.Millisecond, 90 * time.Millisecond} })
				const id = "onefold.job.sink.g7.0.1"
				x := r.init(id)
				for p := range int32(3) {
					r.produce(12, x, p, batchOf(x, 0, true, "x"))
				}
				seen := 0
				r.w.OnHook(func(_ string, e hook.Event) {
					if e.Point == hook.K10EndTxnDurable && k == 0 || e.Point == hook.K11SomeMarkers && k > 0 {
						seen++
						equal(t, name+" generation", e.Generation, 7)
						if seen == max(k, 1) {
							from := r.c.Coordinator(id)
							if crash {
								r.c.Node(from).Crash()
							} else {
								r.c.MoveCoordinator(id, (from+1)%3)
							}
						}
					}
				})
				a := r.start(r.coord(id), endReq(5, x, commit))
				r.w.RunFor(2 * time.Second)
				if crash && seen > 0 {
					for i := range 3 {
						r.c.Node(i).Start()
					}
				}
				r.settle()
				equal(t, name+" answered", a.done, true)
				for p := range int32(3) {
					if commit {
						sameStrings(t, name, r.committed(p), "x")
					} else {
						sameStrings(t, name, r.committed(p))
					}
					verdicts := 0
					for _, l := range r.c.ReadAll("out", p) {
						if l.Control {
							verdicts++
							equal(t, name+" verdict", l.Commit, commit)
						}
					}
					if verdicts < 1 || verdicts > 2 {
						t.Errorf("%s: %d markers in partition %d", name, verdicts, p)
					}
				}
			}
		}
	}
}

// A broker that dies has no one to tell: the port breaks, its coordinators move, its data waits for it.
func TestBrokerCrash(t *testing.T) {
	r := newRig(t, 1, "k41")
	x := r.init("a")
	code, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	equal(t, "produce", code, ok)
	dead := r.c.Coordinator("a")
	for r.c.Leader("out", 0) != dead {
		r.c.MoveLeader("out", 0, dead)
	}
	r.c.Node(dead).Crash()
	a := r.start(int32(dead), endReq(5, x, true))
	r.wait(a)
	if a.err == nil {
		t.Error("a dead broker answered")
	}
	r.w.RunFor(6 * time.Second)
	if r.c.Coordinator("a") == dead {
		t.Error("the coordinator did not move")
	}
	equal(t, "data has no leader", r.c.Leader("out", 0), -1)
	equal(t, "commit at the new coordinator", r.end(5, x, true).ErrorCode, ok)
	r.w.RunFor(time.Second)
	equal(t, "waits for the partition", r.state("a"), PrepareCommit)
	r.c.Node(dead).Start()
	r.settle()
	sameStrings(t, "visible", r.committed(0), "x")
	code, base := r.produce(12, identity{"a", x.pid, x.epoch + 1}, 0, batchOf(identity{"a", x.pid, x.epoch + 1}, 0, true, "y"))
	equal(t, "goes on", code, ok)
	equal(t, "offset", base, 2)
}

// A broker that is held for longer than its session is as dead as a crashed one, and a zombie when it wakes up.
func TestPausedBrokerIsReplaced(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	held := r.c.Coordinator("a")
	r.c.Node(held).Pause(0)
	a := r.start(int32(held), endReq(5, x, true))
	r.w.RunFor(8 * time.Second)
	if r.c.Coordinator("a") == held {
		t.Fatal("the coordinator did not move")
	}
	equal(t, "no answer yet", a.done, false)
	equal(t, "other verdict at the new one", r.end(5, x, false).ErrorCode, ok)
	r.c.Node(held).Resume()
	r.wait(a)
	equal(t, "zombie", a.resp.(*kmsg.EndTxnResponse).ErrorCode, notCoordinator)
	r.w.RunFor(3 * time.Second)
	for p := range int32(3) {
		equal(t, "has a leader", r.c.Leader("out", p) >= 0, true)
	}
	equal(t, "aborted", r.state("a"), CompleteAbort)
}

// Two crashes of all brokers, one before the other has finished starting.
func TestAllBrokersCrash(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, seed, "k41")
		x := r.init("a")
		for p := range int32(3) {
			r.produce(12, x, p, batchOf(x, 0, true, "x"))
		}
		r.start(r.coord("a"), endReq(5, x, true))
		r.w.RunFor(time.Duration(seed) * time.Millisecond)
		for range 2 {
			for i := range 3 {
				r.c.Node(i).Restart()
			}
			r.w.RunFor(time.Duration(seed*20) * time.Millisecond)
		}
		r.w.RunFor(time.Second)
		if r.state("a") == Ongoing {
			equal(t, "commit", r.end(5, x, true).ErrorCode, ok)
		}
		r.settle()
		for p := range int32(3) {
			sameStrings(t, "visible", r.committed(p), "x")
		}
	}
}

// A nemesis strikes at k10 to k12: they come in order, once, with the transaction's own checkpoint, and for no id that is
// not the engine's.
func TestHooksOfATransaction(t *testing.T) {
	where := func(transactionalID string, _ int64) (id.Checkpoint, id.Subtask) {
		return 42, id.Subtask{Vertex: 3, Index: int32(len(transactionalID))}
	}
	r := newRig(t, 1, "k44", func(c *Config) { c.Where = where })
	var seen []hook.Event
	var nodes []string
	r.w.OnHook(func(node string, e hook.Event) { seen, nodes = append(seen, e), append(nodes, node) })
	const ours = "onefold.job.sink.g12.0.1"
	for _, name := range []string{"stranger", ours, "onefold.job.sink.salvage"} {
		x := r.init(name)
		for p := range int32(3) {
			r.produce(12, x, p, batchOf(x, 0, true, "x"))
		}
		equal(t, "end", r.end(5, x, true).ErrorCode, ok)
		r.settle()
	}
	want := []hook.Point{hook.K10EndTxnDurable, hook.K11SomeMarkers, hook.K11SomeMarkers, hook.K12AllMarkers}
	equal(t, "hooks", len(seen), 2*len(want))
	for i, e := range seen {
		equal(t, "point", e.Point, want[i%4])
		equal(t, "checkpoint", e.Checkpoint, 42)
		generation := id.Generation(12)
		if i >= 4 {
			generation = 0
		} else {
			equal(t, "node", nodes[i], r.c.Node(r.c.Coordinator(ours)).Name())
		}
		equal(t, "generation", e.Generation, generation)
	}
}
