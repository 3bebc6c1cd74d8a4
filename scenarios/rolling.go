package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// rollingFrom draws the release that a rolling upgrade begins with.
func rollingFrom(seed uint64) string {
	from := [...]string{"k39", "k400-tv0", "k400", "k401-tv1", "k41-tv0", "k41-tv1", "k41", "k42-tv1", "k42", "k43-tv0", "k43-tv1", "k37"}
	return from[sim.Hash(seed, drawRolling, 0, 0, 0)%uint64(len(from))]
}

// rolling is the upgrade of all brokers, one after the other and each in its own time, to one release, and then of the
// feature, level by level or at once. Whether the cluster accepts a level is its business: it refuses one that a broker
// does not know yet.
func rolling(seed uint64, shape Shape) []faults.Fault {
	draw := func(what, n, most uint64) uint64 { return sim.Hash(seed, drawRolling, what, n, 0) % most }
	releases := simbroker.ProfilesFrom(shape.Profile)
	to := releases[len(releases)-1-int(draw(1, 0, uint64(min(3, len(releases)))))]
	slot := shape.Burn / time.Duration(shape.Brokers+3)
	var out []faults.Fault
	for i := range shape.Brokers {
		out = append(out, faults.Fault{
			Kind: faults.UpgradeFault, Node: fmt.Sprintf("broker%d", i), Profile: to,
			For:     time.Duration(5+draw(2, uint64(i), 50)) * 100 * time.Millisecond,
			Trigger: faults.Trigger{At: time.Duration(i+1)*slot + time.Duration(draw(3, uint64(i), 1000))*slot/1000},
		})
	}
	at := time.Duration(shape.Brokers+1)*slot + time.Duration(draw(4, 0, 1000))*slot/1000
	if p, _ := simbroker.ProfileOf(shape.Profile); p.TransactionVersion == 0 && draw(5, 0, 2) == 0 {
		out = append(out, faults.Fault{Kind: faults.FinalizeFault, Level: 1, Trigger: faults.Trigger{At: at}})
		at += slot / 2
	}
	if p, _ := simbroker.ProfileOf(shape.Profile); p.TransactionVersion == 2 {
		return out
	}
	return append(out, faults.Fault{Kind: faults.FinalizeFault, Level: 2, Trigger: faults.Trigger{At: at}})
}

// checkReleases refuses a plan that upgrades a broker to what does not exist.
func checkReleases(all []faults.Fault) error {
	for _, f := range all {
		if f.Kind != faults.UpgradeFault || slices.Contains(simbroker.ProfileNames(), f.Profile) {
			continue
		}
		if _, known := simbroker.ProfileOf(f.Profile); known {
			return fmt.Errorf("%q: a broker does not bring a transaction.version, the cluster has it: upgrade to the release, then finalize transaction.version=N", f)
		}
		return fmt.Errorf("%q: there is no release %s; there are %s", f, f.Profile, strings.Join(simbroker.ProfileNames(), ", "))
	}
	return nil
}
