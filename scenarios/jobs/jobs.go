// Package jobs is the catalogue of jobs that the simulator judges and that realrun runs. A job is a value: the same one
// runs in both worlds. The package of each job has its records and its graph and imports the engine only.
package jobs

import (
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/scenarios/jobs/copy"
	"github.com/onefold/onefold/scenarios/jobs/fraud"
	"github.com/onefold/onefold/scenarios/jobs/ledger"
	"github.com/onefold/onefold/scenarios/jobs/option"
	"github.com/onefold/onefold/scenarios/jobs/payments"
)

// Spec describes one job of the catalogue.
type Spec struct {
	Name    string
	Doc     string
	Inputs  []string // the job's own names of its topics
	Outputs []string
	Build   func(option.Options) *graph.Job
	// Input makes record number seq of an input topic. Records of one key have one account, chosen among accounts.
	Input func(topic string, seq, accounts uint64) (key, value []byte)
}

// All lists the catalogue in the order in which it is shown.
func All() []Spec {
	return []Spec{
		{"payments", "payments by account, a running total per account", []string{payments.In}, []string{payments.Out}, payments.Job, payments.Input},
		{"copy", "each record of one topic to another, with the place it came from", []string{copy.In}, []string{copy.Out}, copy.Job, copy.Input},
		{"fraud", "keyed enrichment and a windowed score per card", []string{fraud.In}, []string{fraud.Out}, fraud.Job, fraud.Input},
		{
			"ledger", "credits and debits joined by account, then branch and region totals: two sources, two sinks, three exchanges",
			[]string{ledger.Credits, ledger.Debits},
			[]string{ledger.Balances, ledger.Regions},
			ledger.Job, ledger.Input,
		},
	}
}

// Find is the job of that name.
func Find(name string) (Spec, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Spec{}, false
}
