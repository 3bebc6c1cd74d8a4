package brokertest_test

import (
	"slices"
	"strings"
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

// A suite that a cluster of another release passes would prove nothing about this one.
func TestSuiteTellsReleasesApart(t *testing.T) {
	for _, x := range []struct {
		profile string
		as      brokertest.Release
		differs string
	}{
		{"k35", brokertest.Kafka37, "P6 P9 P11 P21 P25"},
		{"k37", brokertest.Kafka39, "P24 P25"},
		{"k39", brokertest.Kafka40, "P5 P8 P21"},
		{"k400", brokertest.Kafka40, "P2 P3 P11"},
		{"k401", brokertest.Kafka400, "P2 P3 P11"},
		{"k401", brokertest.Kafka41, "P15 P24 P25"},
		{"k41", brokertest.Kafka40, "P15 P24 P25"},
	} {
		b, _ := simulated(t, x.profile, 3)
		var cases []string
		for _, d := range brokertest.Differences(b, x.as) {
			if !slices.Contains(cases, d.Case) {
				cases = append(cases, d.Case)
			}
		}
		if got := strings.Join(cases, " "); got != x.differs {
			t.Errorf("%s as Kafka %s differs in %q, not in %q", x.profile, x.as.Version, got, x.differs)
		}
	}
}
