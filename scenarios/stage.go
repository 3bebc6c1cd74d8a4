package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/sim"
)

// Stage is one deployment of a job: its user starts it in some way, and ends it in some way. All stages of a run share
// the job log and the blob store.
type Stage struct {
	// Parallelism of this deployment; 0: as the world says.
	Parallelism int
	// Savepoint is when its user asks for a savepoint; 0: not in this stage.
	Savepoint time.Duration
	// Until is when its user ends it; 0: it goes on to the end.
	Until time.Duration
	// Stop ends it with a savepoint, otherwise all processes are killed.
	Stop bool
	// Restore begins it from the newest sealed savepoint, Rewind although more has been confirmed since.
	Restore, Rewind bool
	// Refused: the engine refuses to begin and says this.
	Refused string
}

// stages is where a staged run stands.
type stages struct {
	w        *World
	number   int
	managers []*manager
	seal     blob.Key // of the savepoint to restore
	sealed   id.Checkpoint
	changing bool
}

// manager is a JobManager process as its user reaches it.
type manager struct {
	node   *sim.Node
	handle *jobmanager.JobManager
	asked  bool // for the savepoint with which the stage goes on, or ends
}

const askAgain = 3 * time.Second

// now is the present stage; false without stages.
func (x *stages) now() (Stage, bool) {
	if x.w == nil || x.number >= len(x.w.Scenario.Stages) {
		return Stage{}, false
	}
	return x.w.Scenario.Stages[x.number], true
}

// booted notes the JobManager of a process that has just started.
func (x *stages) booted(node *sim.Node, j *jobmanager.JobManager) {
	for _, m := range x.managers {
		if m.node == node {
			m.handle, m.asked = j, false
			return
		}
	}
	x.managers = append(x.managers, &manager{node: node, handle: j})
}

// begin arms what the user does in the present stage.
func (x *stages) begin() {
	s, ok := x.now()
	if !ok {
		return
	}
	x.changing = false
	number := x.number
	if s.Savepoint > 0 {
		x.at(s.Savepoint, number, x.savepoint)
	}
	switch {
	case s.Until == 0:
	case s.Stop:
		x.at(s.Until, number, x.stop)
	default:
		x.at(s.Until, number, x.kill)
	}
}

// at does something at a time, unless the stage is over by then.
func (x *stages) at(t time.Duration, number int, do func()) {
	x.w.Sim.At(max(env.Instant(t), x.w.Sim.Now()), func() {
		if x.number == number && !x.changing {
			do()
		}
	})
}

// savepoint asks every JobManager: only the active one can act.
func (x *stages) savepoint() {
	for _, m := range x.managers {
		if m.node.Up() && !m.asked {
			m.asked = true
			m.handle.Savepoint(nil)
		}
	}
}

// stop asks every JobManager to stop, and those that start later, too.
func (x *stages) stop() {
	for _, m := range x.managers {
		if m.node.Up() && !m.asked {
			m.asked = true
			m.handle.Stop()
		}
	}
	x.at(time.Duration(x.w.Sim.Now().Add(askAgain)), x.number, x.stop)
}

// kill ends the stage; one that asked for a savepoint not before the job has come some way beyond it.
func (x *stages) kill() {
	state, _ := x.w.newest()
	if s, _ := x.now(); s.Savepoint > 0 && (x.seal == "" || state.Confirmed < x.sealed+2) {
		if x.seal == "" {
			x.savepoint()
		}
		x.at(time.Duration(x.w.Sim.Now().Add(askAgain)), x.number, x.kill)
		return
	}
	x.next()
}

// heard takes what a JobManager tells, and reports whether it ends the stage and not the job.
func (x *stages) heard(e jobmanager.Event) bool {
	s, ok := x.now()
	if !ok {
		return false
	}
	switch {
	case e.Kind == jobmanager.SavepointSealed && (x.seal == "" || s.Stop):
		x.seal, x.sealed = e.Key, e.Checkpoint
	case s.Refused != "" && e.Kind == jobmanager.Running:
		x.w.History.Run.Panic = fmt.Sprintf("stage %d runs, and must be refused: %s", x.number, s.Refused)
	case s.Refused != "" && e.Kind == jobmanager.Stopped && e.Err != nil && strings.Contains(e.Err.Error(), s.Refused),
		s.Stop && e.Kind == jobmanager.Stopped && e.Err == nil:
		x.next()
		return true
	}
	return false
}

// next ends all processes of the engine and starts them for the next stage.
func (x *stages) next() {
	if x.changing {
		return
	}
	x.changing = true
	x.w.Sim.At(x.w.Sim.Now().Add(200*time.Millisecond), func() {
		x.each((*sim.Node).Crash)
		x.number++
		if s, _ := x.now(); s.Parallelism > 0 {
			x.w.Shape.Parallelism = s.Parallelism
		}
		x.each((*sim.Node).Resume)
		x.each((*sim.Node).Start)
		x.begin()
	})
}

// each does something to every process of the engine.
func (x *stages) each(do func(*sim.Node)) {
	for _, n := range x.w.Sim.Nodes() {
		if strings.HasPrefix(n.Name(), "jm") || strings.HasPrefix(n.Name(), "tm") {
			do(n)
		}
	}
}

// left says which stage a run still waits for.
func (x *stages) left() string {
	if x.w == nil || x.number >= len(x.w.Scenario.Stages)-1 {
		return ""
	}
	return fmt.Sprintf("the end of stage %d of %d", x.number+1, len(x.w.Scenario.Stages))
}
