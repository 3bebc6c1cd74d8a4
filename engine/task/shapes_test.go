package task_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/flow/flowtest"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/sim"
)

// side is one record of one of two streams; pair is a record with how many of each side its key has seen.
type side struct {
	Left        bool
	Key, Amount uint64
}

// both is two sources -> connect by key -> two sinks, one of them behind a union, a filter, a flat map and a rebalance:
// every way in which subtasks can be connected.
func both(left, right graph.SourceFactory, straight, winding graph.SinkFactory) *graph.Job {
	job := flow.New("both")
	as := func(isLeft bool) func(*operator.Record) (side, error) {
		return func(r *operator.Record) (side, error) {
			p, err := decodePayment(r)
			return side{isLeft, p.Key, p.Amount}, err
		}
	}
	l := flow.From(job, "left", left, as(true)).Via(flow.JSON[side]())
	r := flow.From(job, "right", right, as(false)).Via(flow.JSON[side]())
	key := func(s side) uint64 { return s.Key }
	joined := flow.ProcessBoth(flow.Connect(flow.KeyBy(l, key, flow.Uint64), flow.KeyBy(r, key, flow.Uint64)), "join",
		func(op *flow.Setup) (func(*flow.Context[uint64, total], side) error, func(*flow.Context[uint64, total], side) error) {
			seen := flow.NewValue(op, "seen", flow.JSON[[]uint64]())
			on := func(ctx *flow.Context[uint64, total], s side) error {
				v, _ := seen.Get()
				if v == nil {
					v = make([]uint64, 2)
				}
				i := 1
				if s.Left {
					i = 0
				}
				v[i] += s.Amount
				seen.Set(v)
				ctx.Emit(total{s.Key, s.Amount, v[0] + v[1], ctx.Origin()})
				return nil
			}
			return on, on
		}).Via(flow.JSON[total]())
	flow.To(joined, "straight", straight, encodeSided)
	odd := flow.Filter(joined, func(t total) bool { return t.Key%2 == 1 })
	even := flow.Rebalance(flow.FlatMap(joined, func(t total, emit func(total)) error {
		if t.Key%2 == 0 {
			emit(t)
		}
		return nil
	}, flow.UID("even")).Via(flow.JSON[total]()))
	flow.To(flow.Union(odd, even), "winding", winding, encodeSided)
	return job
}

// encodeSided is encodeTotal with the source in the partition, so that records of two sources differ.
func encodeSided(v total, r *operator.Record) error {
	v.Origin.Partition += v.Origin.Source << 8
	return encodeTotal(v, r)
}

// If this failed, a job with several inputs and outputs would not be exact over crashes.
func TestEveryShapeIsExactOverCrashes(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	restarts := 0
	for seed := range seeds {
		draw := func(n, i uint64) int { return int(sim.Hash(seed, env.KindScenario, i, 0, 0) % n) }
		g := flowtest.Generator{Partitions: 2, Records: 100, Fill: few}
		r := newRig(t, seed, 2, exchange.Options{Credits: 1 + draw(2, 3), DrawFrames: true})
		r.out.slow = draw(3, 5) * 7
		r.job, r.splits = both(g, g, r.out, r.out), g.Splits()
		r.rescale = func(gen id.Generation) graph.Parallelism {
			at := func(i uint64) int32 { return int32(1 + sim.Hash(seed, env.KindScenario, i, uint64(gen), 0)%3) }
			return graph.Parallelism{Default: at(1), Of: []graph.OperatorParallelism{{Operator: "left", Parallelism: at(2)}}}
		}
		r.options = task.Options{Batch: 8, DrawBatch: 8, CostPerRecord: time.Duration(draw(300, 8)) * time.Microsecond, Check: true}
		for i := range 1 + draw(3, 9) {
			at := time.Duration(5+draw(150, uint64(20+i))) * time.Millisecond
			r.w.At(env.Instant(at), func() { r.crash(draw(2, uint64(30+i)), 20*time.Millisecond) })
		}
		r.run(time.Minute)
		restarts += r.restarts
		sums := map[uint64]uint64{}
		straight, winding := map[string]bool{}, map[string]bool{}
		for _, rec := range r.out.visible {
			amount, sum := binary.BigEndian.Uint64(rec.Value), binary.BigEndian.Uint64(rec.Value[8:])
			line := fmt.Sprintf("%x %x", rec.Key, rec.Value)
			into := straight
			if rec.Topic == "winding" {
				into = winding
			}
			if into[line] {
				t.Fatalf("seed %d: %s comes twice in %s", seed, line, rec.Topic)
			}
			into[line] = true
			if key := binary.BigEndian.Uint64(rec.Key); rec.Topic == "straight" {
				if sums[key] += amount; sums[key] != sum {
					t.Fatalf("seed %d: key %d has %d, not %d", seed, key, sum, sums[key])
				}
			}
		}
		if len(straight) != 400 || len(winding) != 400 {
			t.Fatalf("seed %d: %d and %d records, not 400 each", seed, len(straight), len(winding))
		}
		for line := range straight {
			if !winding[line] {
				t.Fatalf("seed %d: the sinks differ by %s", seed, line)
			}
		}
	}
	if restarts == 0 {
		t.Fatal("no crash hit anything")
	}
	t.Logf("%d runs, %d restarts", seeds, restarts)
}

// If this failed, records that one input record was turned into while the sink had no room would slip behind the barrier
// that follows it, and a restore would lose them.
func TestBarrierWaitsForWhatTheSinkHadNoRoomFor(t *testing.T) {
	restarts := 0
	for seed := range uint64(40) {
		draw := func(n, i uint64) int { return int(sim.Hash(seed, env.KindScenario, i, 0, 0) % n) }
		g := flowtest.Generator{Partitions: 2, Records: 60, Fill: few}
		r := newRig(t, seed, 1+draw(2, 1), exchange.Options{})
		job := flow.New("many")
		many := flow.FlatMap(flow.From(job, "in", g, decodePayment), func(p payment, emit func(total)) error {
			for i := range uint64(5) {
				emit(total{Key: p.Key, Sum: i})
			}
			return nil
		})
		flow.To(many, "out", r.out, encodeTotal)
		r.job, r.splits, r.par.Default, r.out.slow = job, g.Splits(), 2, 3
		r.interval = 3 * time.Millisecond
		r.options = task.Options{Batch: 8, CostPerRecord: 100 * time.Microsecond}
		for i := range 3 {
			r.w.At(env.Instant(time.Duration(10+draw(60, uint64(10+i)))*time.Millisecond), func() { r.crash(0, 10*time.Millisecond) })
		}
		r.run(time.Minute)
		restarts += r.restarts
		var counts [5]int
		for _, rec := range r.out.visible {
			counts[binary.BigEndian.Uint64(rec.Value[8:])]++
		}
		if counts != [5]int{120, 120, 120, 120, 120} {
			t.Fatalf("seed %d: of 120 records each there are %v", seed, counts)
		}
	}
	if restarts < 20 {
		t.Fatalf("only %d restarts", restarts)
	}
}

// broken is totals with a function that fails at one record, the first time.
func broken(t *testing.T, fault func() error) (failure string, failed *sim.Failure) {
	g := flowtest.Generator{Partitions: 1, Records: 50, Fill: few}
	r := newRig(t, 1, 1, exchange.Options{})
	job := flow.New("broken")
	in := flow.From(job, "in", g, decodePayment)
	faulty := flow.Map(in, func(p payment) (payment, error) { return p, nil }, flow.UID("innocent"))
	n := 0
	guilty := flow.Map(faulty, func(p payment) (total, error) {
		if n++; n == 31 {
			if err := fault(); err != nil {
				return total{}, err
			}
		}
		return total{Key: p.Key}, nil
	}, flow.UID("guilty"))
	flow.To(guilty, "out", r.out, encodeTotal)
	r.job, r.splits, r.par.Default, r.options = job, g.Splits(), 1, task.Options{Batch: 8}
	r.w.At(env.Instant(time.Millisecond), r.deploy)
	if r.w.RunUntil(func() bool { return r.done }, env.Instant(time.Minute)) {
		r.w.RunFor(10 * time.Millisecond)
		if got := fmt.Sprint(r.out.opened, r.out.closed); got != "2 [false true]" {
			t.Errorf("sinks opened and closed: %s", got)
		}
	}
	return strings.Join(r.failures, "; "), r.w.Failure()
}

// If this failed, an author would not learn which function failed at which record, or a bug of the engine would be taken
// for one of the author's.
func TestFailureNamesOperatorAndRecord(t *testing.T) {
	got, bug := broken(t, func() error { return errors.New("no such account") })
	if got != "v0/0 guilty at in partition 0 offset 30: no such account" || bug != nil {
		t.Errorf("error: %q %v", got, bug)
	}
	var none map[string]int
	got, bug = broken(t, func() error { none["x"] = 1; return nil })
	if !strings.HasPrefix(got, "v0/0 guilty at in partition 0 offset 30: panic: assignment to entry in nil map in ") || bug != nil {
		t.Errorf("panic: %q %v", got, bug)
	}
	if !strings.Contains(got, "task_test.TestFailureNamesOperatorAndRecord.func2:") {
		t.Errorf("panic: %q does not say where", got)
	}
	got, bug = broken(t, func() error { invariant.Check(false, "impossible"); return nil })
	if got != "" || bug == nil || !bug.Violation {
		t.Errorf("violation: %q %v", got, bug)
	}
}

// uploads runs totals while the next operations on the store fail.
func uploads(t *testing.T, effect sim.BlobEffect, count int) *rig {
	g := flowtest.Generator{Partitions: 2, Records: 400, Fill: few}
	r := newRig(t, 3, 1, exchange.Options{})
	r.job, r.splits, r.par.Default = totals(g, r.out, flow.Uint64), g.Splits(), 2
	r.options = task.Options{Batch: 8, CostPerRecord: 300 * time.Microsecond, Uploads: 2}
	r.w.At(env.Instant(20*time.Millisecond), func() {
		r.w.Blobs.FaultBlob(sim.BlobFault{Node: "tm0", Effect: effect, Count: count})
	})
	r.run(time.Minute)
	checkTotals(t, 3, g, r.out.visible)
	if r.restarts != 0 {
		t.Fatalf("restarts %q", r.failures)
	}
	return r
}

// If this failed, a store that refuses an upload would stop the job, or a checkpoint without its state would complete.
func TestLostUploadsDeclineTheCheckpoint(t *testing.T) {
	if r := uploads(t, sim.BlobFailBefore, 4); len(r.declined) == 0 {
		t.Fatal("no checkpoint was declined although uploads failed as often as they are tried")
	}
}

// If this failed, a lost reply would cost the checkpoint although the object is there.
func TestUploadWhoseReplyWasLostIsFound(t *testing.T) {
	if r := uploads(t, sim.BlobFailAfter, 2); len(r.declined) != 0 {
		t.Fatalf("declined %q", r.declined)
	}
}

// If this failed, a cancelled task would go on working, or a TaskManager would wait for it for ever.
func TestCancelledTaskStopsAndSaysSo(t *testing.T) {
	g := flowtest.Generator{Partitions: 2, Fill: few}
	r := newRig(t, 4, 1, exchange.Options{})
	r.job, r.splits, r.par.Default = totals(g, r.out, flow.Uint64), g.Splits(), 2
	r.options = task.Options{Batch: 8, CostPerRecord: 100 * time.Microsecond}
	r.w.At(env.Instant(time.Millisecond), r.deploy)
	r.w.Run(env.Instant(50 * time.Millisecond))
	for _, k := range r.tasks {
		k.Cancel()
		k.Cancel()
	}
	r.w.Run(env.Instant(60 * time.Millisecond))
	if r.stopped != len(r.tasks) {
		t.Fatalf("%d of %d tasks have stopped", r.stopped, len(r.tasks))
	}
	before := r.w.Entries()
	r.w.Run(env.Instant(70 * time.Millisecond))
	if n := r.w.Entries() - before; n > 40 {
		t.Fatalf("%d things happened after all tasks had stopped", n)
	}
}
