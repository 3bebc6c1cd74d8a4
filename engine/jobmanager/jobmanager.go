// Package jobmanager is the process that owns a job: it claims generations, restores, deploys, takes checkpoints through
// to their confirmation, and starts again after failures.
//
// There are two actors. JobManager lives as long as the process: it knows the TaskManagers, hears and sends heartbeats,
// and decides when a generation begins. A generation has a loop, a job log, a committer and a coordinator of its own, which
// all end with it: nothing of generation 3 arrives in generation 4. The two talk by Post, and share nothing.
//
//	waiting --(slots, back-off over, nobody else active)--> generation --(failure)--> waiting
//	                                                        generation --(ended, stopped, loss, displaced)--> over
//
// The loss of a TaskManager is told by a broken connection or by missing heartbeats only. A JobManager stays active, and
// is heard as such by the TaskManagers, from its first claim until it is displaced or the job is over.
package jobmanager

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
)

var (
	tookOver  = probe.New("jobmanager: standby took over")
	displaced = probe.New("jobmanager: displaced by a newer generation")
	lostOne   = probe.New("jobmanager: TaskManager lost")
)

// JobManager is one JobManager process's actor. Everything happens on its loop.
type JobManager struct {
	p    *proc.Process
	cfg  Config
	loop env.Loop
	net  env.Transport
	plan *graph.Plan
	log  *joblog.Log // for watching; each generation has its own
	born id.Position // tail of the log when this process began

	members []*member   // registered TaskManagers, by name
	present *generation // nil: waiting, or over
	begun   uint32      // generations begun by this process
	over    bool        // the job has ended here

	owned     id.Generation // newest that this process claimed; 0: none, or displaced
	seen      id.Generation // newest that this process knows to be claimed, by whomever
	restarts  int           // in a row, without a confirmed checkpoint in between
	at        env.Instant   // when a standby may claim, if an active JobManager is missed until then; 0: not missed
	notBefore env.Instant   // the next generation does not begin before
	rewound   bool          // the restore from a savepoint that was asked for is done
	announced int32         // slots at the last WaitingForSlots event; -1: none
	standing  bool          // StandingBy was told
	watching  bool          // a read of the log is under way

	asks []ask // savepoints asked for, not answered
}

// ask is a savepoint that was asked for. It survives restarts.
type ask struct {
	stop bool
	done func(id.Checkpoint, blob.Key, error)
}

// New starts a JobManager on a loop of its own. It listens at the process's address.
func New(p *proc.Process, cfg Config) *JobManager {
	loop := p.NewLoop("jobmanager")
	j := &JobManager{p: p, cfg: cfg.withDefaults(), loop: loop, net: p.Transport(loop), announced: -1}
	loop.Post(j.start)
	return j
}

func (j *JobManager) start() {
	plan, err := j.cfg.Job.Plan(j.cfg.Parallelism)
	if err == nil && !id.ValidUID(j.cfg.Job.Name) {
		err = fmt.Errorf("%q cannot be the name of a job: only a-z, 0-9 and - can be in it", j.cfg.Job.Name)
	}
	if err != nil {
		j.finish(Event{Kind: Stopped, Err: err})
		return
	}
	j.plan = plan
	j.log = joblog.New(j.p, j.loop, joblog.Options{Rules: j.cfg.Rules.Log})
	j.log.Read(func(tail *joblog.Entry, err error) {
		if err != nil {
			j.finish(Event{Kind: Stopped, Err: err})
			return
		}
		if tail != nil {
			j.born, j.seen = tail.Position, tail.State.Generation
		}
		j.begin()
	})
}

func (j *JobManager) begin() {
	if j.cfg.Standby {
		j.notBefore = j.p.Now().Add(j.cfg.HeartbeatTimeout)
	}
	j.net.Listen(func(c env.Conn) env.Handler { return &member{j: j, conn: c, heard: j.p.Now()} })
	j.tick()
	j.watch()
}

// Savepoint takes a savepoint and reports the key of its seal once its tokens are confirmed. It may be called from any
// loop of the process; done, which may be nil, runs on the JobManager's.
func (j *JobManager) Savepoint(done func(n id.Checkpoint, seal blob.Key, err error)) {
	j.loop.Post(func() { j.ask(ask{done: done}) })
}

// Stop stops the job with a savepoint: sources emit nothing after its barrier, and the job stops when it is sealed. It may
// be called from any loop of the process; the outcome is an event.
func (j *JobManager) Stop() { j.loop.Post(func() { j.ask(ask{stop: true}) }) }

func (j *JobManager) ask(a ask) {
	if j.over {
		if a.done != nil {
			a.done(0, "", fmt.Errorf("the job is over"))
		}
		return
	}
	j.asks = append(j.asks, a)
	if r := j.present; r != nil {
		r.loop.Post(func() { r.savepoint(a.stop) })
	}
}

// sealed answers the oldest ask.
func (j *JobManager) sealed(n id.Checkpoint, seal blob.Key) {
	if len(j.asks) == 0 {
		return
	}
	a := j.asks[0]
	j.asks = j.asks[1:]
	if a.done != nil {
		a.done(n, seal, nil)
	}
}

// tick is the heartbeat: it tells every TaskManager who is active, and looks for silence.
func (j *JobManager) tick() {
	j.beat()
	j.consider()
	if !j.over {
		j.loop.After(j.cfg.HeartbeatInterval, j.tick)
	}
}

// consider begins a generation when it is time.
func (j *JobManager) consider() {
	if j.over || j.present != nil {
		return
	}
	have, need := j.slots(), j.plan.Slots()
	if have < need {
		if have != j.announced {
			j.announced = have
			j.emit(Event{Kind: WaitingForSlots, Registered: have, Needed: need})
		}
		return
	}
	if now := j.p.Now(); now < j.notBefore {
		j.stand()
		j.loop.After(j.notBefore.Sub(now), j.consider)
		return
	}
	if j.cfg.Standby && j.owned == 0 && !j.turn() {
		j.stand()
		return
	}
	if j.cfg.Standby && j.standing {
		j.p.Reached(tookOver)
	}
	j.announced, j.standing, j.at = -1, false, 0
	j.begun++
	j.present = newGeneration(j, j.begun)
}

// emit tells an event.
func (j *JobManager) emit(e Event) {
	e.At = j.p.Now()
	j.p.Log("jobmanager %s: %v", j.p.Name, e)
	j.cfg.OnEvent(e)
}

// failed ends a generation after a failure, and has the next one begin after a while.
func (j *JobManager) failed(r *generation, reason string) {
	if !j.end(r) {
		return
	}
	j.restarts++
	if j.cfg.RestartLimit > 0 && j.restarts > j.cfg.RestartLimit {
		j.finish(Event{Kind: Stopped, Generation: r.number, Err: fmt.Errorf("%d restarts in a row, the last one because of: %s", j.cfg.RestartLimit, reason)})
		return
	}
	wait := backoff(j.cfg.BackoffMin, j.cfg.BackoffMax, j.restarts)
	j.notBefore = j.p.Now().Add(wait)
	j.emit(Event{Kind: Restarting, Generation: r.number, Reason: reason, Wait: wait})
	j.loop.After(wait, j.consider)
}

// backoff is the wait before the n-th restart in a row.
func backoff(least, most time.Duration, n int) time.Duration {
	return min(least<<min(n-1, 20), most)
}

// superseded ends a generation that is not the newest one.
func (j *JobManager) superseded(r *generation, err error) {
	if !j.end(r) {
		return
	}
	j.p.Reached(displaced)
	owned := j.owned > 0
	j.owned = 0
	if j.cfg.Standby && !owned {
		j.notBefore = j.p.Now().Add(j.cfg.HeartbeatTimeout)
		return
	}
	j.emit(Event{Kind: Superseded, Generation: r.number, Err: err})
	if !j.cfg.Standby {
		j.finish(Event{Kind: Stopped, Generation: r.number, Err: err})
		return
	}
	// The other one is given time to be heard by the TaskManagers; only when they miss it is it this one's turn again.
	j.notBefore = j.p.Now().Add(2 * j.cfg.HeartbeatTimeout)
}

// finished ends a generation and the job with it.
func (j *JobManager) finished(r *generation, e Event) {
	if j.end(r) {
		j.finish(e)
	}
}

// end closes a generation and its tasks. False: it is not the present one.
func (j *JobManager) end(r *generation) bool {
	if j.present != r {
		return false
	}
	j.present = nil
	r.close()
	for _, m := range j.members {
		if m.used {
			m.used = false
			m.cancel(r.number)
		}
	}
	return true
}

// finish ends this JobManager's part in the job for good.
func (j *JobManager) finish(e Event) {
	j.over = true
	j.emit(e)
	for _, a := range j.asks {
		if a.done != nil {
			a.done(0, "", fmt.Errorf("the job is over: %v", e))
		}
	}
	j.asks = nil
	j.beat()
}
