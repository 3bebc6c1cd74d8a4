package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/faults/shrink"
	"github.com/onefold/onefold/scenarios"
)

func (a *app) repro() *cobra.Command {
	var trace bool
	c := &cobra.Command{
		Use:   "repro FILE",
		Short: "Repeat a plan, or a failure's folder; exit 1 if a verdict against it comes again",
		Long: `Repeat a plan, or the folder of a failure that a campaign wrote. A plan may have a line "expect DUP": then exit 0 if that verdict
comes again, and 1 if it does not. Without one, exit 0 if the run is CLEAN, and 1 if a verdict against it comes again.`,
		Example: `  simrun repro reports/out/payments-42
  simrun repro scenarios/testdata/dropped-marker-k44.plan --trace`,
		Args: one("plan file, or a failure's folder that a campaign wrote"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readPlan(args[0])
			if err != nil {
				return err
			}
			return a.one(p, scenarios.Options{KeepTrace: trace}, me()+" repro "+args[0])
		},
	}
	c.Flags().BoolVar(&trace, "trace", false, "print the trace")
	return c
}

// signature runs a plan and returns what makes its failure the same as another; "" when it passes or cannot run.
func signature(p faults.Plan) string {
	r, err := scenarios.Run(p, scenarios.Options{})
	if err != nil || r.Report.Verdict == checker.Clean {
		return ""
	}
	return r.Report.Signature()
}

func (a *app) shrink() *cobra.Command {
	var out string
	var runs int
	c := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Make a failing plan smaller while the same failure stands",
		Example: `  simrun shrink reports/out/payments-42
  simrun shrink my.plan --out smaller.plan`,
		Args: one("plan file, or a failure's folder that a campaign wrote"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := positive("runs", runs); err != nil {
				return err
			}
			p, err := readPlan(args[0])
			if err != nil {
				return err
			}
			p.Expect = nil
			want := signature(p)
			if want == "" {
				return fmt.Errorf("%s: the run is CLEAN, so there is nothing to shrink", args[0])
			}
			fmt.Fprintf(a.err, "holding %s\n", strings.TrimSpace(want))
			r, err := shrink.Shrink(p, want, signature, shrink.Options{MaxRuns: runs, Progress: func(p faults.Plan, runs int) {
				fmt.Fprintf(a.err, "  after %d runs: %s\n", runs, faultsText(p))
			}})
			if err != nil {
				return err
			}
			if out != "" {
				if err := writeWhole(out, r.Plan.String()); err != nil {
					return err
				}
			}
			if a.json {
				return a.document(map[string]any{"plan": r.Plan.String(), "faults": len(r.Plan.Faults), "runs": r.Runs, "minimal": r.Minimal, "signature": want})
			}
			a.printf("%s", r.Plan)
			fmt.Fprintf(a.err, "%s after %d runs, minimal: %v\n", faultsText(r.Plan), r.Runs, r.Minimal)
			if out != "" {
				fmt.Fprintf(a.err, "again:  %s repro %s\n", me(), out)
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "also write the plan to a file")
	c.Flags().IntVar(&runs, "runs", 300, "at most so many runs")
	return c
}

func faultsText(p faults.Plan) string { return count(len(p.Faults), "fault") }

// count is a number of things: 1 fault, 2 faults.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// writeWhole writes a file whole or not at all.
func writeWhole(file, text string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".simrun-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}
