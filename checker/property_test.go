package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// options of a judge command: complete, at-least-once, at-most-once, running, no-epochs, max-unstable=N, restarts=N.
func optionsOf(d *datadriven.TestData) Options {
	o := Options{
		Complete: d.HasArg("complete"), AtLeastOnce: d.HasArg("at-least-once"), AtMostOnce: d.HasArg("at-most-once"),
		Running: d.HasArg("running"), NoEpochs: d.HasArg("no-epochs"),
	}
	if d.HasArg("without-named") { // a loss is always named, too
		o.Without = []string{"losses-named"}
	}
	if d.HasArg("restarts") {
		d.ScanArgs(&testing.T{}, "restarts", &o.MaxRestarts)
	}
	if d.HasArg("max-unstable") {
		d.ScanArgs(&testing.T{}, "max-unstable", &o.MaxUnstable)
	}
	return o
}

func printReport(r Report) string {
	var b strings.Builder
	var names []string
	for _, v := range r.Verdicts {
		names = append(names, v.String())
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(names, " "))
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s: %s\n", f.Verdict, f.Property, f.Detail)
		for i, e := range f.Evidence {
			if i > 0 {
				fmt.Fprintf(&b, "  %s\n", e)
			}
		}
	}
	return b.String()
}

// Each property has a history of at most ten lines that only it rejects. Without that a property may be dead, or another
// one may do its work by accident.
func TestEachPropertyAloneRejectsItsHistory(t *testing.T) {
	shown := map[string]int{}
	datadriven.RunTest(t, "testdata/properties", func(t *testing.T, d *datadriven.TestData) string {
		var property string
		d.ScanArgs(t, "property", &property)
		if n := len(strings.Split(strings.TrimSpace(d.Input), "\n")); n > 10 {
			t.Errorf("%s: %d lines", d.Pos, n)
		}
		opts := optionsOf(d)
		r := Check(history(t, d.Input), sums{}, opts)
		if property == "none" {
			if r.Verdict != Clean {
				t.Errorf("%s: not clean", d.Pos)
			}
			return printReport(r)
		}
		if len(r.Findings) == 0 {
			t.Errorf("%s: nothing found", d.Pos)
		}
		for _, f := range r.Findings {
			if f.Property != property {
				t.Errorf("%s: also rejected by %s: %s", d.Pos, f.Property, f.Detail)
			}
		}
		opts.Without = append(opts.Without, property)
		if without := Check(history(t, d.Input), sums{}, opts); without.Verdict != Clean {
			t.Errorf("%s: without %s it is %s", d.Pos, property, without.Verdict)
		}
		shown[property]++
		return printReport(r)
	})
	for _, p := range Properties() {
		if shown[p] == 0 {
			t.Errorf("no history for property %s: taking it out would turn no test red", p)
		}
	}
}

// Histories that look bad and are not: each is a way to be kinder than the truth, or harsher.
func TestCleanAndCombined(t *testing.T) {
	datadriven.RunTest(t, "testdata/combined", func(t *testing.T, d *datadriven.TestData) string {
		return printReport(Check(history(t, d.Input), sums{}, optionsOf(d)))
	})
}
