package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/onefold/onefold/engine/jobmanager"
)

// event follows the job: what happens is logged, and its end becomes the outcome.
func (r *Running) event(e jobmanager.Event) {
	r.logEvent(e)
	r.alive(e)
	if r.cfg.OnEvent != nil {
		r.cfg.OnEvent(e)
	}
	r.mu.Lock()
	switch e.Kind {
	case jobmanager.Claimed:
		r.own = e.Generation
	case jobmanager.CheckpointConfirmed, jobmanager.Restored:
		r.confirmed = max(r.confirmed, e.Checkpoint)
	case jobmanager.SavepointSealed:
		r.savepoint = e.Key
	}
	savepoint := r.savepoint
	r.mu.Unlock()

	switch e.Kind {
	case jobmanager.Ended:
		r.finish(Outcome{Ending: Ended, Checkpoint: e.Checkpoint})
	case jobmanager.Superseded:
		r.finish(Outcome{Ending: Superseded, Err: e.Err})
	case jobmanager.LossReported:
		if !r.cfg.AcceptLoss {
			r.finish(Outcome{Ending: Loss, Loss: e.Loss, Err: e.Err, Checkpoint: e.Checkpoint})
		}
	case jobmanager.Stopped:
		switch {
		case e.Loss != nil && !r.cfg.AcceptLoss:
			r.finish(Outcome{Ending: Loss, Loss: e.Loss, Err: e.Err})
		case e.Err != nil:
			r.finish(Outcome{Ending: Failed, Err: r.explain(e.Err)})
		default:
			r.finish(Outcome{Ending: Saved, Savepoint: savepoint})
		}
	}
}

// level says how loud an event is.
func level(e jobmanager.Event) slog.Level {
	switch e.Kind {
	case jobmanager.CheckpointFailed, jobmanager.Restarting, jobmanager.Superseded:
		return slog.LevelWarn
	case jobmanager.LossReported:
		return slog.LevelError
	case jobmanager.Stopped:
		if e.Err != nil {
			return slog.LevelError
		}
	}
	return slog.LevelInfo
}

func (r *Running) logEvent(e jobmanager.Event) {
	var attrs []any
	add := func(show bool, name string, v any) {
		if show {
			attrs = append(attrs, name, v)
		}
	}
	add(e.Generation > 0, "generation", e.Generation)
	add(e.Checkpoint > 0, "checkpoint", e.Checkpoint)
	add(e.Duration > 0, "after", e.Duration.Round(time.Millisecond))
	add(e.Tokens > 0, "transactions", e.Tokens)
	add(e.Open > 0, "open", e.Open)
	add(e.Bytes > 0, "bytes", e.Bytes)
	add(e.Kind == jobmanager.WaitingForSlots, "slots", e.Registered)
	add(e.Kind == jobmanager.WaitingForSlots, "needed", e.Needed)
	add(e.Wait > 0, "wait", e.Wait)
	add(e.Operator != "", "operator", e.Operator)
	add(e.TaskManager != "", "taskmanager", e.TaskManager)
	add(e.Key != "", "key", e.Key)
	add(e.Reason != "", "reason", e.Reason)
	add(e.Err != nil, "error", e.Err)
	r.log.Log(context.Background(), level(e), e.Kind.String(), attrs...)
}
