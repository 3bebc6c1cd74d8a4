package taskmanager

import (
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/engine/wire"
)

// hosted is one task. It is the task's host, too: what the task says on its own loop is repeated on the TaskManager's.
type hosted struct {
	t          *TaskManager
	generation id.Generation
	subtask    id.Subtask
	task       Hosted
	cancelled  bool
}

// deploy starts the tasks of a generation once, after the last task of an older one has ended.
func (t *TaskManager) deploy(m *wire.Deploy) {
	if m.Generation == t.ofTask {
		return
	}
	t.next = m
	t.ended()
}

func (t *TaskManager) cancelling() bool {
	return slices.ContainsFunc(t.tasks, func(h *hosted) bool { return h.cancelled })
}

// cancel ends all tasks. They have CancelTimeout to react.
func (t *TaskManager) cancel() {
	for _, h := range t.tasks {
		if h.cancelled {
			continue
		}
		h.cancelled = true
		h.task.Cancel()
		t.loop.After(t.cfg.CancelTimeout, func() { t.watch(h) })
	}
}

// watch fails the process when a task has not reacted: its user function blocks, and nothing else ends it.
func (t *TaskManager) watch(h *hosted) {
	if !slices.Contains(t.tasks, h) {
		return
	}
	var by id.Operator
	if t.plan != nil {
		by = t.plan.Job.Operators[t.plan.Vertices[h.subtask.Vertex].Operators[0]].UID
	}
	t.cfg.Fatal(by, fmt.Errorf("task %v (%s) did not react to a cancel within %v", h.subtask, by, t.cfg.CancelTimeout))
}

// ended goes on when no task is left: it says so, and starts what waits.
func (t *TaskManager) ended() {
	if len(t.tasks) > 0 {
		return
	}
	if t.next == nil {
		if t.owner != nil {
			t.owner.send(&wire.Cancelled{Generation: t.ofTask})
		}
		return
	}
	m := t.next
	t.next = nil
	t.ofTask = m.Generation
	if reason := t.unfit(m); reason != "" {
		for _, a := range m.Subtasks {
			t.owner.send(&wire.Failed{Generation: m.Generation, Subtask: a.Subtask, Reason: reason})
		}
		return
	}
	for _, a := range m.Subtasks {
		t.start(m, a)
	}
}

// unfit says why a deployment cannot be hosted here.
func (t *TaskManager) unfit(m *wire.Deploy) string {
	switch {
	case t.planErr != nil:
		return fmt.Sprintf("TaskManager %s cannot plan the job: %v", t.p.Name, t.planErr)
	case m.Graph != t.cfg.Job.Fingerprint():
		return fmt.Sprintf("TaskManager %s has another job graph", t.p.Name)
	case !slices.Equal(m.Parallelism, t.plan.Parallelism()):
		return fmt.Sprintf("TaskManager %s plans parallelism %v, the JobManager %v", t.p.Name, t.plan.Parallelism(), m.Parallelism)
	case int(t.plan.Slots()) > len(m.Places):
		return fmt.Sprintf("%d places for %d slots", len(m.Places), t.plan.Slots())
	}
	for _, a := range m.Subtasks {
		if int(a.Subtask.Vertex) >= len(t.plan.Vertices) || a.Subtask.Vertex < 0 {
			return fmt.Sprintf("there is no subtask %v", a.Subtask)
		}
	}
	return ""
}

func (t *TaskManager) start(m *wire.Deploy, a wire.Assignment) {
	spec := task.Spec{Plan: t.plan, Job: m.Job, Generation: m.Generation, Subtask: a.Subtask, Splits: a.Splits, Options: t.cfg.Task}
	for _, s := range t.plan.Subtasks() {
		spec.Peers = append(spec.Peers, task.Peer{Subtask: s, Addr: m.Places[t.plan.Slot(s)]})
	}
	spec.Restored = restored(t.operators(a.Subtask.Vertex), m.States)
	h := &hosted{t: t, generation: m.Generation, subtask: a.Subtask}
	t.tasks = append(t.tasks, h)
	h.task = t.cfg.Start(t.p, spec, t.ex, h)
}

func (t *TaskManager) operators(v id.Vertex) []id.Operator {
	var uids []id.Operator
	for _, op := range t.plan.Vertices[v].Operators {
		uids = append(uids, t.plan.Job.Operators[op].UID)
	}
	return uids
}

// restored is the states of these operators. Chains may have been cut otherwise when the checkpoint was taken, so states
// are matched by uid.
func restored(uids []id.Operator, states []checkpoint.SubtaskState) []checkpoint.SubtaskState {
	var out []checkpoint.SubtaskState
	for _, s := range states {
		mine := s
		mine.Operators = nil
		for _, o := range s.Operators {
			if slices.Contains(uids, o.Operator) {
				mine.Operators = append(mine.Operators, o)
			}
		}
		if len(mine.Operators) > 0 {
			out = append(out, mine)
		}
	}
	return out
}

func (t *TaskManager) trigger(m *wire.Trigger) {
	for _, h := range t.hosts(m.Generation) {
		if t.plan.IsSource(h.subtask.Vertex) {
			h.task.Trigger(m.Checkpoint, barrier(m.Kind))
		}
	}
}

func barrier(k checkpoint.Kind) stream.BarrierKind {
	switch k {
	case checkpoint.Final:
		return stream.Final
	case checkpoint.Savepoint, checkpoint.Stop:
		return stream.Savepoint
	}
	return stream.Checkpoint
}

func (t *TaskManager) notice(m *wire.Notice) {
	for _, h := range t.hosts(m.Generation) {
		h.task.Completed(m.Checkpoint)
		if mine := h.own(m.Tokens); len(mine) > 0 {
			h.task.Commit(m.Checkpoint, mine)
		}
	}
}

// own is the tokens of this subtask's sinks, oldest first as they came.
func (h *hosted) own(tokens []token.Token) []token.Token {
	var mine []token.Token
	for _, k := range tokens {
		if v, ok := h.t.plan.Home(k.Sink); ok && v == h.subtask.Vertex && k.Subtask == h.subtask.Index {
			mine = append(mine, k)
		}
	}
	return mine
}

func (t *TaskManager) freed(m *wire.Freed) {
	for _, h := range t.hosts(m.Generation) {
		h.task.Freed(m.Checkpoint)
	}
}

// hosts is the tasks of a generation, unless they are being cancelled.
func (t *TaskManager) hosts(g id.Generation) []*hosted {
	if g != t.ofTask || t.cancelling() {
		return nil
	}
	return t.tasks
}

// gone forgets a task that has ended.
func (h *hosted) gone() {
	i := slices.Index(h.t.tasks, h)
	if i < 0 {
		return
	}
	h.t.tasks = slices.Delete(h.t.tasks, i, i+1)
	h.t.ended()
}

// relay tells the JobManager of the followed generation, which alone is told.
func (h *hosted) relay(m wire.Message) {
	h.t.loop.Post(func() {
		if h.generation == h.t.followed && h.t.owner != nil {
			h.t.owner.send(m)
		}
	})
}

// Running implements task.Host.
func (h *hosted) Running(s id.Subtask) {
	h.relay(&wire.Running{Generation: h.generation, Subtask: s})
}

// Acked implements task.Host.
func (h *hosted) Acked(s id.Subtask, n id.Checkpoint, state checkpoint.SubtaskState) {
	h.relay(&wire.Ack{Generation: h.generation, Subtask: s, Checkpoint: n, State: state})
}

// Declined implements task.Host.
func (h *hosted) Declined(s id.Subtask, n id.Checkpoint, reason string) {
	h.relay(&wire.Decline{Generation: h.generation, Subtask: s, Checkpoint: n, Reason: reason})
}

// InputEnded implements task.Host.
func (h *hosted) InputEnded(s id.Subtask) {
	h.relay(&wire.InputEnded{Generation: h.generation, Subtask: s})
}

// Committed implements task.Host.
func (h *hosted) Committed(s id.Subtask, n id.Checkpoint, results []operator.CommitResult) {
	h.relay(&wire.Committed{Generation: h.generation, Subtask: s, Checkpoint: n, Results: results})
}

// Failed implements task.Host.
func (h *hosted) Failed(s id.Subtask, by id.Operator, at task.Origin, reason string) {
	h.relay(&wire.Failed{
		Generation: h.generation, Subtask: s, Operator: by,
		Origin: wire.Origin{Source: at.Source, Partition: at.Partition, Offset: at.Offset}, Reason: reason,
	})
	h.t.loop.Post(h.gone)
}

// Stopped implements task.Host.
func (h *hosted) Stopped(id.Subtask) { h.t.loop.Post(h.gone) }
