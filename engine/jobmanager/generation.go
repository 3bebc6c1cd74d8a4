package jobmanager

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/wire"
)

// generation is one incarnation of the job, from its claim to its end. It has a loop of its own, which ends with it.
type generation struct {
	j     *JobManager // only for Post: its fields belong to another loop
	p     *proc.Process
	cfg   Config
	loop  env.Loop
	plan  *graph.Plan
	store blob.Store
	log   *joblog.Log

	owned   id.Generation // newest that this process owns; 0: none
	seen    id.Generation // newest that this process knows to be claimed
	rewound bool          // the restore that the user wants is done
	born    id.Position   // tail of the log when this process began
	asks    []bool        // savepoints asked for before the coordinator exists; true: and stop

	number    id.Generation
	state     joblog.State // after the newest append
	committer operator.Committer
	wanted    Sealed              // what the user wants restored; zero: nothing
	restored  checkpoint.Manifest // zero when the job begins from nothing
	coord     *checkpoint.Coordinator
	running   []id.Subtask
	subtasks  []id.Subtask
	alarm     env.Timer
	done      bool // failed or finished: nothing more is reported
	halting   bool // the log is being asked whether a newer generation explains what went wrong

	flights   []flight        // checkpoints between trigger and confirmation, oldest first
	releasing []id.Checkpoint // to be released, oldest first
	busy      bool            // a release is under way
}

// newGeneration begins a generation. It is called on the JobManager's loop, and everything else happens on the new one.
func newGeneration(j *JobManager, number uint32) *generation {
	loop := j.p.NewLoop(fmt.Sprintf("jobmanager generation %d", number))
	r := &generation{j: j, p: j.p, cfg: j.cfg, loop: loop, plan: j.plan, store: j.p.Blob(loop), owned: j.owned, seen: j.seen, born: j.born, rewound: j.rewound}
	r.log = joblog.New(j.p, loop, joblog.Options{Rules: j.cfg.Rules.Log, Keep: j.cfg.LogKeep, Salt: number})
	r.subtasks = r.plan.Subtasks()
	for _, a := range j.asks {
		r.asks = append(r.asks, a.stop)
	}
	loop.Post(r.begin)
	return r
}

// close ends the loop once what is queued on it is done.
func (r *generation) close() {
	r.loop.Post(func() {
		r.done = true
		if r.committer != nil {
			r.committer.Close()
		}
		r.loop.Close()
	})
}

// tell runs fn on the JobManager's loop.
func (r *generation) tell(fn func(j *JobManager)) { r.j.loop.Post(func() { fn(r.j) }) }

// event reports something on the JobManager's loop.
func (r *generation) event(e Event) {
	e.Generation, e.Job = r.number, r.state.Job
	r.tell(func(j *JobManager) { j.emit(e) })
}

// fail ends the generation; the next one follows.
func (r *generation) fail(reason string) {
	if r.done {
		return
	}
	r.done = true
	r.tell(func(j *JobManager) { j.failed(r, reason) })
}

// halt ends the job here: no restart mends this. What a generation that was displaced finds wrong says nothing about the job,
// so the log is asked first:
//
//  1. Generation 17 claims and sleeps. Generation 21 claims, goes on, and releases checkpoint 6.
//  2. Generation 17 wakes up and restores checkpoint 6: its manifest is gone.
//  3. That is no damage. A newer generation is in the log, and this one was superseded.
func (r *generation) halt(err error) {
	if r.done || r.halting {
		return
	}
	if r.number == 0 {
		r.finish(Event{Kind: Stopped, Err: err})
		return
	}
	r.halting = true
	r.log.Read(func(tail *joblog.Entry, readErr error) {
		if readErr == nil && tail != nil && tail.State.Generation > r.number {
			r.broken(fmt.Errorf("%w: generation %d, found after %w", joblog.ErrSuperseded, tail.State.Generation, err))
			return
		}
		r.finish(Event{Kind: Stopped, Err: err})
	})
}

func (r *generation) finish(e Event) {
	if r.done {
		return
	}
	r.done = true
	e.Generation, e.Job = r.number, r.state.Job
	r.tell(func(j *JobManager) { j.finished(r, e) })
}

// broken ends the generation because of an error of the job log.
func (r *generation) broken(err error) {
	if !errors.Is(err, joblog.ErrSuperseded) {
		r.finish(Event{Kind: Stopped, Err: err}) // the log itself cannot be asked
		return
	}
	if r.done {
		return
	}
	r.done = true
	r.tell(func(j *JobManager) { j.superseded(r, err) })
}

func (r *generation) hook(p hook.Point, n id.Checkpoint) {
	r.p.Hook(hook.Event{Point: p, Generation: r.number, Checkpoint: n, Subtask: id.Subtask{Vertex: -1}})
}

// Append implements joblog.Appender: it notes the state, so that the generation always knows the newest one.
func (r *generation) Append(e joblog.Entry, done func(joblog.State, error)) {
	r.log.Append(e, func(s joblog.State, err error) {
		if err == nil {
			r.state = s
		}
		done(s, err)
	})
}

// append is Append for whoever stops at an error.
func (r *generation) append(e joblog.Entry, then func()) {
	r.Append(e, func(_ joblog.State, err error) {
		if err != nil {
			r.broken(err)
			return
		}
		then()
	})
}

// decide has the committer decide every token of what is completed.
func (r *generation) decide() {
	r.committer = &plain{r: r}
	if r.cfg.NewCommitter != nil {
		r.committer = r.cfg.NewCommitter(CommitterContext{
			Process: r.p, Loop: r.loop, Job: r.state.Job, Generation: r.number,
			Plan: r.plan, AcceptLoss: r.cfg.AcceptLoss,
		})
	}
	in := operator.RestoreInput{Generation: r.number, State: r.state, AcceptLoss: r.cfg.AcceptLoss}
	r.committer.Restore(in, r, r.decided)
}

func (r *generation) decided(o operator.RestoreOutcome) {
	if o.Lost != nil {
		r.event(Event{Kind: LossReported, Checkpoint: o.Lost.Checkpoint, Loss: o.Lost, Err: o.Err})
	}
	switch {
	case errors.Is(o.Err, joblog.ErrSuperseded):
		r.broken(o.Err)
	case o.Stop:
		if o.Err == nil {
			o.Err = fmt.Errorf("the restore says stop")
		}
		r.halt(o.Err)
	case o.Err != nil:
		r.fail("restore: " + o.Err.Error())
	default:
		r.choose(o.From)
	}
}

// heard takes what a task says.
func (r *generation) heard(g id.Generation, m wire.Message) {
	if g != r.number || r.coord == nil {
		return
	}
	switch m := m.(type) {
	case *wire.Running:
		if m.Generation == g {
			r.runs(m.Subtask)
		}
	case *wire.Ack:
		if m.Generation == g {
			r.step(checkpoint.Acked{Subtask: m.Subtask, Checkpoint: m.Checkpoint, State: m.State})
		}
	case *wire.Decline:
		if m.Generation == g {
			r.step(checkpoint.Declined{Subtask: m.Subtask, Checkpoint: m.Checkpoint, Reason: m.Reason})
		}
	case *wire.InputEnded:
		if m.Generation == g {
			r.step(checkpoint.InputEnded{Subtask: m.Subtask})
		}
	case *wire.Committed:
		if m.Generation == g {
			r.step(checkpoint.CommitsReported{Subtask: m.Subtask, Results: m.Results})
		}
	case *wire.Failed:
		if m.Generation == g {
			r.fail(failure(m))
		}
	case *wire.Cancelled:
		if m.Generation == g {
			r.fail("a TaskManager stopped its tasks by itself: it heard no JobManager")
		}
	}
}

func failure(m *wire.Failed) string {
	s := fmt.Sprintf("task %v failed", m.Subtask)
	if m.Operator != "" {
		s += fmt.Sprintf(" in operator %s", m.Operator)
	}
	if m.Origin.Source != "" {
		s += fmt.Sprintf(" at the record of %s partition %d offset %d", m.Origin.Source, m.Origin.Partition, m.Origin.Offset)
	}
	return s + ": " + m.Reason
}
