package scenarios

import (
	"testing"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
)

// Without any fault every record of the input is visible exactly once.
func TestQuietWorldsAreClean(t *testing.T) {
	for _, s := range Catalogue() {
		if s.Script != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			r, err := Run(faults.Plan{Scenario: s.Name, Seed: 1, Engine: "sound"}, Options{KeepTrace: testing.Verbose()})
			if err != nil {
				t.Fatal(err)
			}
			if r.Report.Verdict != checker.Clean {
				for _, e := range r.Events {
					t.Log(e)
				}
				for _, f := range r.Report.Findings {
					t.Log(f.Verdict, f.Property, f.Detail, f.Evidence)
				}
				t.Errorf("verdict %v after %v, compared %+v", r.Report.Verdict, r.Virtual, r.Report.Compared)
			}
		})
	}
}
