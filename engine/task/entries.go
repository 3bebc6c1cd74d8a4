package task

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/trace"
)

// What a task tells the trace: once per life or checkpoint, never per record.
var (
	entryRunning  = trace.NewKind("task running", "vertex", "index", "generation", "")
	entryAligned  = trace.NewKind("task aligned", "vertex", "index", "checkpoint", "inputs")
	entrySnapshot = trace.NewKind("task snapshot", "vertex", "index", "checkpoint", "entries")
	entryAcked    = trace.NewKind("task acked", "vertex", "index", "checkpoint", "tokens")
	entryDeclined = trace.NewKind("task declined", "vertex", "index", "checkpoint", "")
	entryEnded    = trace.NewKind("task input ended", "vertex", "index", "", "")
	entryFailed   = trace.NewKind("task failed", "vertex", "index", "generation", "")
	entryStopped  = trace.NewKind("task stopped", "vertex", "index", "generation", "")
)

func (t *Task) entry(k trace.Kind, c, d uint64) {
	s := t.spec.Subtask
	t.p.Entry(k, uint64(s.Vertex), uint64(s.Index), c, d)
}

// decline tells the host that the task has no part of a checkpoint.
func (t *Task) decline(n id.Checkpoint, reason string) {
	t.entry(entryDeclined, uint64(n), 0)
	t.host.Declined(t.spec.Subtask, n, reason)
}
