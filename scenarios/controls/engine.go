// Package controls has the known-bad engines: for each link of the chain and each rule of the protocol one that breaks it.
// A campaign must catch every one of them with the verdict that is predicted here; a harness that cannot see these proves
// nothing. A control is made by replacing a decision from outside: there is no flag in the engine, and the checker knows
// nothing of them.
package controls

import (
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/graph"
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
	// Port is put around each port to the brokers.
	Port func(broker.Requests) broker.Requests
	// Meddle is what somebody outside the job does to the cluster, so that a campaign meets the situation: the setting of a
	// world. It counts as a fault: the empty plan has none.
	Meddle string
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

// withSinkRules puts changed rules into both halves of the sinks.
func (e Engine) withSinkRules(change func(*sink.Rules)) Engine {
	rules := sink.DefaultRules()
	change(rules)
	e.Job = func(o *option.Options) {
		o.Sink = func(k sink.Kafka) graph.SinkFactory {
			k.Rules = rules
			return k
		}
	}
	e.Committer = func(c *sink.CommitterConfig) { c.Rules = rules }
	return e
}

func world(settings ...string) []faults.Setting {
	var out []faults.Setting
	for i := 0; i+1 < len(settings); i += 2 {
		out = append(out, faults.Setting{Key: settings[i], Value: settings[i+1]})
	}
	return out
}

// impatient gives a record up after two seconds, so that one is lost while its checkpoint can still complete.
func (e Engine) impatient() Engine {
	job := e.Job
	e.Job = func(o *option.Options) {
		job(o)
		o.DeliveryTimeout = 2 * time.Second
	}
	return e
}
