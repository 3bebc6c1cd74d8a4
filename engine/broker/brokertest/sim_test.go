package brokertest_test

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/broker/brokertest"
	"github.com/onefold/onefold/sim/simbroker/simstage"
)

func simulated(t *testing.T, profile string, seed uint64) *simstage.Backend {
	b, err := simstage.Suite(profile, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// The simulated broker must not be kinder than the real one: the same cases are run against real Kafka.
func TestSimulatedBroker(t *testing.T) {
	for _, profile := range []string{"k44", "k44-tv1", "k44-tv0", "k43", "k41", "k39"} {
		t.Run(profile, func(t *testing.T) {
			var deviations []brokertest.Deviation
			if strings.HasPrefix(profile, "k3") {
				deviations = brokertest.Kafka3Deviations
			}
			brokertest.Run(t, simulated(t, profile, 1), deviations...)
		})
	}
}

// Which moment is drawn must not matter.
func TestSimulatedBrokerBySeeds(t *testing.T) {
	for seed := range uint64(8) {
		brokertest.Run(t, simulated(t, "k44", 100+seed))
	}
}

// A suite that loses cases proves less and says nothing.
func TestSuiteHasItsCases(t *testing.T) {
	if n := brokertest.Cases(simulated(t, "k44", 2)); n < 59 {
		t.Fatalf("%d cases", n)
	}
}
