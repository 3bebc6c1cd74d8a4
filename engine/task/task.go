// Package task runs one subtask of a job on a loop of its own: it reads a source or its input channels, runs the chain of
// operators, writes to sinks and output channels, and takes part in checkpoints.
//
// Barriers travel in band. A task with several inputs aligns them: an input that has delivered barrier n is not read until
// all have. Then the barrier is forwarded, positions and state are frozen, sinks flush, the frozen state is uploaded off
// the loop, and the checkpoint is acked. A failure of user code, of a sink or of a data connection stops the task and is
// reported; it never crosses into the process.
package task

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/token"
)

// Task is one running subtask. Its methods may be called from any loop of the process.
type Task struct {
	loop env.Loop
	spec Spec
	host Host
}

// Start starts a task on a new loop.
func Start(p *proc.Process, spec Spec, ex *exchange.Exchange, host Host) *Task {
	t := &Task{loop: p.NewLoop("task " + spec.Subtask.String()), spec: spec, host: host}
	return t
}

// Trigger injects barrier n. It is for tasks that read a source.
func (t *Task) Trigger(n id.Checkpoint, kind BarrierKind) {}

// Commit hands the tokens of completed checkpoint n to their sinks.
func (t *Task) Commit(n id.Checkpoint, tokens []token.Token) {}

// Freed tells the sinks that checkpoint n is confirmed.
func (t *Task) Freed(n id.Checkpoint) {}

// Completed tells the source that checkpoint n is durable.
func (t *Task) Completed(n id.Checkpoint) {}

// Cancel stops the task: no record is processed any more, prepared transactions are left alone. Host.Stopped follows.
func (t *Task) Cancel() {}
