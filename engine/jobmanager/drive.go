package jobmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/wire"
)

// flight is what events tell about one checkpoint.
type flight struct {
	number    id.Checkpoint
	triggered env.Instant
	bytes     int64
	tokens    int
	positions []checkpoint.Position
}

func (r *generation) flight(n id.Checkpoint) *flight {
	for i := range r.flights {
		if r.flights[i].number == n {
			return &r.flights[i]
		}
	}
	return &flight{number: n, triggered: r.p.Now()}
}

// runs counts the subtasks that run.
func (r *generation) runs(s id.Subtask) {
	if !slices.Contains(r.subtasks, s) || slices.Contains(r.running, s) {
		return
	}
	r.running = append(r.running, s)
	if len(r.running) == len(r.subtasks) {
		r.event(Event{Kind: Running})
		r.step(checkpoint.Started{})
	}
}

func (r *generation) savepoint(stop bool) {
	if r.coord == nil {
		r.asks = append(r.asks, stop)
		return
	}
	r.step(checkpoint.SavepointAsked{Stop: stop})
}

// step hands a fact to the coordinator and executes its effects one by one.
func (r *generation) step(f checkpoint.Fact) {
	if r.done {
		return
	}
	var before checkpoint.Snapshot
	if r.cfg.Check {
		before = r.coord.Snapshot()
	}
	effects := slices.Clone(r.coord.Step(r.p.Now(), f))
	if r.cfg.Check {
		r.coord.Check()
		r.coord.CheckDelta(before)
	}
	for _, e := range effects {
		r.execute(e)
	}
}

func (r *generation) execute(e checkpoint.Effect) {
	switch e := e.(type) {
	case checkpoint.Alarm:
		r.setAlarm(e.At)
	case checkpoint.Trigger:
		r.flights = append(r.flights, flight{number: e.Checkpoint, triggered: r.p.Now()})
		m := &wire.Trigger{Generation: r.number, Checkpoint: e.Checkpoint, Kind: e.Kind}
		r.tell(func(j *JobManager) { j.broadcast(r, m) })
	case checkpoint.Persist:
		r.hook(hook.K6AllAcked, e.Manifest.Checkpoint)
		r.persist(e.Manifest)
	case checkpoint.AppendCompleted:
		r.complete(e)
	case checkpoint.Notify:
		r.tell(func(j *JobManager) {
			j.notify(r, e.Checkpoint, e.Tokens)
			r.hook(hook.K8NoticeSent, e.Checkpoint)
		})
	case checkpoint.Confirm:
		r.confirm(e)
	case checkpoint.AppendConfirmed:
		r.append(joblog.Entry{Kind: joblog.Confirmed, Checkpoint: e.Checkpoint}, func() {
			r.hook(hook.K14Confirmed, e.Checkpoint)
			r.confirmed(e.Checkpoint)
		})
	case checkpoint.Freed:
		m := &wire.Freed{Generation: r.number, Checkpoint: e.Checkpoint}
		r.tell(func(j *JobManager) { j.broadcast(r, m) })
	case checkpoint.AppendSavepoint:
		r.append(joblog.Entry{Kind: joblog.Savepoint, Checkpoint: e.Checkpoint}, func() {
			r.step(checkpoint.SavepointAppended(e))
		})
	case checkpoint.Seal:
		r.seal(e.Ref)
	case checkpoint.Release:
		r.releasing = append(r.releasing, e.Checkpoint)
		r.release()
	case checkpoint.Dropped:
		r.drop(e.Checkpoint)
		r.event(Event{Kind: CheckpointFailed, Checkpoint: e.Checkpoint, Reason: e.Reason})
	case checkpoint.Restart:
		r.fail(e.Reason)
	case checkpoint.Halt:
		r.halt(errors.New(e.Reason))
	case checkpoint.Finish:
		r.conclude(e.Checkpoint, e.Ended)
	default:
		panic(fmt.Sprintf("unknown effect %T", e))
	}
}

func (r *generation) setAlarm(at env.Instant) {
	if r.alarm != nil {
		r.alarm.Stop()
	}
	r.alarm = r.loop.After(max(0, at.Sub(r.p.Now())), func() { r.step(checkpoint.Woken{}) })
}

// ManifestKey is where the manifest of a checkpoint lives.
func ManifestKey(g id.Generation, n id.Checkpoint) blob.Key {
	return blob.Key(fmt.Sprintf("checkpoints/g%d/%d/manifest", g, n))
}

func (r *generation) persist(m checkpoint.Manifest) {
	document, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain data always encodes
	}
	object := joblog.Seal(document)
	ref := joblog.CheckpointRef{
		Checkpoint: m.Checkpoint, Generation: m.Generation, Manifest: ManifestKey(m.Generation, m.Checkpoint),
		CRC: crc32.Checksum(object, castagnoli), Savepoint: m.Savepoint, Final: m.Final,
	}
	f := r.flight(m.Checkpoint)
	f.positions, f.bytes = positions(m), int64(len(object))
	for _, s := range m.Subtasks {
		for _, o := range s.Operators {
			for _, h := range o.Keyed {
				f.bytes += h.Bytes
			}
		}
	}
	r.create(ref.Manifest, object, 0, func() { r.step(checkpoint.Persisted{Checkpoint: m.Checkpoint, Ref: ref}) })
}

func (r *generation) complete(e checkpoint.AppendCompleted) {
	n := e.Ref.Checkpoint
	r.append(joblog.Entry{Kind: joblog.Completed, Ref: &e.Ref, Tokens: e.Tokens}, func() {
		r.hook(hook.K7Completed, n)
		f := r.flight(n)
		f.tokens = len(e.Tokens)
		r.event(Event{
			Kind: CheckpointCompleted, Checkpoint: n, Duration: r.p.Now().Sub(f.triggered), Bytes: f.bytes, Tokens: f.tokens,
			Open: r.coord.Open(), Positions: f.positions,
		})
		r.step(checkpoint.CompletedAppended{Checkpoint: n})
	})
}

func (r *generation) confirm(e checkpoint.Confirm) {
	if len(e.Tokens) == 0 {
		r.loop.Post(func() { r.step(checkpoint.CommitsConfirmed{Checkpoint: e.Checkpoint}) })
		return
	}
	r.committer.Confirm(e.Checkpoint, e.Tokens, func(o operator.ConfirmOutcome) { r.answered(e.Checkpoint, o) })
}

// answered takes what a confirm has found. A loss is in the log before anything else follows from it: the tokens have
// ended, so that no restore would find it again.
func (r *generation) answered(n id.Checkpoint, o operator.ConfirmOutcome) {
	switch {
	case o.Lost != nil:
		loss := o.Lost
		r.append(joblog.Entry{Kind: joblog.Lost, Checkpoint: n, Loss: loss}, func() {
			r.event(Event{Kind: LossReported, Checkpoint: n, Loss: loss, Err: o.Err})
			o.Lost = nil
			r.answered(n, o)
		})
	case o.Err != nil:
		r.halt(fmt.Errorf("confirm of checkpoint %d, whose tokens are kept: %w", n, o.Err))
	case o.Resolve:
		r.fail(fmt.Sprintf("confirm of checkpoint %d: a token must be resolved", n))
	default:
		r.step(checkpoint.CommitsConfirmed{Checkpoint: n})
	}
}

// confirmed reports a checkpoint whose tokens have ended, and mirrors its positions.
func (r *generation) confirmed(n id.Checkpoint) {
	f := *r.flight(n)
	r.drop(n)
	r.tell(func(j *JobManager) { j.restarts = 0 })
	r.step(checkpoint.ConfirmedAppended{Checkpoint: n})
	r.event(Event{
		Kind: CheckpointConfirmed, Checkpoint: n, Duration: r.p.Now().Sub(f.triggered), Bytes: f.bytes, Tokens: f.tokens,
		Open: r.coord.Open(), Positions: f.positions,
	})
	if r.cfg.Mirror != nil {
		r.cfg.Mirror(r.loop, n, f.positions)
	}
}

func (r *generation) drop(n id.Checkpoint) {
	r.flights = slices.DeleteFunc(r.flights, func(f flight) bool { return f.number == n })
}

// conclude ends the job in the log and here.
func (r *generation) conclude(n id.Checkpoint, ended bool) {
	kind, reason := Stopped, fmt.Sprintf("stopped with savepoint %d", n)
	if ended {
		kind, reason = Ended, fmt.Sprintf("ended at checkpoint %d", n)
	}
	r.append(joblog.Entry{Kind: joblog.Stopped, Reason: reason, Ended: ended}, func() {
		r.finish(Event{Kind: kind, Checkpoint: n, Reason: reason})
	})
}
