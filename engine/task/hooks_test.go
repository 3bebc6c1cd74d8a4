package task_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/flow/flowtest"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
)

// If this failed, dying at one of the moments of a snapshot would leave a trace in the output.
func TestCrashAtEachHookLeavesNoTrace(t *testing.T) {
	points := []hook.Point{hook.K0BarrierInjected, hook.K1PositionsSnapshotted, hook.K2StateSnapshotted, hook.K5AckSent}
	for _, point := range points {
		for seed := range uint64(15) {
			g := flowtest.Generator{Partitions: 3, Records: 150, Fill: few}
			r := newRig(t, seed, 2, exchange.Options{Credits: 2, DrawFrames: true})
			r.job, r.splits, r.par.Default = totals(g, r.out, flow.Uint64), g.Splits(), 3
			r.options = task.Options{Batch: 8, CostPerRecord: 150 * time.Microsecond, Check: true}
			passed := 0
			r.w.OnHook(func(node string, e hook.Event) {
				if e.Point != point {
					return
				}
				if passed++; passed == 2+int(seed%4) {
					i, gen := int(node[2]-'0'), r.gen
					r.w.Node(node).Crash()
					r.procs[i] = nil
					r.w.At(r.w.Now().Add(25*time.Millisecond), r.nodes[i].Start)
					r.w.At(r.w.Now().Add(30*time.Millisecond), func() {
						if gen == r.gen {
							r.restart("crashed at " + point.String())
						}
					})
				}
			})
			r.run(time.Minute)
			checkTotals(t, seed, g, r.out.visible)
			if r.restarts != 1 {
				t.Fatalf("%v, seed %d: %d restarts, the hook was passed %d times", point, seed, r.restarts, passed)
			}
		}
	}
}

// If this failed, a nemesis that waits for a moment of a checkpoint would wait for another.
func TestHooksOfOneCheckpointComeInOrder(t *testing.T) {
	g := flowtest.Generator{Partitions: 1, Records: 60, Fill: few}
	r := newRig(t, 1, 1, exchange.Options{})
	r.job, r.splits, r.par.Default = totals(g, r.out, flow.Uint64), g.Splits(), 1
	r.options = task.Options{Batch: 8, CostPerRecord: 200 * time.Microsecond}
	passed := map[id.Subtask]string{}
	r.w.OnHook(func(_ string, e hook.Event) {
		if e.Checkpoint == 1 {
			passed[e.Subtask] += fmt.Sprintf("%v ", e.Point)
		}
	})
	r.run(time.Minute)
	if got := fmt.Sprint(passed); got != "map[v0/0:k0 k1 k2 k5  v1/0:k2 k5 ]" {
		t.Fatalf("checkpoint 1 passed %s", got)
	}
}

// If this failed, a seed would not repeat what tasks do.
func TestOneSeedOneTrace(t *testing.T) {
	run := func(seed uint64) uint64 {
		g := flowtest.Generator{Partitions: 3, Records: 100, Fill: few}
		r := newRig(t, seed, 3, exchange.Options{DrawFrames: true})
		r.job, r.splits, r.par.Default = totals(g, r.out, text{}), g.Splits(), 3
		r.options = task.Options{Batch: 8, DrawBatch: 8, CostPerRecord: 100 * time.Microsecond, Check: true}
		r.w.At(env.Instant(40*time.Millisecond), func() { r.crash(1, 30*time.Millisecond) })
		r.run(time.Minute)
		return r.w.TraceHash()
	}
	once, again := run(1), run(1)
	if once != again {
		t.Error("one seed, two traces")
	}
	if once == run(2) {
		t.Error("two seeds, one trace")
	}
}

// lone starts one task of totals with this restored state and returns what it failed with.
func lone(t *testing.T, restored []checkpoint.SubtaskState, put map[blob.Key][]byte) string {
	g := flowtest.Generator{Partitions: 1, Records: 10, Fill: few}
	r := newRig(t, 1, 1, exchange.Options{})
	r.job, r.splits, r.par.Default, r.completed = totals(g, r.out, flow.Uint64), g.Splits(), 1, restored
	r.w.At(env.Instant(time.Millisecond), func() {
		store := r.procs[0].Blob(r.procs[0].NewLoop("put"))
		for k, b := range put {
			store.Create(k, b, func(error) {})
		}
	})
	r.w.At(env.Instant(100*time.Millisecond), r.deploy)
	r.w.RunUntil(func() bool { return r.restarts > 0 || r.done }, env.Instant(20*time.Second))
	if f := r.w.Failure(); f != nil {
		t.Fatal(f)
	}
	return strings.Join(r.failures, "; ")
}

// If this failed, a task would start with less state than it had, and nobody would know.
func TestStateThatIsNotWholeIsNotRestored(t *testing.T) {
	state := func(bytes int64, crc uint32) []checkpoint.SubtaskState {
		return []checkpoint.SubtaskState{{Vertex: 1, Operators: []checkpoint.OperatorState{
			{Operator: "sum", Keyed: []checkpoint.Handle{{Key: "checkpoints/g1/1/v1-0-sum", Bytes: bytes, CRC: crc}}},
		}}}
	}
	if got := lone(t, state(3, 1), nil); !strings.Contains(got, "blob not found") {
		t.Errorf("a missing object: %q", got)
	}
	object := map[blob.Key][]byte{"checkpoints/g1/1/v1-0-sum": []byte("not a snapshot of anything")}
	if got := lone(t, state(3, 1), object); !strings.Contains(got, "not the object that was acked") {
		t.Errorf("another object: %q", got)
	}
}

// If this failed, a barrier that comes before a task runs would be forgotten in silence, and the checkpoint would hang.
func TestTriggerBeforeRunningIsDeclined(t *testing.T) {
	g := flowtest.Generator{Partitions: 1, Records: 10, Fill: few}
	r := newRig(t, 1, 1, exchange.Options{})
	r.job, r.splits, r.par.Default = totals(g, r.out, flow.Uint64), g.Splits(), 1
	r.w.At(env.Instant(time.Millisecond), func() {
		r.deploy()
		r.tasks[0].Trigger(id.Checkpoint(9), stream.Checkpoint)
	})
	r.w.Run(env.Instant(20 * time.Millisecond))
	if got := strings.Join(r.declined, "; "); got != "v0/0 9: the task is not running yet" {
		t.Fatalf("declined %q", got)
	}
}
