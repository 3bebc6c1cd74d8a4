package sink_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/sim"
)

var profiles = []string{"k44", "k44-tv1", "k41", "k400", "k39"}

// The plain life of a sink: without this nothing below means anything.
func TestCheckpointsBecomeVisibleOnce(t *testing.T) {
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			r := newRig(t, 1, profile)
			if out := r.restore(); out.Stop || out.Err != nil {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			gen := r.log.state.Generation
			a, b := r.open(gen, 0), r.open(gen, 1)
			for n := r.next; n <= 6; n++ {
				a.write(5)
				if n%2 == 0 {
					b.write(3)
				}
				tokens := r.barrier(n, a, b)
				r.complete(n, tokens)
				for _, res := range r.commit(tokens, a, b) {
					if res.State != 0 {
						t.Fatalf("commit: %+v", res)
					}
				}
				r.confirmed(n, tokens, a, b)
				r.expectOnce(r.wrote)
			}
			r.expectClosed()
			if a.fail != nil || b.fail != nil {
				t.Fatal(a.fail, b.fail)
			}
		})
	}
}

// A crash between Completed and the commit: the restore commits. A crash before Completed: the restore fences and aborts,
// and the records are not visible.
func TestRestoreCommitsWhatIsCompletedAndAbortsTheRest(t *testing.T) {
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			r := newRig(t, 2, profile)
			a, _ := r.completedOne(5)
			decided := append([]string(nil), r.wrote...)
			a.write(4)
			r.barrier(2, a) // prepared, never completed
			a.write(2)
			r.run(100 * time.Millisecond)
			r.crashTasks()
			out := r.restore()
			if out.Stop || out.Err != nil || out.From != 1 {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectOnce(decided)
			r.expectClosed()
			if r.log.state.Confirmed != 1 || r.log.state.Fenced != r.log.state.Generation-1 {
				t.Fatalf("log: %s", r.entries())
			}
		})
	}
}

// The transaction timeout strikes a completed checkpoint before its commit: the usual design loses the data here.
func TestTimedOutTransactionIsSalvaged(t *testing.T) {
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			r := newRig(t, 3, profile)
			r.restore()
			gen := r.log.state.Generation
			a, b := r.open(gen, 0), r.open(gen, 1)
			a.write(7)
			b.write(6)
			tokens := r.barrier(1, a, b)
			r.complete(1, tokens)
			r.run(30 * time.Second) // the timeout is 20 s
			r.crashTasks()
			r.expectOnce(nil)
			out := r.restore()
			if out.Stop || out.Err != nil || out.From != 1 {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectOnce(r.wrote)
			r.expectClosed()
			r.expectReached(sink.SalvageDone)
			// Another restore finds it done.
			if out := r.restore(); out.Stop || out.Err != nil {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectOnce(r.wrote)
		})
	}
}

// The reply to a commit is lost: the same request again, and nothing else.
func TestLostReplyOfCommitIsAskedForAgain(t *testing.T) {
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			r := newRig(t, 4, profile)
			a, tokens := r.completedOne(5)
			r.w.FaultRequests(sim.RequestFault{Key: 26, Node: "tm1", Effect: sim.LoseReply, Count: 2})
			if res := r.commit(tokens, a); res[0].State != operator.Committed {
				t.Fatalf("commit: %+v", res)
			}
			r.confirmed(1, tokens, a)
			r.expectOnce(r.wrote)
			r.expectReached(sink.EndTxnRepeated)
		})
	}
}

// frames makes repairs without cluster rights.
func frames() *sink.Rules {
	rules := sink.DefaultRules()
	rules.RepairDropped = func(ask sink.Ask, p *sink.Plan, d sink.Dropped) (bool, error) {
		p.NoClusterRights = true
		return sink.RepairMarkers(ask, p, d)
	}
	return rules
}

// Kafka 4.3 and 4.4 drop the marker of a partition without a leader and answer success. Unrepaired, the id's next
// transaction would decide the old records with its own verdict.
func TestDroppedMarkerIsRepaired(t *testing.T) {
	for _, profile := range []string{"k44", "k44-tv1", "k43"} {
		for _, rights := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/rights=%v", profile, rights), func(t *testing.T) {
				r := newRig(t, 5, profile)
				if !rights {
					r.rules = frames()
				}
				a, tokens := r.completedOne(12)
				r.c.TakeLeader("out", 1)
				r.commit(tokens, a)
				out, done := r.startConfirm(1, tokens)
				r.run(3 * time.Second)
				if done() {
					t.Fatalf("confirmed without partition 1: %+v", *out)
				}
				r.c.GiveLeader("out", 1)
				r.until("confirm", done)
				if out.Resolve || out.Err != nil {
					t.Fatalf("confirm: %+v", *out)
				}
				r.expectReached(sink.RepairSent)
				r.expectOnce(r.wrote)
				r.expectClosed()
			})
		}
	}
}

// The lane's own marker is dropped: the lane reads "unstable" for ever.
func TestDroppedMarkerOfTheLaneIsRepaired(t *testing.T) {
	for _, rights := range []bool{true, false} {
		t.Run(fmt.Sprintf("rights=%v", rights), func(t *testing.T) {
			r := newRig(t, 6, "k44")
			if !rights {
				r.rules = frames()
			}
			a, tokens := r.completedOne(5)
			at := -1
			for p := range 8 {
				for _, o := range r.c.OpenTransactions() {
					if o.Topic == "__consumer_offsets" && int(o.Partition) == p {
						at = p
					}
				}
			}
			if at < 0 {
				t.Fatalf("no open marker: %+v", r.c.OpenTransactions())
			}
			r.c.TakeLeader("__consumer_offsets", int32(at))
			r.commit(tokens, a)
			r.run(time.Second)
			r.c.GiveLeader("__consumer_offsets", int32(at))
			r.run(time.Second)
			out, done := r.startConfirm(1, tokens)
			r.until("confirm", done)
			if out.Resolve || out.Err != nil {
				t.Fatalf("confirm: %+v", *out)
			}
			r.expectReached(sink.RepairSent)
			r.expectOnce(r.wrote)
			r.expectClosed()
		})
	}
}

// The job dies with a dropped marker unrepaired; the restore repairs it before it confirms.
func TestRestoreRepairsDroppedMarker(t *testing.T) {
	r := newRig(t, 7, "k44")
	a, tokens := r.completedOne(12)
	r.c.TakeLeader("out", 0)
	r.commit(tokens, a)
	r.run(time.Second)
	r.crashTasks()
	r.c.GiveLeader("out", 0)
	r.run(time.Second)
	if out := r.restore(); out.Stop || out.Err != nil || out.From != 1 {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	r.expectReached(sink.RepairSent)
	r.expectOnce(r.wrote)
	r.expectClosed()
}

// A repair with ordinary rights dies between its two requests and its timeout strikes: ABORT over committed records. The
// lane says committed; only the second witness knows.
func TestRangeTornByFailedRepairIsSalvaged(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprintf("all=%v", all), func(t *testing.T) {
			r := newRig(t, 8, "k44")
			a, tokens := r.completedOne(12)
			stuck := []id.TopicPartition{{Topic: "out", Partition: 0}}
			if all {
				stuck = append(stuck, id.TopicPartition{Topic: "out", Partition: 1}, id.TopicPartition{Topic: "out", Partition: 2})
			}
			for _, tp := range stuck {
				r.c.TakeLeader(tp.Topic, tp.Partition)
			}
			r.commit(tokens, a)
			r.run(time.Second)
			for _, tp := range stuck {
				r.c.GiveLeader(tp.Topic, tp.Partition)
			}
			r.run(time.Second)
			r.crashTasks()
			// The dying repairer: an add, and no end.
			loop := r.jm.NewLoop("repairer")
			client := kafka.New(kafka.Config{Process: r.jm.Process(), Loop: loop})
			who := sink.Identity(tokens[0])
			who.ProducerEpoch++
			added := false
			loop.Post(func() {
				client.AddPartitionsToTxn(who, stuck, func(_ []kafka.PartitionCode, code kafka.Code, err error) {
					if code != kafka.OK || err != nil {
						t.Errorf("add: %v %v", code, err)
					}
					added = true
				})
			})
			r.until("add", func() bool { return added })
			r.run(30 * time.Second)
			if len(r.visible()) == len(r.wrote) {
				t.Fatal("nothing is torn")
			}
			out := r.restore()
			if out.Stop || out.Err != nil || out.From != 1 {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectReached(sink.SalvageDone)
			r.expectOnce(r.wrote)
			r.expectClosed()
			// Its confirm is lost with the log's owner: the next restore must see that the salvage is done.
			r.forgetConfirmed()
			if out := r.restore(); out.Stop || out.Err != nil {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectOnce(r.wrote)
		})
	}
}

// A restore dies at every hook it passes, and the next one finishes. Each record is visible once at the end.
func TestRestoreCutShortAnywhere(t *testing.T) {
	points := []hook.Point{hook.R1SalvageIDInitialised, hook.R2Surveyed, hook.R3TokenDecided, hook.R4SalvageEndTxnSent, hook.R5Confirmed, hook.R6Fenced, hook.C2RepairSent}
	for _, profile := range profiles {
		for _, timedOut := range []bool{false, true} {
			for _, point := range points {
				t.Run(fmt.Sprintf("%s/timedOut=%v/%v", profile, timedOut, point), func(t *testing.T) {
					r := newRig(t, 9, profile)
					r.restore()
					gen := r.log.state.Generation
					a, b := r.open(gen, 0), r.open(gen, 1)
					a.write(4)
					b.write(4)
					r.barrier(1, a, b) // expires: carried by 2
					a.write(4)
					tokens := r.barrier(2, a, b)
					if len(tokens) != 3 {
						t.Fatalf("%d tokens", len(tokens))
					}
					r.complete(2, tokens)
					if timedOut {
						r.run(30 * time.Second)
					}
					r.crashTasks()
					r.onHook(point, func() { r.jm.Crash() })
					_, done := r.startRestore(r.claim())
					r.w.RunUntil(func() bool { return done() || !r.jm.Up() }, r.w.Now().Add(time.Minute))
					r.alive()
					r.jm.Start()
					r.run(50 * time.Millisecond)
					if out := r.restore(); out.Stop || out.Err != nil || out.From != 2 {
						t.Fatalf("restore: %+v\n%s", out, r.trace())
					}
					r.expectOnce(r.wrote)
					r.expectClosed()
				})
			}
		}
	}
}

// A salvage dies after its records, before its end.
func TestSalvageCutShortBeforeItsEnd(t *testing.T) {
	r := newRig(t, 10, "k44")
	a := r.started()
	a.write(9)
	r.complete(1, r.barrier(1, a))
	r.run(30 * time.Second)
	r.crashTasks()
	r.w.FaultRequests(sim.RequestFault{Key: 26, Node: "jm1", Effect: sim.LoseRequest, Count: 1, Struck: func() { r.w.At(r.w.Now(), func() { r.jm.Crash() }) }})
	_, done := r.startRestore(r.claim())
	r.w.RunUntil(func() bool { return done() || !r.jm.Up() }, r.w.Now().Add(time.Minute))
	if r.jm.Up() {
		t.Fatal("the salvage did not come to its end")
	}
	r.jm.Start()
	r.run(50 * time.Millisecond)
	r.expectOnce(nil)
	if out := r.restore(); out.Stop || out.Err != nil || out.From != 1 {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	r.expectReached(sink.SalvageRepeated)
	r.expectOnce(r.wrote)
	r.expectClosed()
}

// Everything of a completed checkpoint was aborted and its records are gone: nothing of it was visible, so the job goes
// back one checkpoint and nobody notices.
func TestStepBackWhenNothingWasVisible(t *testing.T) {
	r := newRig(t, 11, "k44")
	a, one := r.completedOne(5)
	r.commit(one, a)
	r.confirmed(1, one, a)
	first := append([]string(nil), r.wrote...)
	a.write(6)
	two := r.barrier(2, a)
	r.complete(2, two)
	r.run(30 * time.Second)
	r.crashTasks()
	for _, rg := range two[0].Ranges {
		r.c.DeleteRecords("out", rg.Partition, rg.Last+1)
	}
	out := r.restore()
	if out.Stop || out.Err != nil || out.From != 1 {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	r.expectReached(sink.StepBackTaken)
	if len(r.visible()) > len(first) {
		t.Fatalf("visible: %v", r.visible())
	}
	r.expectClosed()
}

// One token of a checkpoint is committed, the records of the other are aborted and gone: no restart point is right. The
// job stops and names exactly what is missing; with a declared policy it goes on.
func TestLoudLossNamesTheRanges(t *testing.T) {
	r := newRig(t, 12, "k44")
	r.restore()
	gen := r.log.state.Generation
	a, b := r.open(gen, 0), r.open(gen, 1)
	a.write(6)
	kept := append([]string(nil), r.wrote...)
	b.write(6)
	tokens := r.barrier(1, a, b)
	r.complete(1, tokens)
	r.commit(tokens[:1], a, b)
	r.run(30 * time.Second)
	r.crashTasks()
	for _, rg := range tokens[1].Ranges {
		for _, o := range r.c.Scan("out", rg.Partition, 0) {
			if o.Offset == rg.First && rg.First > 0 {
				break
			}
		}
		r.c.DeleteRecords("out", rg.Partition, rg.First+1)
	}
	still := r.visible()
	out := r.restore()
	if !out.Stop || out.Lost == nil || out.Lost.Accepted {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	var named int64
	for _, i := range out.Lost.Items {
		named += i.Range.Count
	}
	if named != 6 || r.log.state.Confirmed != 0 {
		t.Fatalf("named %d of 6, confirmed %d: %+v", named, r.log.state.Confirmed, out.Lost)
	}
	r.accept = true
	out = r.restore()
	if out.Stop || out.Lost == nil || !out.Lost.Accepted || r.log.state.Confirmed != 1 {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	if len(r.visible()) != len(still) {
		t.Fatalf("visible %v, kept %v", r.visible(), kept)
	}
	r.expectClosed()
}

// A subtask that slept through a restart writes, marks a shared lane and commits: nothing of it is ever visible, and the
// new generation's confirm does not wait for its timeout.
func TestZombieIsFenced(t *testing.T) {
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			r := newRig(t, 13, profile)
			old, one := r.completedOne(5)
			kept := append([]string(nil), r.wrote...)
			old.write(4) // open when the next generation takes over
			r.run(100 * time.Millisecond)
			zombie := old
			if out := r.restore(); out.Stop || out.Err != nil {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectClosed()
			// The zombie goes on: more records into its open transaction, a barrier, a commit of what was decided.
			zombie.do(func() {
				zombie.s.Barrier(2, func([]token.Token) { t.Error("a fenced writer answered a barrier") })
			})
			zombie.do(func() { zombie.s.Commit(one[0], func(operator.CommitResult) {}) })
			a := r.open(r.log.state.Generation, 0)
			r.wrote = kept
			a.write(5)
			tokens := r.barrier(3, a)
			r.complete(3, tokens)
			r.commit(tokens, a)
			r.confirmed(3, tokens, a)
			r.run(time.Second)
			if zombie.fail == nil {
				t.Error("the zombie does not know that it is fenced")
			}
			r.expectOnce(r.wrote)
			r.expectClosed()
		})
	}
}
