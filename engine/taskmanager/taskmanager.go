// Package taskmanager is the process that hosts tasks: it registers with the JobManagers, follows the highest generation,
// and stops its tasks by itself when it hears no JobManager any more.
//
// It dials every JobManager and keeps all connections, so that a standby learns from it whether an active JobManager is
// heard. Whatever belongs to an older generation than the followed one is refused. A deployment starts when the last
// task of older generations has ended; a task that does not react to a cancel fails the process.
package taskmanager

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/wire"
)

var (
	silenced = probe.New("taskmanager: no JobManager heard, tasks stopped")
	refused  = probe.New("taskmanager: message of an older generation refused")
)

// TaskManager is one TaskManager process's actor. Everything happens on its loop.
type TaskManager struct {
	p    *proc.Process
	cfg  Config
	loop env.Loop
	net  env.Transport
	ex   *exchange.Exchange

	plan    *graph.Plan
	planErr error

	links    []*link
	followed id.Generation // highest of which an active JobManager was heard. Invariant: only rises
	owner    *link         // where it was heard; nil before
	heard    env.Instant   // when

	tasks  []*hosted     // of generation ofTask, in order of their subtasks
	ofTask id.Generation // generation of tasks; kept when they have ended
	next   *wire.Deploy  // waits for the end of the tasks
}

// New starts a TaskManager on a loop of its own.
func New(p *proc.Process, cfg Config) *TaskManager {
	loop := p.NewLoop("taskmanager")
	t := &TaskManager{p: p, cfg: cfg.withDefaults(), loop: loop, net: p.Transport(loop)}
	t.ex = exchange.New(p, loop, t.cfg.Exchange)
	t.plan, t.planErr = cfg.Job.Plan(cfg.Parallelism)
	for _, a := range cfg.JobManagers {
		t.links = append(t.links, &link{t: t, addr: a})
	}
	loop.Post(func() {
		t.heard = p.Now()
		for _, l := range t.links {
			l.dial()
		}
		t.tick()
	})
	return t
}

// tick is the heartbeat: it tells every JobManager what is heard, and looks for silence.
func (t *TaskManager) tick() {
	now := t.p.Now()
	if len(t.tasks) > 0 && now.Sub(t.heard) > t.cfg.HeartbeatTimeout && !t.cancelling() {
		t.p.Reached(silenced)
		t.p.Log("taskmanager %s: no JobManager heard for %v, tasks of generation %d stop", t.p.Name, t.cfg.HeartbeatTimeout, t.ofTask)
		t.cancel()
	}
	for _, l := range t.links {
		l.tick(now)
	}
	t.tell()
	t.loop.After(t.cfg.HeartbeatInterval, t.tick)
}

// tell tells every JobManager what is followed and how long it is silent.
func (t *TaskManager) tell() {
	now := t.p.Now()
	for _, l := range t.links {
		l.send(&wire.Pulse{Followed: t.followed, SilentForMs: uint64(now.Sub(t.heard) / 1e6)})
	}
}

// follow takes note of an active JobManager. False: its generation is outdated.
func (t *TaskManager) follow(l *link, g id.Generation) bool {
	if g < t.followed {
		t.p.Reached(refused)
		l.send(&wire.Outdated{Followed: t.followed})
		return false
	}
	if g > t.followed {
		t.followed = g
		t.next = nil
		t.cancel()
		defer t.tell() // the others learn at once that somebody is active
	}
	t.owner, t.heard = l, t.p.Now()
	return true
}
