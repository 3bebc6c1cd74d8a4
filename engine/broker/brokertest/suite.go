// Package brokertest is the conformance suite of broker.Requests: what exactly-once rests on, asked of any cluster in the
// words of engine/kafka. The simulated broker, an embedded kfake and real Kafka pass it, each in a test of its own package,
// except for the deviations that are listed with their reasons, which must stay exact.
//
//	brokertest.Run(t, backend, brokertest.KfakeDeviations...)
//
// A case is a script of package stage.
package brokertest

import (
	"testing"

	"github.com/onefold/onefold/engine/broker/stage"
)

// Deviation is a case that a backend is known to fail. A listed case that passes is a failure of the list.
type Deviation struct{ Case, Reason string }

// Cases is how many cases there are for a backend.
func Cases(b stage.Backend) int {
	n := 0
	for _, c := range cases {
		if c.applies(b) {
			n++
		}
	}
	return n
}

// Run runs all cases and reports how many there were.
func Run(t *testing.T, b stage.Backend, deviations ...Deviation) {
	t.Helper()
	for _, d := range deviations {
		if !named(d.Case) {
			t.Errorf("deviation %q names no case", d.Case)
		}
	}
	ran, deviated := 0, 0
	for i, c := range cases {
		if !c.applies(b) {
			continue
		}
		ran++
		t.Run(c.name, func(t *testing.T) {
			err := stage.Run(b, i, c.run)
			reason, listed := reasonOf(deviations, c.name)
			switch {
			case err != nil && listed:
				deviated++
				t.Logf("deviates as listed (%s): %v", reason, err)
			case err != nil:
				t.Error(err)
			case listed:
				t.Errorf("passes, but is listed as deviating: %s", reason)
			}
		})
	}
	t.Logf("%s: %d cases ran, %d of them deviate as listed", b.Name(), ran, deviated)
}

func named(name string) bool {
	for _, c := range cases {
		if c.name == name {
			return true
		}
	}
	return false
}

func reasonOf(deviations []Deviation, name string) (string, bool) {
	for _, d := range deviations {
		if d.Case == name {
			return d.Reason, true
		}
	}
	return "", false
}

type testCase struct {
	name  string
	run   func(t *stage.T)
	moves bool // needs a Mover
}

func (c testCase) applies(b stage.Backend) bool {
	_, can := b.(stage.Mover)
	return can || !c.moves
}
