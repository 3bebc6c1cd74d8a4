package shrink

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/faults"
)

func plan(t *testing.T, lines ...string) faults.Plan {
	t.Helper()
	p, err := faults.Parse("onefold plan 1\nscenario x\nworld taskmanagers=3 records=6000\nengine sound\n" + strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func has(p faults.Plan, part string) bool { return strings.Contains(p.String(), part) }

// A plan of which one half is enough for this failure, and another half for a different one, must shrink to the first.
func TestShrinkHoldsItsSignature(t *testing.T) {
	p := plan(t, "at 1s crash tm1 for 8s", "at 2s pause tm2 for 3s", "on k9 lose-reply EndTxn all for 3", "at 3s slow-link tm1 tm2 by 1s for 2s",
		"on r2 crash self for 1s", "at 9s crash jm1 for 2s")
	run := func(p faults.Plan) string {
		switch {
		case has(p, "lose-reply EndTxn") && has(p, "on r2 crash") && p.Int("records", 0) >= 700:
			return "DUP once totals committed"
		case has(p, "pause tm2"):
			return "GAP once totals aborted"
		}
		return ""
	}
	got, err := Shrink(p, "DUP once totals committed", run, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Plan.Faults) != 2 || !got.Minimal || got.Plan.Int("records", 0) >= 1400 || got.Plan.Int("taskmanagers", 0) != 1 {
		t.Errorf("%d runs:\n%s", got.Runs, got.Plan)
	}
	if has(got.Plan, "for 3") || has(got.Plan, "for 1s") {
		t.Errorf("not simplified:\n%s", got.Plan)
	}
	for i, w := range got.Without {
		if w != "" {
			t.Errorf("without fault %d it still fails: %s", i, w)
		}
	}
	again, _ := Shrink(p, "DUP once totals committed", run, Options{})
	if again.Plan.String() != got.Plan.String() || again.Runs != got.Runs {
		t.Error("shrinking twice gave two plans")
	}
}

// A search that is not bounded holds a campaign up for hours; one that is cut short must say that it is not minimal.
func TestShrinkIsBounded(t *testing.T) {
	p := plan(t, "at 1s crash tm1 for 8s", "at 2s pause tm2 for 3s", "at 3s crash tm3 for 4s")
	runs := 0
	got, err := Shrink(p, "X", func(faults.Plan) string { runs++; return "X" }, Options{MaxRuns: 2})
	if err != nil || runs != 2 || got.Runs != 2 || got.Minimal && len(got.Plan.Faults) > 0 {
		t.Errorf("%d runs, %+v, %v", runs, got, err)
	}
}

// A plan that does not fail, or fails otherwise, has nothing to hold.
func TestShrinkRefusesAnotherFailure(t *testing.T) {
	if _, err := Shrink(plan(t), "X", func(faults.Plan) string { return "Y" }, Options{}); err == nil {
		t.Error("accepted")
	}
}
