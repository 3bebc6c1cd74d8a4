package task_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/flow/flowtest"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
)

// careless is the negative control: it takes a barrier for aligned at the last input, as it should, and blocks none.
type careless struct {
	inputs  int
	current id.Checkpoint
	seen    int
}

func (c *careless) Step(_ int, m stream.Mark) task.Alignment {
	if m.Checkpoint < c.current {
		return task.Alignment{Dropped: true}
	}
	if m.Checkpoint > c.current {
		c.current, c.seen = m.Checkpoint, 0
	}
	c.seen++
	return task.Alignment{Aligned: c.seen == c.inputs}
}

func (c *careless) Blocked(int) bool { return false }
func (c *careless) Check()           {}

// skewed runs totals with one crash, and returns how many output records there are against how many there should be.
func skewed(t *testing.T, seed uint64, aligner func(int) task.Aligner) (r *rig, want int) {
	g := flowtest.Generator{Partitions: 4, Records: 200, Fill: few}
	r = newRig(t, seed, 2, exchange.Options{Credits: 2})
	r.job, r.splits = totals(g, r.out, flow.Uint64), g.Splits()
	r.par.Default = 4
	r.options = task.Options{Batch: 4, CostPerRecord: 100 * time.Microsecond, NewAligner: aligner}
	r.w.At(env.Instant(30*time.Millisecond), func() { r.nodes[0].Slow(20) })
	r.w.At(env.Instant(70*time.Millisecond), func() { r.crash(1, 20*time.Millisecond) })
	r.run(time.Minute)
	return r, int(g.Records) * int(g.Partitions)
}

// If this failed, tests could not tell an engine that aligns from one that does not.
func TestWithoutAlignmentRecordsAreProcessedTwice(t *testing.T) {
	caught, blocked := 0, 0
	for seed := range uint64(20) {
		r, want := skewed(t, seed, func(n int) task.Aligner { return &careless{inputs: n} })
		if len(r.out.visible) != want {
			caught++
		}
		r, want = skewed(t, seed, nil)
		if len(r.out.visible) != want {
			t.Fatalf("seed %d: %d records with alignment, not %d", seed, len(r.out.visible), want)
		}
		for _, i := range r.w.Reached() {
			if probe.Name(i) == "task: channel blocked with records behind it" {
				blocked++
			}
		}
	}
	if caught == 0 || blocked == 0 {
		t.Fatalf("%d of 20 runs without alignment went wrong, in %d runs with it a channel was blocked with records behind it", caught, blocked)
	}
	t.Logf("caught in %d, bound in %d of 20 runs", caught, blocked)
}
