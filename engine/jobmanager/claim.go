package jobmanager

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
)

// begin looks at what the user wants restored before anything is written.
func (r *generation) begin() {
	if r.cfg.RestoreFrom == "" || r.rewound {
		r.open()
		return
	}
	r.log.Read(func(tail *joblog.Entry, err error) {
		switch {
		case err != nil:
			r.broken(err)
		case tail == nil:
			r.halt(fmt.Errorf("there is no job to restore savepoint %s into: the job log is empty", r.cfg.RestoreFrom))
		default:
			r.readSeal(r.cfg.RestoreFrom, tail.State, r.open)
		}
	})
}

// open reads the log, or creates it, and refuses to go on with a job that is over or another one.
func (r *generation) open() {
	r.log.Open(r.cfg.Job.Name, Shape(r.cfg.Job), func(tail *joblog.Entry, err error) {
		if err != nil {
			r.broken(err)
			return
		}
		r.state = tail.State
		if g := tail.State.Generation; r.cfg.Standby && r.owned == 0 && g > r.seen {
			// Somebody has just claimed and was not heard by a TaskManager yet: it is given the time to be.
			r.tell(func(j *JobManager) { j.see(g) })
			r.broken(fmt.Errorf("%w: generation %d of %s", joblog.ErrSuperseded, g, tail.Process))
			return
		}
		if !strings.HasPrefix(string(tail.State.Job), r.cfg.Job.Name+"-") {
			r.halt(fmt.Errorf("this state is of job %s, not of %s: choose another place for it", tail.State.Job, r.cfg.Job.Name))
			return
		}
		if err := sameShape(tail.State.Graph, r.cfg.Job); err != nil {
			r.halt(err)
			return
		}
		if !r.over(tail) {
			r.claim(tail.State.Generation)
		}
	})
}

// over reports whether the log says that there is nothing to run. A job that was stopped before this process began is
// started again by it.
func (r *generation) over(tail *joblog.Entry) bool {
	s := tail.State
	switch {
	case r.wanted.Ref.Checkpoint != 0 && !done(r.wanted, s):
		return false
	case s.Ended:
		r.finish(Event{Kind: Ended, Checkpoint: s.Confirmed, Reason: s.Stopped})
		return true
	case s.Stopped != "" && tail.Position > r.born:
		r.finish(Event{Kind: Stopped, Checkpoint: s.Confirmed, Reason: s.Stopped})
		return true
	}
	return false
}

// claim claims, and gives way when it is not this one's turn any more: a standby to whoever claimed since the log was read,
// a sleeper that lost its TaskManagers to another JobManager to that one. Only a JobManager that a user just started
// displaces whoever is there.
func (r *generation) claim(newest id.Generation) {
	claim := r.log.Claim
	if r.owned > 0 {
		newest = r.owned
	}
	if r.owned > 0 || r.cfg.Standby {
		claim = func(done func(id.Generation, joblog.State, error)) { r.log.ClaimAfter(newest, done) }
	}
	claim(func(g id.Generation, s joblog.State, err error) {
		if err != nil {
			r.broken(err)
			return
		}
		r.number, r.state = g, s
		r.tell(func(j *JobManager) { j.own(r, g) })
		r.event(Event{Kind: Claimed})
		r.hook(hook.R0Claimed, 0)
		r.decide()
	})
}

// own makes this JobManager the active one: it is heard as such from now on.
func (j *JobManager) own(r *generation, g id.Generation) {
	if j.present != r {
		return
	}
	j.owned = g
	j.beat()
}

// doubt looks whether a newer generation was claimed.
func (r *generation) doubt() {
	r.log.Read(func(tail *joblog.Entry, err error) {
		switch {
		case err != nil:
			r.broken(err)
		case tail != nil && tail.State.Generation > r.number && r.number > 0:
			r.broken(fmt.Errorf("%w: generation %d of %s", joblog.ErrSuperseded, tail.State.Generation, tail.Process))
		}
	})
}
