package jobmanager

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
)

// kindTurn draws how long a standby waits for others to claim first.
const kindTurn = env.KindManager

// watch looks at the tail of the log while another JobManager owns the job, and ends when the job is over.
func (j *JobManager) watch() {
	if j.over || !j.cfg.Standby {
		return
	}
	j.loop.After(j.cfg.HeartbeatTimeout, j.watch)
	if j.present != nil || j.watching {
		return
	}
	j.watching = true
	j.log.Read(func(tail *joblog.Entry, err error) {
		j.watching = false
		if err == nil && tail != nil {
			j.see(tail.State.Generation)
		}
		switch {
		case j.over || j.present != nil || err == nil && tail == nil:
		case err != nil:
			j.finish(Event{Kind: Stopped, Err: err})
		case tail.State.Ended:
			j.finish(Event{Kind: Ended, Job: tail.State.Job, Generation: tail.State.Generation, Checkpoint: tail.State.Confirmed, Reason: tail.State.Stopped})
		case tail.State.Stopped != "" && tail.Position > j.born:
			j.finish(Event{Kind: Stopped, Job: tail.State.Job, Generation: tail.State.Generation, Checkpoint: tail.State.Confirmed, Reason: tail.State.Stopped})
		}
	})
}

// see takes note of a claimed generation.
func (j *JobManager) see(g id.Generation) { j.seen = max(j.seen, g) }

// turn reports whether a standby may claim. The TaskManagers must miss an active JobManager, and go on missing one for a
// drawn while: two standbys that see the same would otherwise claim at the same moment, and displace each other.
func (j *JobManager) turn() bool {
	now := j.p.Now()
	if !j.missed() {
		j.at = 0
		return false
	}
	if j.at == 0 {
		wait := time.Duration(j.p.Draw(kindTurn, j.p.Nonce, uint64(j.begun), uint64(now)) % uint64(j.cfg.HeartbeatInterval))
		j.at = now.Add(wait)
		j.loop.After(wait, j.consider)
	}
	return now >= j.at
}

// stand says once that this one waits for another JobManager to be missed.
func (j *JobManager) stand() {
	if j.cfg.Standby && j.owned == 0 && !j.standing {
		j.standing = true
		j.emit(Event{Kind: StandingBy})
	}
}
