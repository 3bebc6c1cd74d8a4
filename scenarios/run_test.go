package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/faults"
)

// A seed means one run: the same scenario and seed give the same trace, another seed gives another.
func TestSameSeedSameTrace(t *testing.T) {
	for _, s := range Catalogue() {
		t.Run(s.Name, func(t *testing.T) {
			hash := func(seed uint64) uint64 {
				p, err := PlanOf(s, seed, "")
				if err != nil {
					t.Fatal(err)
				}
				r, err := Run(p, Options{Fast: true})
				if err != nil {
					t.Fatal(err)
				}
				return r.Hash
			}
			first := hash(11)
			if again := hash(11); again != first {
				t.Errorf("seed 11: trace hash %016x, then %016x", first, again)
			}
			if other := hash(12); other == first {
				t.Errorf("seeds 11 and 12 have the same trace hash %016x", first)
			}
		})
	}
}

// Settings that contradict each other are refused with what was wanted, not run.
func TestWorldsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		scenario, world, want string
	}{
		{"payments", "interval=10s transaction-timeout=5s", "transaction-timeout=5s interval=10s"},
		{"payments", "interval=20s", "want transaction-timeout > interval"},
		{"at-least-once", "interval=20s", ""}, // has no transactions
		{"payments", "interval=19s", ""},
		{"payments", "brokers=2 replication=3", "want min-isr <= replication <= brokers"},
		{"payments", "taskmanagers=1 slots=1 parallelism=2", "fewer slots than parallelism 2 needs"},
	} {
		p, err := faults.Parse("onefold plan 1\nscenario " + c.scenario + "\nseed 1\nworld " + c.world + "\nengine sound\n")
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWorld(p, Options{Fast: true})
		if err == nil {
			w.Sim.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.world, err, c.want)
		}
	}
}

// A plan is drawn for the nodes that its world will have.
func TestPlansKnowTheNodesOfTheirWorld(t *testing.T) {
	for _, s := range Catalogue() {
		w, err := newWorld(faults.Plan{Scenario: s.Name, Seed: 1, Engine: "sound"}, Options{Fast: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := w.Shape.nodes(), w.Sim.Target().Nodes(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, the world has %v", s.Name, got, want)
		}
		w.Sim.Close()
	}
}
