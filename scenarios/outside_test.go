package scenarios

import (
	"testing"

	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios/outside"
)

// The plans that also run on real processes strike here, too, and get the verdict that they expect: cmd/realrun compares.
func TestOutsidePlans(t *testing.T) {
	for _, kept := range outside.Plans() {
		t.Run(kept.Name, func(t *testing.T) {
			p, err := faults.Parse(kept.Text)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, p)
			for i, o := range r.Outcomes {
				if !o.Struck {
					t.Errorf("%v: fired %v at %v, hit %d times, did not strike", p.Faults[i], o.Fired, o.At, o.Hits)
				}
			}
			if r.Wrong {
				t.Errorf("%s, expected %v", r.Report.Verdict, p.Expect)
			}
		})
	}
}

// Settings that a plan leaves out are the same in both worlds.
func TestOutsideWorldIsThisOne(t *testing.T) {
	if heartbeatTimeout != outside.HeartbeatTimeout || toleratedFailures != outside.ToleratedFailures {
		t.Error("the processes get other settings than the simulated engine")
	}
	for _, s := range Catalogue() {
		text := "onefold plan 1\nscenario " + s.Name + "\n"
		_, got, err := outside.Read(text, outside.Kafka)
		if err != nil {
			continue // prepared from inside
		}
		shape := defaultShape()
		if err := shape.apply(s.World); err != nil {
			t.Fatal(err)
		}
		want := outside.Setup{
			Job: s.Job, Guarantee: map[operator.Guarantee]string{operator.ExactlyOnce: "exactly-once", operator.AtLeastOnce: "at-least-once", operator.AtMostOnce: "at-most-once"}[s.Guarantee],
			Processes: shape.JobManagers, TaskManagers: shape.TaskManagers, Brokers: shape.Brokers, Partitions: shape.Partitions,
			Records: shape.Records, Accounts: shape.Accounts, Parallelism: shape.Parallelism, Burn: shape.Burn, Interval: shape.Interval,
			CheckpointTimeout: shape.CheckpointTimeout, TransactionTimeout: shape.TransactionTimeout,
		}
		if got != want {
			t.Errorf("%s: %+v, here %+v", s.Name, got, want)
		}
	}
}
