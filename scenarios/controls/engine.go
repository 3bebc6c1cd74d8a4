// Package controls has the known-bad engines: for each link of the chain and each rule of the protocol one that breaks it.
// A campaign must catch every one of them with the verdict that is predicted here; a harness that cannot see these proves
// nothing. A control is made by replacing a decision from outside: there is no flag in the engine, and the checker knows
// nothing of them.
package controls

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios/jobs/option"
)

// Engine is an engine to put on a world. The zero value of each function field changes nothing.
type Engine struct {
	Name string
	Doc  string // which link or rule it breaks
	// Verdicts that catch it; any of them will do.
	Verdicts []checker.Verdict
	// Scenario in which it is tried.
	Scenario string
	// World overrides settings of the world.
	World []faults.Setting
	// Favour are lines of a plan put beside the swarm's faults, so that a campaign meets the situation soon.
	Favour []string

	Job        func(*option.Options)
	JobManager func(*jobmanager.Config)
	Committer  func(*sink.CommitterConfig)
	Task       func(*task.Options)
	// Effects counts a side effect inside an operator.
	Effects bool
	// Uncommitted lets the judge's reader read uncommitted, as a badly configured consumer does.
	Uncommitted bool
}

// Sound is the engine as it is.
func Sound() Engine { return Engine{Name: "sound", Doc: "the engine as it is", Scenario: "payments"} }

// Find is the engine of that name; "" and "sound" are the sound one.
func Find(name string) (Engine, bool) {
	if name == "" || name == "sound" {
		return Sound(), true
	}
	for _, e := range All() {
		if e.Name == name {
			return e, true
		}
	}
	return Engine{}, false
}

// All lists the known-bad engines.
func All() []Engine { return nil }
