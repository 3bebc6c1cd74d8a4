package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/faults/shrink"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/campaign"
	"github.com/onefold/onefold/scenarios/controls"
)

// caught is the outcome for one known-bad engine.
type caught struct {
	Engine    string   `json:"engine"`
	Doc       string   `json:"doc"`
	Predicted []string `json:"predicted"`
	Verdict   string   `json:"verdict"` // with which it was caught; empty: it was not
	Seeds     int      `json:"seeds"`   // needed
	Quiet     string   `json:"quiet"`   // verdict on the empty plan
	Faults    int      `json:"faults"`  // of the shrunk plan
	Plan      string   `json:"plan,omitempty"`
	Command   string   `json:"command,omitempty"`
}

func (a *app) controls() *cobra.Command {
	var seeds int
	var small bool
	var out string
	c := &cobra.Command{
		Use:   "controls [ENGINE...]",
		Short: "Each known-bad engine must be caught, with the verdict that is predicted",
		Long: `A harness that cannot see a broken engine proves nothing. Each known-bad engine breaks one link of the chain or one rule of
the protocol. It must be CLEAN on the empty plan and be caught by a campaign with the verdict that is predicted.`,
		Example: `  simrun controls
  simrun controls no-fencing --seeds 500 --shrink`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := positive("seeds", seeds); err != nil {
				return err
			}
			list, err := engines(args)
			if err != nil {
				return err
			}
			var all []caught
			missed := 0
			for _, e := range list {
				begin := time.Now()
				r, err := a.catch(cmd, e, seeds, small)
				if err == nil && r.Verdict == "" {
					err = interrupted(cmd.Context(), "%d of %d known-bad engines", len(all), len(list))
				}
				if err != nil {
					return err
				}
				if r.Verdict == "" || r.Quiet != checker.Clean.String() {
					missed++
				}
				all = append(all, r)
				if !a.json {
					a.printf("%s\n", r.line(time.Since(begin)))
				}
			}
			if out != "" {
				if err := writeControls(out, all); err != nil {
					return err
				}
			}
			if a.json {
				if err := a.document(map[string]any{"controls": all, "missed": missed}); err != nil {
					return err
				}
			} else {
				a.printf("%d of %d known-bad engines caught\n", len(all)-missed, len(all))
			}
			if missed > 0 {
				return errAgainst
			}
			return nil
		},
	}
	c.Flags().IntVar(&seeds, "seeds", 500, "try so many seeds for each engine")
	c.Flags().StringVar(&out, "out", "", "write controls.json and the plan that caught each engine here")
	c.Flags().BoolVar(&small, "shrink", false, "also shrink the plan found")
	return c
}

// writeControls writes what caught each engine, each file whole or not at all.
func writeControls(dir string, all []caught) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range all {
		if c.Plan == "" {
			continue
		}
		if err := writeWhole(filepath.Join(dir, c.Engine+".plan"), c.Plan); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(dir, "controls.json"), string(text)+"\n")
}

func engines(names []string) ([]controls.Engine, error) {
	if len(names) == 0 {
		return controls.All(), nil
	}
	var list []controls.Engine
	for _, n := range names {
		e, ok := controls.Find(n)
		if !ok {
			return nil, fmt.Errorf("there is no engine %q; `simrun list` shows all", n)
		}
		list = append(list, e)
	}
	return list, nil
}

func (a *app) catch(cmd *cobra.Command, e controls.Engine, seeds int, small bool) (caught, error) {
	r := caught{Engine: e.Name, Doc: e.Doc}
	for _, v := range e.Verdicts {
		r.Predicted = append(r.Predicted, v.String())
	}
	s, ok := scenarios.Find(e.Scenario)
	if !ok {
		return r, fmt.Errorf("engine %s names scenario %q, which is not there", e.Name, e.Scenario)
	}
	quiet, err := scenarios.PlanOf(s, 1, e.Name)
	if err != nil {
		return r, err
	}
	quiet.Faults = nil
	quiet.World = slices.DeleteFunc(quiet.World, func(s faults.Setting) bool { return s.Key == "meddle" })
	q, err := scenarios.Run(quiet, scenarios.Options{})
	if err != nil {
		return r, err
	}
	r.Quiet = q.Report.Verdict.String()
	sum, err := campaign.Run(cmd.Context(), campaign.Config{Scenario: s, Engine: e.Name, Seeds: seeds, From: 1, StopAt: e.Verdicts})
	if err != nil {
		return r, err
	}
	for _, f := range sum.Failures {
		if campaign.Has(f.Report, e.Verdicts) {
			r.Verdict, r.Seeds, r.Command = verdictsOf(f.Report), int(f.Seed), f.Command
			r.Faults, r.Plan = len(f.Plan.Faults), f.Plan.String()
			if small {
				return r, r.shrink(f)
			}
			return r, nil
		}
	}
	r.Seeds = sum.Seeds
	return r, nil
}

func (r *caught) shrink(f campaign.Failure) error {
	smaller, err := shrink.Shrink(f.Plan, f.Report.Signature(), signature, shrink.Options{MaxRuns: 150})
	if err != nil {
		return err
	}
	r.Faults, r.Plan = len(smaller.Plan.Faults), smaller.Plan.String()
	return nil
}

func verdictsOf(r checker.Report) string {
	var names []string
	for _, v := range r.Verdicts {
		names = append(names, v.String())
	}
	return strings.Join(names, ", ")
}

func (r caught) line(took time.Duration) string {
	if r.Verdict == "" {
		return fmt.Sprintf("MISSED %-28s after %d seeds, predicted %v, quiet %s (%v): %s", r.Engine, r.Seeds, r.Predicted, r.Quiet, took.Round(time.Millisecond*100), r.Doc)
	}
	quiet := ""
	if r.Quiet != checker.Clean.String() {
		quiet = " BUT " + r.Quiet + " on the empty plan"
	}
	return fmt.Sprintf("caught %-28s at seed %3d by %s, %s (%v)%s; %s", r.Engine, r.Seeds, r.Verdict, count(r.Faults, "fault"), took.Round(time.Millisecond*100), quiet, r.Command)
}
