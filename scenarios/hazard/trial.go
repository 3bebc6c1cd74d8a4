package hazard

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios"
)

// Outcome is what became of the engine in one trial under one profile.
type Outcome struct {
	Trial   Trial
	Profile string
	Verdict checker.Verdict
	// Missing is the evidence that did not show; empty: the condition came about.
	Missing []string
	Result  *scenarios.Result
	Command string // repeats it
}

// Right reports whether the verdict is the expected one and the condition came about.
func (o Outcome) Right() bool { return o.Verdict == o.Trial.Verdict && len(o.Missing) == 0 }

// profiles under which a trial is run; the plan's own where it names none.
func (t Trial) profiles() []string {
	if len(t.Profiles) > 0 {
		return t.Profiles
	}
	p, err := t.plan()
	if err != nil {
		return nil
	}
	own, _ := p.Get("profile")
	return []string{own}
}

func (t Trial) plan() (faults.Plan, error) {
	for _, list := range [][]scenarios.CorpusPlan{scenarios.HazardPlans(), scenarios.Corpus()} {
		for _, c := range list {
			if c.Name == t.Plan {
				return c.Plan.Clone(), nil
			}
		}
	}
	return faults.Plan{}, fmt.Errorf("there is no plan scenarios/testdata/%s.plan", t.Plan)
}

// Try runs a trial under a profile.
func (t Trial) Try(profile string) (Outcome, error) {
	o := Outcome{Trial: t, Profile: profile}
	p, err := t.plan()
	if err != nil {
		return o, err
	}
	own, _ := p.Get("profile")
	p.Set("profile", profile)
	p.Expect = []string{t.Verdict.String()}
	o.Command = fmt.Sprintf("simrun repro scenarios/testdata/%s.plan", t.Plan)
	if own != profile {
		o.Command = fmt.Sprintf("simrun run %s --plan scenarios/testdata/%s.plan --profile %s", p.Scenario, t.Plan, profile)
	}
	var tells []func(*scenarios.Result) bool
	r, err := scenarios.Run(p, scenarios.Options{Watch: func(w *scenarios.World) {
		for _, e := range t.Evidence {
			tells = append(tells, e.Watch(w))
		}
	}})
	if err != nil {
		return o, fmt.Errorf("plan %s under %s: %w", t.Plan, profile, err)
	}
	o.Result, o.Verdict = r, r.Report.Verdict
	for i, e := range t.Evidence {
		if !tells[i](r) {
			o.Missing = append(o.Missing, e.What)
		}
	}
	return o, nil
}

// Lost is what a run with LOUD-LOSS named, in words; "" for others.
func (o Outcome) Lost() string {
	if o.Verdict != checker.LoudLoss {
		return ""
	}
	ranges, records := 0, int64(0)
	for _, c := range o.Result.World.History.Claims {
		if c.Kind == checker.Loss {
			for _, l := range c.Lost {
				ranges++
				records += l.Count
			}
		}
	}
	return fmt.Sprintf("%d records in %d ranges named", records, ranges)
}

// String is the outcome in one line.
func (o Outcome) String() string {
	s := fmt.Sprintf("%s under %s: %s", o.Trial.Plan, VersionOf(o.Profile), o.Verdict)
	if l := o.Lost(); l != "" {
		s += ", " + l
	}
	if o.Verdict != o.Trial.Verdict {
		s += fmt.Sprintf(", %s was expected", o.Trial.Verdict)
	}
	if len(o.Missing) > 0 {
		s += "; never seen: " + strings.Join(o.Missing, ", ")
	}
	return s
}
