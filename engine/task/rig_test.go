package task_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simblob"
)

// rig runs a job in a simulated world with a coordinator that lives outside of it: it deploys, triggers, completes,
// commits, and restores from the newest completed checkpoint after a failure. It is what the control plane does, without
// its protocols.
type rig struct {
	t        *testing.T
	w        *sim.World
	job      *graph.Job
	splits   []operator.Split
	out      *ledger
	options  task.Options
	interval time.Duration

	nodes     []*sim.Node
	procs     []*proc.Process // of each node, nil while it is down
	exchanges []*exchange.Exchange

	par       graph.Parallelism
	plan      *graph.Plan
	gen       id.Generation
	tasks     []*task.Task
	where     []int // node of each task
	up        int
	ended     int
	next      id.Checkpoint
	acks      []checkpoint.SubtaskState
	pending   id.Checkpoint
	final     bool
	done      bool
	completed []checkpoint.SubtaskState // newest completed
	freed     id.Checkpoint
	failures  []string
	declined  []string
	rescale   func(gen id.Generation) graph.Parallelism
	restarts  int
	stopped   int
	count     int // checkpoints completed
}

func newRig(t *testing.T, seed uint64, nodes int, x exchange.Options) *rig {
	r := &rig{t: t, w: sim.New(sim.Options{Seed: seed, Checks: true}), interval: 20 * time.Millisecond, out: &ledger{}}
	simblob.New(r.w)
	r.procs = make([]*proc.Process, nodes)
	r.exchanges = make([]*exchange.Exchange, nodes)
	for i := range nodes {
		n := r.w.NewNode(fmt.Sprintf("tm%d", i), func(p *proc.Process) {
			r.procs[i] = p
			r.exchanges[i] = exchange.New(p, p.NewLoop("main"), x)
		})
		r.nodes = append(r.nodes, n)
		n.Start()
	}
	return r
}

// soon runs fn on the coordinator, after the time of a message.
func (r *rig) soon(fn func()) {
	r.w.At(r.w.Now().Add(500*time.Microsecond), fn)
}

func (r *rig) deploy() {
	r.gen++
	if r.rescale != nil {
		r.par = r.rescale(r.gen)
	}
	plan, err := r.job.Plan(r.par)
	if err != nil {
		r.t.Fatal(err)
	}
	r.plan, r.tasks, r.where, r.up, r.ended, r.acks, r.pending, r.final = plan, nil, nil, 0, 0, nil, 0, false
	// What completed is committed, all else is aborted, before anything starts.
	for _, s := range r.completed {
		r.out.commit(s.Tokens)
	}
	r.out.prepared = nil
	var alive []int
	for i, n := range r.nodes {
		if n.Up() && r.procs[i] != nil {
			alive = append(alive, i)
		}
	}
	if len(alive) == 0 {
		r.w.At(r.w.Now().Add(10*time.Millisecond), r.deploy)
		return
	}
	var peers []task.Peer
	for _, s := range plan.Subtasks() {
		at := alive[int(plan.Slot(s)+int32(s.Vertex))%len(alive)]
		r.where = append(r.where, at)
		peers = append(peers, task.Peer{Subtask: s, Addr: env.Addr(r.nodes[at].Name())})
	}
	positions := r.positions()
	for k, s := range plan.Subtasks() {
		spec := task.Spec{Plan: plan, Job: "job", Generation: r.gen, Subtask: s, Peers: peers, Restored: r.completed, Options: r.options}
		if plan.IsSource(s.Vertex) {
			src := plan.Job.Operators[plan.Vertices[s.Vertex].Operators[0]].UID
			spec.Splits = graph.Assign(positions(src), plan.Vertices[s.Vertex].Parallelism)[s.Index]
		}
		at := r.where[k]
		r.tasks = append(r.tasks, task.Start(r.procs[at], spec, r.exchanges[at], &host{r, r.gen}))
	}
}

// positions are the splits of a source as of the newest completed checkpoint.
func (r *rig) positions() func(id.Operator) []operator.Split {
	return func(src id.Operator) []operator.Split {
		all := slices.Clone(r.splits)
		for _, s := range r.completed {
			for _, o := range s.Operators {
				for _, p := range o.Positions {
					for i := range all {
						if o.Operator == src && all[i].Partition == p.Partition {
							all[i].Position = p.Position
						}
					}
				}
			}
		}
		return all
	}
}

func (r *rig) trigger(gen id.Generation) {
	if gen != r.gen || r.done || r.pending != 0 {
		return
	}
	r.next++
	r.pending, r.acks = r.next, nil
	kind := stream.Checkpoint
	if r.ended == len(r.plan.SourceSubtasks()) {
		kind, r.final = stream.Final, true
	}
	for k, s := range r.plan.Subtasks() {
		if r.plan.IsSource(s.Vertex) {
			r.tasks[k].Trigger(r.next, kind)
		}
	}
	n := r.pending
	r.w.At(r.w.Now().Add(300*time.Millisecond), func() { r.expire(gen, n) })
}

func (r *rig) expire(gen id.Generation, n id.Checkpoint) {
	if gen == r.gen && r.pending == n && !r.done {
		r.pending = 0
		r.trigger(gen)
	}
}

func (r *rig) acked(n id.Checkpoint, s checkpoint.SubtaskState) {
	if n != r.pending {
		return
	}
	r.acks = append(r.acks, s)
	if len(r.acks) < len(r.tasks) {
		return
	}
	gen := r.gen
	r.count++
	r.pending, r.completed = 0, r.acks
	missing := 0
	for _, s := range r.completed {
		if len(s.Tokens) > 0 {
			missing++
		}
	}
	if missing == 0 {
		r.confirmed(gen, n)
	}
	for k, s := range r.plan.Subtasks() {
		for _, c := range r.completed {
			if c.Vertex == s.Vertex && c.Index == s.Index {
				r.tasks[k].Completed(n)
				if len(c.Tokens) > 0 {
					r.tasks[k].Commit(n, c.Tokens)
				}
			}
		}
	}
}

func (r *rig) committed(n id.Checkpoint) {
	missing := 0
	for _, s := range r.completed {
		for _, k := range s.Tokens {
			if !r.out.decided(k) {
				missing++
			}
		}
	}
	if missing == 0 {
		r.confirmed(r.gen, n)
	}
}

func (l *ledger) decided(t token.Token) bool {
	for _, p := range l.prepared {
		if p.sink == t.Sink && p.n == t.Checkpoint && p.gen == t.Generation && p.subtask == t.Subtask {
			return p.decided
		}
	}
	return true
}

func (r *rig) confirmed(gen id.Generation, n id.Checkpoint) {
	if n <= r.freed {
		return
	}
	r.freed = n
	if r.final {
		r.done = true
		for _, t := range r.tasks {
			t.Cancel()
		}
		return
	}
	for _, t := range r.tasks {
		t.Freed(n)
	}
	r.w.At(r.w.Now().Add(r.interval), func() { r.trigger(gen) })
}

// restart cancels what is left of a generation and deploys the next.
func (r *rig) restart(reason string) {
	if r.done {
		return
	}
	r.restarts++
	r.failures = append(r.failures, reason)
	for k, t := range r.tasks {
		if r.procs[r.where[k]] != nil {
			t.Cancel()
		}
	}
	r.gen++ // news of the old one is old
	r.w.At(r.w.Now().Add(20*time.Millisecond), r.deploy)
}

// crash kills a node for a while. The coordinator hears of it later.
func (r *rig) crash(i int, down time.Duration) {
	if r.done || !r.nodes[i].Up() {
		return
	}
	r.nodes[i].Crash()
	r.procs[i] = nil
	r.w.At(r.w.Now().Add(down), r.nodes[i].Start)
	gen := r.gen
	r.w.At(r.w.Now().Add(30*time.Millisecond), func() {
		if gen == r.gen {
			r.restart(fmt.Sprintf("node %d crashed", i))
		}
	})
}

// run serves the world until the bounded job has ended.
func (r *rig) run(limit time.Duration) {
	r.t.Helper()
	r.w.At(env.Instant(time.Millisecond), r.deploy)
	ok := r.w.RunUntil(func() bool { return r.done }, env.Instant(limit))
	if f := r.w.Failure(); f != nil {
		r.t.Fatalf("seed %d: %v\n%s", r.w.Seed(), f, f.Stack)
	}
	if !ok {
		r.t.Fatalf("seed %d: the job has not ended after %s: generation %d, %d of %d running, checkpoint %d has %d acks, %d inputs ended, failures %q declined %q",
			r.w.Seed(), limit, r.gen, r.up, len(r.tasks), r.pending, len(r.acks), r.ended, r.failures, r.declined)
	}
}

// host is the TaskManager that tasks of one generation report to.
type host struct {
	r   *rig
	gen id.Generation
}

func (h *host) news(fn func()) {
	h.r.soon(func() {
		if h.gen == h.r.gen {
			fn()
		}
	})
}

func (h *host) Running(id.Subtask) {
	h.news(func() {
		if h.r.up++; h.r.up == len(h.r.tasks) {
			h.r.trigger(h.gen)
		}
	})
}

func (h *host) Acked(_ id.Subtask, n id.Checkpoint, s checkpoint.SubtaskState) {
	h.news(func() { h.r.acked(n, s) })
}

func (h *host) Declined(s id.Subtask, n id.Checkpoint, reason string) {
	h.news(func() {
		h.r.declined = append(h.r.declined, fmt.Sprintf("%v %d: %s", s, n, reason))
		if n == h.r.pending {
			h.r.pending = 0
			h.r.trigger(h.gen)
		}
	})
}

func (h *host) InputEnded(id.Subtask) { h.news(func() { h.r.ended++ }) }

func (h *host) Committed(_ id.Subtask, n id.Checkpoint, _ []operator.CommitResult) {
	h.news(func() { h.r.committed(n) })
}

func (h *host) Failed(s id.Subtask, by id.Operator, at task.Origin, reason string) {
	h.news(func() { h.r.restart(fmt.Sprintf("%v %s at %v: %s", s, by, at, reason)) })
}

func (h *host) Stopped(id.Subtask) { h.r.stopped++ }
