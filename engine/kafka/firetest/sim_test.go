package firetest_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine/kafka/firetest"
	"github.com/onefold/onefold/sim/simbroker"
	"github.com/onefold/onefold/sim/simbroker/simstage"
)

func simulated(t *testing.T, profile string, seed uint64) *simstage.Backend {
	return simulatedCopies(t, profile, seed, 1)
}

// simulatedCopies is a cluster whose partitions have so many replicas.
func simulatedCopies(t *testing.T, profile string, seed uint64, copies int) *simstage.Backend {
	p, ok := simbroker.ProfileOf(profile)
	if !ok {
		t.Fatal(profile)
	}
	b := simstage.New(simstage.Config{
		Seed: seed, Limit: 24 * time.Hour,
		Cluster: simbroker.Config{Profile: p, ScanInterval: 100 * time.Millisecond, Encode: true, Replication: simbroker.Replication{Factor: copies}, MinISR: (copies + 1) / 2},
	})
	t.Cleanup(b.Close)
	return b
}

// Virtual time, and the client's own defaults; a fault that stays is waited for less, since a fetch is repeated all the time.
var (
	simPace  = firetest.Pace{Read: time.Minute, Delivery: 2 * time.Minute, Hang: 5 * time.Minute}
	stayPace = firetest.Pace{Read: time.Minute, Delivery: 40 * time.Second, Hang: 100 * time.Second}
)

// If this failed, a code from a broker would have another effect than RETRIES.md says: a record lost or doubled, a hang, or
// an error that nobody is told.
func TestMatrixOnSimulatedBroker(t *testing.T) {
	ran := 0
	for _, profile := range []string{"k44", "k44-tv1", "k39"} {
		b := simulated(t, profile, 1)
		for i, call := range firetest.Calls {
			for number, lasting := range []bool{false, true} {
				if lasting && (!call.Lasts || profile != "k44") {
					continue
				}
				pace := simPace
				if lasting {
					pace = stayPace
				}
				cells, err := firetest.Run(b, 2*i+number, call, pace, firetest.Faults(), lasting)
				if err != nil {
					t.Fatalf("%s, %s: %v", profile, call.Name, err)
				}
				ran += len(cells)
				for _, err := range firetest.Check(cells, lasting) {
					t.Errorf("%s, lasting %v: %v", profile, lasting, err)
				}
			}
		}
	}
	if t.Logf("%d cells", ran); ran < 5000 {
		t.Errorf("only %d cells ran", ran)
	}
}
