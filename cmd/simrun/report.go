package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/faults/shrink"
	"github.com/onefold/onefold/reports"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/campaign"
)

// Bounds per scenario. A folder holds a whole trace, some megabytes; shrinking a plan takes dozens of runs, and failures of
// one cause shrink to the same plan.
const (
	maxFolders = 100 // failures that get a folder of their own, each run again for it; the rest have their command
	maxShrunk  = 5   // of these, those whose plan is shrunk, too
)

// report turns what a campaign found into its document, and writes the folders of its failures.
func (a *app) report(s *campaign.Summary, f campaignFlags, options []string) (*reports.Campaign, error) {
	c := &reports.Campaign{
		Scenario: s.Scenario, Engine: s.Engine, Profile: s.Profile, From: s.From, Seeds: s.Seeds, Verdicts: map[string]int{}, Cancelled: s.Cancelled,
		EntriesPerSeed: s.Entries / uint64(max(1, s.Seeds)), Compared: s.Compared, Probes: map[string]int{},
		TraceHash: fmt.Sprintf("%016x", s.Hash), Build: reports.ThisBuild(options...),
	}
	for v, n := range s.Verdicts {
		c.Verdicts[v.String()] = n
	}
	names := scenarios.Probes()
	for i, n := range s.Probes {
		c.Probes[names[i]] = n
	}
	c.Cover(&s.Coverage)
	for i, x := range s.Failures {
		run := reports.NewRun(x.Plan, nil, x.Report)
		run.Command = as(x.Command)
		line := run.Failure()
		if f.out != "" && i < maxFolders {
			folder, err := a.folder(x, f, options, i < maxShrunk)
			if err != nil {
				return nil, err
			}
			line.Folder, line.Command = folder, me()+" repro "+folder
		}
		c.Failures = append(c.Failures, line)
	}
	c.Vacuous = append(c.Vacuous, s.Hollow()...)
	c.Finish(s.Elapsed, s.Virtual)
	return c, nil
}

// as is a command as its reader can run it.
func as(command string) string {
	if rest, ok := strings.CutPrefix(command, "simrun "); ok {
		return me() + " " + rest
	}
	return command
}

// folder runs a failure again with its trace, makes its plan smaller if told, and writes all of it down.
func (a *app) folder(x campaign.Failure, f campaignFlags, options []string, small bool) (string, error) {
	fmt.Fprintf(a.err, "%s seed %d: %v; writing its folder\n", x.Plan.Scenario, x.Seed, x.Report.Verdict)
	begin := time.Now()
	r, err := scenarios.Run(x.Plan, scenarios.Options{KeepTrace: true})
	if err != nil {
		return "", err
	}
	run := reports.NewRun(x.Plan, r.Outcomes, r.Report)
	run.Seconds, run.VirtualSeconds = time.Since(begin).Seconds(), r.Virtual.Seconds()
	run.Settle = r.Settle
	run.TraceEntries, run.TraceHash, run.Events = r.Entries, fmt.Sprintf("%016x", r.Hash), r.Events
	run.Build, run.Command = reports.ThisBuild(options...), as(x.Command)
	if small {
		if smaller, err := shrink.Shrink(x.Plan, r.Report.Signature(), signature, shrink.Options{MaxRuns: 60}); err == nil {
			run.ShrunkPlan = smaller.Plan.String()
		}
	}
	return reports.WriteFolder(f.out, reports.Folder{
		Run: run, History: r.World.History,
		Trace: func(w io.Writer) error { return r.World.Sim.WriteTrace(w, true) },
	})
}

// vacuous is what a campaign that is large enough to be judged never reached.
func (a *app) vacuous(c *reports.Campaign, f campaignFlags) []string {
	if c.Seeds < f.judged || c.Engine != "" && c.Engine != "sound" || f.profile != "" { // one release reaches less, and runs no corpus
		return nil
	}
	var why []string
	for i, name := range scenarios.Probes() {
		if c.Probes[name] == 0 && !scenarios.ProbeIsScripted(i) {
			why = append(why, "probe never reached: "+name)
		}
	}
	for k := range faults.KindCount {
		row := c.Coverage[k.String()]
		for h := range faults.HookCount {
			if row[h.String()] == 0 && faults.ImpossibleReason(k, h) == "" {
				why = append(why, fmt.Sprintf("fault never struck: %v at hook %v", k, h))
			}
		}
	}
	return why
}
