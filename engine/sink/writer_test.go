package sink_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// A clean stop aborts what is open, so that readers need not wait for the timeout, and leaves prepared transactions alone.
// The task closes its loop at once.
func TestCleanStopAbortsTheOpenTransactionOnly(t *testing.T) {
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) {
			r := newRig(t, 20, profile)
			a := r.started()
			a.write(5)
			r.complete(1, r.barrier(1, a))
			kept := append([]string(nil), r.wrote...)
			a.write(5)
			r.run(200 * time.Millisecond)
			a.do(func() { a.s.Close(true) })
			a.loop.Close()
			r.run(2 * time.Second)
			open := 0
			for _, s := range r.c.Transactions() {
				if s.State == simbroker.Ongoing {
					open++
				}
			}
			if open != 1 {
				t.Fatalf("%d transactions are open, want the prepared one: %+v", open, r.c.Transactions())
			}
			if out := r.restore(); out.Stop || out.Err != nil {
				t.Fatalf("restore: %+v", out)
			}
			r.expectOnce(kept)
		})
	}
}

// Without transactions: a flush at the barrier, at least; the control none does not even that.
func TestPlainGuarantees(t *testing.T) {
	for _, c := range []struct {
		guarantee operator.Guarantee
		flushed   bool
	}{{operator.AtLeastOnce, true}, {operator.AtMostOnce, true}, {operator.None, false}} {
		t.Run(fmt.Sprint(c.guarantee), func(t *testing.T) {
			r := newRig(t, 21, "k44")
			st := &subtask{r: r, s: sink.Kafka{Topic: "out", Linger: time.Second}.New(), loop: r.tm.NewLoop("task")}
			ctx := operator.Context{
				Process: r.tm.Process(), Loop: st.loop, Job: "j", Operator: "s", Generation: 1, Parallelism: 1,
				Guarantee: c.guarantee, Fail: func(e error) { st.fail = e }, Wake: func() {},
			}
			opened := false
			st.loop.Post(func() { st.s.Open(ctx, nil, func(e error) { opened = e == nil }) })
			r.until("open", func() bool { return opened })
			st.write(20)
			done, atBarrier := false, 0
			st.do(func() {
				st.s.Barrier(1, func(tokens []token.Token) {
					if len(tokens) != 0 {
						t.Errorf("tokens %v", tokens)
					}
					done, atBarrier = true, len(r.visible())
				})
			})
			r.until("barrier", func() bool { return done })
			if (atBarrier == 20) != c.flushed {
				t.Fatalf("%d of 20 records were in the topic at the barrier", atBarrier)
			}
			r.run(3 * time.Second)
			r.expectOnce(r.wrote)
			if st.fail != nil {
				t.Fatal(st.fail)
			}
		})
	}
}

// A failed record fails the task: a checkpoint that completed without it would lose it.
func TestFailedRecordFailsTheTask(t *testing.T) {
	r := newRig(t, 22, "k44")
	r.kafka.DeliveryTimeout = 2 * time.Second
	a := r.started()
	a.write(2)
	r.c.TakeLeader("out", 0)
	r.c.TakeLeader("out", 1)
	r.c.TakeLeader("out", 2)
	a.write(6)
	a.do(func() { a.s.Barrier(1, func([]token.Token) { t.Error("the barrier was answered") }) })
	r.run(20 * time.Second)
	if a.fail == nil {
		t.Fatal("the task goes on")
	}
}

// A marker that cannot be written fails the task: the commit would answer success without it.
func TestMarkerErrorFailsTheTask(t *testing.T) {
	r := newRig(t, 23, "k44")
	a := r.started()
	a.write(2)
	r.c.DeleteTopic(sink.MarkerTopic("j"))
	r.run(time.Second)
	a.do(func() { a.s.Barrier(1, func([]token.Token) { t.Error("the barrier was answered") }) })
	r.run(10 * time.Second)
	if a.fail == nil {
		t.Fatal("the task goes on")
	}
}

// The partition of a key is the same in all subtasks and generations; a record's own wish comes first.
func TestPartitionByKey(t *testing.T) {
	r := newRig(t, 24, "k44")
	r.restore()
	gen := r.log.state.Generation
	a, b := r.open(gen, 0), r.open(gen, 1)
	for i := range 40 {
		for _, st := range []*subtask{a, b} {
			st.do(func() {
				rec := operator.Record{Key: fmt.Appendf(nil, "k%d", i), Partition: -1, Timestamp: 1}
				if err := st.s.Write(&rec); err != nil {
					t.Fatal(err)
				}
				rec = operator.Record{Key: fmt.Appendf(nil, "wish%d", i), Partition: 2, Timestamp: 1}
				if err := st.s.Write(&rec); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
	r.barrier(1, a, b)
	at := map[string]int32{}
	used := map[int32]bool{}
	for p := range int32(3) {
		for _, l := range r.c.Scan("out", p, 0) {
			key := string(l.Record.Key)
			if was, ok := at[key]; ok && was != p {
				t.Errorf("%s is at %d and %d", key, was, p)
			}
			if key[0] == 'w' && p != 2 {
				t.Errorf("%s is at %d", key, p)
			}
			at[key], used[p] = p, true
		}
	}
	if len(at) != 80 || len(used) != 3 {
		t.Fatalf("%d keys over %d partitions", len(at), len(used))
	}
}

// Writing a record allocates nothing: the data path runs at millions of records.
func TestWriteDoesNotAllocate(t *testing.T) {
	r := newRig(t, 25, "k44")
	a := r.started()
	rec := operator.Record{Key: []byte("key"), Value: make([]byte, 100), Partition: -1, Timestamp: 1}
	a.do(func() {
		for range 2000 {
			if err := a.s.Write(&rec); err != nil {
				t.Fatal(err)
			}
		}
		n := testing.AllocsPerRun(1000, func() {
			if a.s.Ready() {
				_ = a.s.Write(&rec)
			}
		})
		if n > 0.1 {
			t.Errorf("%.2f allocations per record", n)
		}
	})
}

// A salvage of more than one fetch, with a producer that is full now and then, while an older open transaction of somebody
// else holds the last stable offset.
func TestLargeSalvageBehindAForeignTransaction(t *testing.T) {
	r := newRig(t, 26, "k44")
	r.kafka.TransactionTimeout = 30 * time.Second
	_, end := r.c.OpenTxn("out", 0, []simbroker.Record{{Key: []byte("foreign"), Value: []byte("x")}})
	a := r.started()
	value := make([]byte, 20_000)
	for i := range 400 { // 8 MB over three partitions
		key := fmt.Sprintf("r%d", i)
		r.until("ready", func() bool {
			ready := false
			a.do(func() { ready = a.s.Ready() })
			return ready
		})
		a.do(func() {
			rec := operator.Record{Key: []byte(key), Value: value, Timestamp: 1, Partition: int32(i % 3)}
			if err := a.s.Write(&rec); err != nil {
				t.Fatal(err)
			}
		})
		r.wrote = append(r.wrote, key)
	}
	r.complete(1, r.barrier(1, a))
	r.run(40 * time.Second)
	r.crashTasks()
	if out := r.restore(); out.Stop || out.Err != nil || out.From != 1 {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	r.expectReached(sink.SalvageDone)
	end(false)
	r.run(time.Second)
	r.expectOnce(r.wrote)
}

// A zombie seeds our lane between the commit and the confirm: the lane's evidence is lost, the second witness is not.
func TestZombieSeedsOurLane(t *testing.T) {
	for _, timedOut := range []bool{false, true} {
		t.Run(fmt.Sprint(timedOut), func(t *testing.T) {
			r := newRig(t, 27, "k44")
			r.restore()
			old := r.log.state.Generation
			if out := r.restore(); out.Err != nil {
				t.Fatal(out)
			}
			a := r.open(r.log.state.Generation, 0)
			a.write(6)
			tokens := r.barrier(1, a)
			r.complete(1, tokens)
			if timedOut {
				r.run(30 * time.Second)
			} else {
				r.commit(tokens, a)
			}
			r.run(time.Second)
			r.seedLane(old, tokens[0].Lane.Partition)
			r.crashTasks()
			if out := r.restore(); out.Stop || out.Err != nil || out.From != 1 {
				t.Fatalf("restore: %+v\n%s", out, r.trace())
			}
			r.expectReached(sink.WitnessUsed)
			r.expectOnce(r.wrote)
			r.expectClosed()
		})
	}
}

// The job is started with more subtasks: their lanes are new partitions of the marker topic, known everywhere before use.
func TestMoreSubtasksGetNewLanes(t *testing.T) {
	r := newRig(t, 28, "k44")
	r.restore()
	r.parallelism = 5
	if out := r.restore(); out.Stop || out.Err != nil {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	if n, _ := r.c.Topic(sink.MarkerTopic("j")); n != 5*int(sink.LanesPerSubtask) {
		t.Fatalf("%d lanes", n)
	}
	a := r.open(r.log.state.Generation, 4)
	a.write(3)
	tokens := r.barrier(1, a)
	r.complete(1, tokens)
	tokens[0].Subtask = 0 // commit asks the only subtask there is
	r.commit(tokens, a)
	r.confirmed(1, r.log.state.Undecided, a)
	r.expectOnce(r.wrote)
}

// Records that retention deletes while their transaction is open are a loss, although EndTxn answers success.
func TestDeletedWhileOpenIsALoss(t *testing.T) {
	r := newRig(t, 29, "k44")
	a, tokens := r.completedOne(9)
	rg := tokens[0].Ranges[0]
	r.c.DeleteRecords("out", rg.Partition, rg.First+1)
	r.commit(tokens, a)
	out, done := r.startConfirm(1, tokens)
	r.until("confirm", done)
	if out.Lost == nil || out.Err == nil || len(out.Lost.Items) != 1 || out.Lost.Items[0].Range.First != rg.First || out.Lost.Items[0].Range.Last != rg.First {
		t.Fatalf("confirm: %+v", *out)
	}
}

// A fetch that never answers is an outage, not a loss: a restore must not step back or report for it.
func TestOutageIsNoLoss(t *testing.T) {
	r := newRig(t, 30, "k44")
	a := r.started()
	a.write(9)
	r.complete(1, r.barrier(1, a))
	r.run(30 * time.Second)
	r.crashTasks()
	r.w.FaultRequests(sim.RequestFault{Key: 1, Node: "jm1", Effect: sim.LoseReply, Count: 100000})
	r.limit = 20 * time.Second
	out := r.restore()
	if out.Stop || out.Lost != nil || out.Err == nil || r.log.state.Completed == nil || r.log.state.Completed.Checkpoint != 1 {
		t.Fatalf("restore: %+v %s", out, r.entries())
	}
}

// A transaction that grows old is told of before its timeout loses it.
func TestOldTransactionIsToldOf(t *testing.T) {
	r := newRig(t, 31, "k44")
	a := r.started()
	a.write(3)
	r.run(11 * time.Second)
	if text := r.trace(); !strings.Contains(text, "has used up half") || strings.Contains(text, "nine tenths") {
		t.Fatal(text)
	}
	r.complete(1, r.barrier(1, a))
	r.run(8 * time.Second)
	if text := r.trace(); !strings.Contains(text, "(prepared) has used up nine tenths") {
		t.Fatal(text)
	}
}

// A process that slept since it found a lane empty seeds it after a salvage and before its confirm: nothing tells of the
// salvage any more but the salvage itself. Loud, and never twice.
func TestSeedOverASalvageIsLoud(t *testing.T) {
	r := newRig(t, 32, "k44")
	_, tokens := r.completedOne(6)
	r.run(30 * time.Second)
	r.crashTasks()
	r.onHook(hook.R5Confirmed, func() { r.jm.Crash() })
	_, done := r.startRestore(r.claim())
	r.w.RunUntil(func() bool { return done() || !r.jm.Up() }, r.w.Now().Add(time.Minute))
	r.jm.Start()
	r.run(50 * time.Millisecond)
	r.expectOnce(r.wrote)
	r.forgetConfirmed()
	r.seedLane(1, tokens[0].Lane.Partition)
	out := r.restore()
	if !out.Stop || out.Lost == nil {
		t.Fatalf("restore: %+v\n%s", out, r.trace())
	}
	r.expectOnce(r.wrote)
}
