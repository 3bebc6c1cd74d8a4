package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
)

// Retention takes a part of what a completed checkpoint has not committed yet. If this fails, the loss that the job reports
// names records that are there, or keeps silent about some that are not. That the transaction is torn for its readers is true,
// and no engine can help it.
func TestLossOfAPartIsExact(t *testing.T) {
	for _, profile := range []string{"k39", "k41", "k44"} {
		t.Run(profile, func(t *testing.T) {
			p, err := faults.Parse("onefold plan 1\nscenario payments\nseed 1\nworld taskmanagers=3 jobmanagers=2 brokers=3 slots=1 partitions=4 " +
				"records=1200 parallelism=3 profile=" + profile + " burn=44s interval=2s checkpoint-timeout=4s transaction-timeout=20s scan=1s " +
				"meddle=delete-some/k7/3\nengine sound\nexpect TORN\n")
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, p)
			var found []string
			for _, f := range r.Report.Findings {
				found = append(found, f.Property)
			}
			if !slices.Contains(found, "losses-named") || !slices.Contains(found, "transactions-whole") {
				t.Errorf("nothing was cut in two: found %v", found)
			}
			for _, property := range found {
				if strings.HasPrefix(property, "losses-") && property != "losses-named" || property == "inputs-visible" {
					t.Errorf("%s does not hold", property)
				}
			}
			if cut := func(c checker.Claim) bool {
				return c.Kind == checker.Loss && slices.ContainsFunc(c.Lost, func(l checker.LostRange) bool { return l.Count > 0 && l.Count < 5 })
			}; !slices.ContainsFunc(r.World.History.Claims, cut) {
				t.Error("no part of a range is named")
			}
		})
	}
}
