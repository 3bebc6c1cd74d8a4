// Package task runs one subtask of a job on a loop of its own: it reads a source or its input channels, runs the chain of
// operators, writes to sinks and output channels, and takes part in checkpoints.
//
// Barriers travel in band. A task with several inputs aligns them: an input that has delivered barrier n is not read until
// all have. Then sinks are told, the barrier is forwarded, the state is frozen and uploaded off the loop, and when uploads
// and sinks are done the checkpoint is acked. A failure of user code, of a sink or of a data connection stops the task and
// is reported; it never crosses into the process. What only a bug can do still panics.
package task

import (
	"fmt"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/token"
)

// phase is where a task is in its life.
type phase uint8

const (
	starting phase = iota
	running
	failed
	stopped
)

// Task is one running subtask. Its methods may be called from any loop of the process; all else happens on its own.
type Task struct {
	p     *proc.Process
	loop  env.Loop
	spec  Spec
	host  Host
	ex    *exchange.Exchange
	store blob.Store
	work  env.Workers
	pool  *stream.Pool

	phase     phase
	scheduled bool   // a turn is posted
	turning   func() // turn
	flushing  bool   // the flush timer runs
	shipped   bool   // a batch left since room was last looked at
	released  bool   // ends are closed

	chain   *graph.Chain
	group   graph.Group
	gate    *gate   // nil at a source
	source  *source // nil elsewhere
	outputs []*output
	sinks   []*sink

	barriers []stream.Mark // arrived, waiting for a sink that has no room
	newest   id.Checkpoint // newest barrier that was taken
}

// Start starts a task on a new loop. Mistakes in the spec are reported through the host, as any failure.
func Start(p *proc.Process, spec Spec, ex *exchange.Exchange, host Host) *Task {
	spec.Options.fill()
	loop := p.NewLoop(fmt.Sprintf("task g%d %v", spec.Generation, spec.Subtask))
	t := &Task{
		p: p, loop: loop, spec: spec, host: host, ex: ex, store: p.Blob(loop), work: p.Workers(loop),
		pool: &stream.Pool{Poison: spec.Options.Check},
	}
	t.turning = t.turn
	loop.Post(t.start)
	return t
}

// Trigger injects barrier n. It is for tasks that read a source; others get theirs in band.
func (t *Task) Trigger(n id.Checkpoint, kind BarrierKind) {
	t.loop.Post(func() { t.trigger(stream.Mark{Checkpoint: n, Kind: kind}) })
}

// Commit hands the tokens of completed checkpoint n to their sinks.
func (t *Task) Commit(n id.Checkpoint, tokens []token.Token) {
	t.loop.Post(func() { t.commit(n, tokens) })
}

// Freed tells the sinks that checkpoint n is confirmed.
func (t *Task) Freed(n id.Checkpoint) {
	t.loop.Post(func() {
		if t.phase == running {
			for _, s := range t.sinks {
				s.sink.Freed(n)
			}
		}
	})
}

// Completed tells the source that checkpoint n is durable.
func (t *Task) Completed(n id.Checkpoint) {
	t.loop.Post(func() {
		if t.phase == running && t.source != nil {
			t.source.src.Completed(n)
		}
	})
}

// Cancel stops the task: no record is processed any more, prepared transactions are left alone. Host.Stopped follows,
// unless the task has been cancelled or has failed before.
func (t *Task) Cancel() {
	t.loop.Post(func() {
		if t.phase == stopped {
			return
		}
		t.release(t.phase != failed)
		t.phase = stopped
		t.entry(entryStopped, uint64(t.spec.Generation), 0)
		t.host.Stopped(t.spec.Subtask)
		t.loop.Close()
	})
}

// start makes the chain and its ends; opening continues in restore.go.
func (t *Task) start() {
	defer t.recoverUser()
	plan, v := t.spec.Plan, int(t.spec.Subtask.Vertex)
	t.chain = &graph.Chain{
		Head: stream.Head{Origin: stream.Origin{Source: noSource}}, At: graph.Engine, Context: t.context(""), KeyGroups: plan.Job.KeyGroups, Name: plan.Job.Name,
		State: make([]state.Backend, len(plan.Job.Operators)),
	}
	if err := t.connect(); err != nil {
		t.fail("", Origin{}, err.Error())
		return
	}
	group, err := plan.Compose(v, t.chain, graph.Outlets{Edge: t.outputOf, Sink: t.newSink})
	if err != nil {
		t.fail("", Origin{}, err.Error())
		return
	}
	t.group = group
	t.restore()
}

func (t *Task) context(op id.Operator) operator.Context {
	return operator.Context{
		Process: t.p, Loop: t.loop, Job: t.spec.Job, Operator: op, Generation: t.spec.Generation, Subtask: t.spec.Subtask,
		Parallelism: t.spec.Plan.Vertices[t.spec.Subtask.Vertex].Parallelism, Guarantee: t.spec.Plan.Job.Guarantee,
		Fail: func(err error) { t.fail(op, Origin{}, err.Error()) },
		Wake: t.schedule,
	}
}

// connect makes the ends of all channels of the subtask.
func (t *Task) connect() error {
	plan, self := t.spec.Plan, t.spec.Subtask
	broken := func(err error) { t.fail("", Origin{}, err.Error()) }
	end := func(c graph.Channel) exchange.End {
		return exchange.End{Loop: t.loop, Pool: t.pool, Generation: t.spec.Generation, Channel: c, Changed: t.schedule, Broken: broken}
	}
	for _, e := range plan.Leaving(int(self.Vertex)) {
		t.outputs = append(t.outputs, newOutput(t, e))
	}
	for _, c := range plan.Outputs(self) {
		to, err := t.spec.peer(c.To)
		if err != nil {
			return err
		}
		t.outputOf(int(c.Edge)).(*output).add(t.ex.Output(to, end(c)))
	}
	if plan.IsSource(self.Vertex) {
		return nil
	}
	t.gate = newGate(t)
	for _, c := range plan.Inputs(self) {
		t.gate.add(int(c.Edge), t.ex.Input(end(c)))
	}
	return nil
}

func (t *Task) outputOf(edge int) graph.Writer {
	for _, o := range t.outputs {
		if o.edge == edge {
			return o
		}
	}
	panic(invariant.Violation{Text: fmt.Sprintf("%v has no output for edge %d", t.spec.Subtask, edge)})
}

// groups is the range of key groups that the subtask owns.
func (t *Task) groups() keygroup.Range {
	return keygroup.RangeOf(t.spec.Subtask.Index, t.chain.Context.Parallelism, t.chain.KeyGroups)
}

func (t *Task) hook(p hook.Point, n id.Checkpoint) {
	t.p.Hook(hook.Event{Point: p, Generation: t.spec.Generation, Checkpoint: n, Subtask: t.spec.Subtask})
}

func (t *Task) uid(op int) id.Operator { return t.spec.Plan.Job.Operators[op].UID }
