package task_test

import (
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/flow/flowtest"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
)

type benchHost struct {
	b       *testing.B
	running atomic.Int32
	acked   atomic.Int32
	stopped atomic.Int32
}

func (h *benchHost) Running(id.Subtask)                                           { h.running.Add(1) }
func (h *benchHost) Acked(id.Subtask, id.Checkpoint, checkpoint.SubtaskState)     { h.acked.Add(1) }
func (h *benchHost) Declined(_ id.Subtask, _ id.Checkpoint, reason string)        { h.b.Error(reason) }
func (h *benchHost) InputEnded(id.Subtask)                                        {}
func (h *benchHost) Committed(id.Subtask, id.Checkpoint, []operator.CommitResult) {}
func (h *benchHost) Failed(s id.Subtask, by id.Operator, at task.Origin, why string) {
	h.b.Error(s, by, at, why)
}
func (h *benchHost) Stopped(id.Subtask) { h.stopped.Add(1) }

// cpuTime is what the process has used of the processors. On a shared machine it says more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTotals is generator -> keyBy -> running total -> counting sink in one process: 10,000 keys, a checkpoint each
// second. One operation is one record.
func BenchmarkTotals(b *testing.B) {
	for _, mode := range []struct {
		name string
		x    exchange.Options
	}{{"handover", exchange.Options{}}, {"frames", exchange.Options{Frames: true}}} {
		b.Run(mode.name, func(b *testing.B) { benchTotals(b, 2, mode.x) })
	}
}

// pauses measures how long a task is stopped at a barrier: from the last input's barrier to the frozen state.
type pauses struct {
	deaf
	begun [8]time.Time // by subtask of the keyed vertex
	most  atomic.Int64
}

// timed is an aligner that notes when a barrier is aligned.
type timed struct {
	task.Aligner
	begun *time.Time
}

func (a *timed) Step(input int, m stream.Mark) task.Alignment {
	out := a.Aligner.Step(input, m)
	*a.begun = time.Now()
	return out
}

func (p *pauses) Hook(e hook.Event) {
	if e.Point == hook.K2StateSnapshotted && e.Subtask.Vertex == 1 {
		d := int64(time.Since(p.begun[e.Subtask.Index]))
		for {
			most := p.most.Load()
			if d <= most || p.most.CompareAndSwap(most, d) {
				return
			}
		}
	}
}

func benchTotals(b *testing.B, parallelism int32, x exchange.Options) {
	b.ReportAllocs()
	p := liveProcess()
	pause := &pauses{}
	p.Observer = pause
	ex := exchange.New(p, p.NewLoop("main"), x)
	per := int64(b.N)/int64(parallelism) + 1
	g := flowtest.Generator{Partitions: parallelism, Records: per}
	var count atomic.Int64
	want := per * int64(parallelism)
	ended := make(chan struct{})
	c := flowtest.Counter{Count: func(n, _ int64) {
		if count.Add(n) == want {
			close(ended)
		}
	}}
	plan, err := totals(g, c, flow.Uint64).Plan(graph.Parallelism{Default: parallelism})
	if err != nil {
		b.Fatal(err)
	}
	var peers []task.Peer
	for _, s := range plan.Subtasks() {
		peers = append(peers, task.Peer{Subtask: s, Addr: p.Name})
	}
	h := &benchHost{b: b}
	var tasks []*task.Task
	b.ResetTimer()
	cpu := cpuTime()
	for _, s := range plan.Subtasks() {
		spec := task.Spec{Plan: plan, Job: "bench", Generation: 1, Subtask: s, Peers: peers}
		spec.Options.NewAligner = func(inputs int) task.Aligner {
			return &timed{task.NewAligner(inputs), &pause.begun[s.Index]}
		}
		if plan.IsSource(s.Vertex) {
			spec.Splits = graph.Assign(g.Splits(), parallelism)[s.Index]
		}
		tasks = append(tasks, task.Start(p, spec, ex, h))
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	n := id.Checkpoint(0)
	finish := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	trigger := func() {
		n++
		for k, s := range plan.Subtasks() {
			if plan.IsSource(s.Vertex) {
				tasks[k].Trigger(n, stream.Checkpoint)
			}
		}
	}
	for done := false; !done; {
		select {
		case <-ended:
			done = true
		case <-tick.C: // a counter publishes the rest of its records at a barrier
			if want-count.Load() < 1024*int64(parallelism) {
				trigger()
			}
		case <-every.C:
			trigger()
		case <-finish:
			b.Fatalf("%d of %d records", count.Load(), want)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(pause.most.Load())/1e3, "max-pause-us")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(want), "cpu-ns/rec")
	b.ReportMetric(float64(want)/b.Elapsed().Seconds()/1e6, "Mrec/s")
	for _, t := range tasks {
		t.Cancel()
	}
}
