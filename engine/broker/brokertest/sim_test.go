package brokertest_test

import (
	"testing"

	"github.com/onefold/onefold/engine/broker/brokertest"
	"github.com/onefold/onefold/sim/simbroker"
	"github.com/onefold/onefold/sim/simbroker/simstage"
)

func simulated(t *testing.T, profile string, seed uint64) (*simstage.Backend, brokertest.Release) {
	t.Helper()
	b, err := simstage.Suite(profile, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r, err := brokertest.ReleaseOf(profile)
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

// The simulated broker must not be kinder than the real one: the same cases are run against real Kafka.
func TestSimulatedBroker(t *testing.T) {
	for _, profile := range simbroker.ProfileVariants() {
		t.Run(profile, func(t *testing.T) {
			b, r := simulated(t, profile, 1)
			brokertest.Run(t, b, r)
		})
	}
}

// Which moment is drawn must not matter.
func TestSimulatedBrokerBySeeds(t *testing.T) {
	for seed := range uint64(8) {
		b, r := simulated(t, "k44", 100+seed)
		brokertest.Run(t, b, r)
	}
}

// A suite that loses cases proves less and says nothing.
func TestSuiteHasItsCases(t *testing.T) {
	b, _ := simulated(t, "k44", 2)
	if properties, others := brokertest.Cases(b); properties != brokertest.Properties || others < 18 {
		t.Fatalf("%d properties and %d other cases", properties, others)
	}
}
