package hazard

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/scenarios"
)

// A plan of a hazard says what it shows, prints as it stands in its file, and belongs to a hazard.
func TestPlans(t *testing.T) {
	used := map[string]bool{}
	for _, h := range All() {
		for _, trial := range h.Engine {
			used[trial.Plan] = true
			if _, err := trial.plan(); err != nil {
				t.Errorf("%s: %v", h.Name(), err)
			}
			if len(trial.Evidence) == 0 {
				t.Errorf("%s: plan %s has no evidence that it strikes", h.Name(), trial.Plan)
			}
			for _, p := range trial.Profiles {
				if !slices.Contains(Profiles(), p) {
					t.Errorf("%s: there is no profile %s", h.Name(), p)
				}
			}
		}
	}
	for _, c := range scenarios.HazardPlans() {
		file, err := os.ReadFile("../testdata/" + c.Name + ".plan")
		if err != nil || c.Plan.String() != string(file) {
			t.Errorf("%v; it prints as\n%s", err, c.Plan)
		}
		if !strings.HasSuffix(c.Shows(), ".") || len(c.Plan.Expect) == 0 {
			t.Errorf("%s: want a sentence and an expected verdict", c.Name)
		}
		if !used[c.Name] {
			t.Errorf("%s: no hazard uses it", c.Name)
		}
	}
}
