package main

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/campaign"
)

type campaignFlags struct {
	seeds, workers, judged int
	from                   uint64
	limit                  time.Duration
	out, engine            string
	fast                   bool
}

func (a *app) campaign() *cobra.Command {
	var f campaignFlags
	c := &cobra.Command{
		Use:   "campaign [SCENARIO...]",
		Short: "Thousands of seeds on all cores, and what they found",
		Example: `  simrun campaign payments --seeds 1000
  simrun campaign --for 4m --seeds 100000       as many as fit into four minutes
  simrun campaign payments fraud ledger --seeds 10000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := positive("seeds", f.seeds); err != nil {
				return err
			}
			if f.workers < 0 {
				return fmt.Errorf("--workers %d: want a whole number from 1 on; 0 is one per core", f.workers)
			}
			all, err := chosen(args)
			if err != nil {
				return err
			}
			return a.campaigns(cmd, all, f)
		},
	}
	c.Flags().IntVar(&f.seeds, "seeds", 1000, "how many seeds of each scenario")
	c.Flags().Uint64Var(&f.from, "from", 1, "the first seed")
	c.Flags().DurationVar(&f.limit, "for", 0, "stop after this time, shared out over the scenarios")
	c.Flags().IntVar(&f.workers, "workers", 0, "worlds at a time; 0 is one per core")
	c.Flags().StringVar(&f.out, "out", "reports/out", "write campaign.json, junit.xml and a folder per failure here")
	c.Flags().StringVar(&f.engine, "engine", "", "a known-bad engine instead of the sound one")
	c.Flags().BoolVar(&f.fast, "fast", false, "without expensive checks")
	c.Flags().IntVar(&f.judged, "judged", campaign.Judged, "from so many seeds on a probe never reached or an empty cell is VACUOUS")
	return c
}

func (a *app) campaigns(cmd *cobra.Command, all []scenarios.Scenario, f campaignFlags) error {
	var sums []*campaign.Summary
	for _, s := range all {
		p := &progress{a: a, scenario: s.Name}
		sum, err := campaign.Run(cmd.Context(), campaign.Config{
			Scenario: s, Engine: f.engine, Seeds: f.seeds, From: f.from, For: f.limit / time.Duration(len(all)), Workers: f.workers, Fast: f.fast,
			Progress: p.show,
		})
		p.end()
		if err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	against := false
	for _, s := range sums {
		a.summary(s, f)
		against = against || len(s.Failures) > 0 || len(s.Vacuous(f.judged)) > 0
	}
	if against {
		return errAgainst
	}
	return nil
}

// progress shows a line about twice a second.
type progress struct {
	a        *app
	scenario string
	last     time.Duration
	shown    bool
}

func (p *progress) show(n campaign.Progress) {
	if n.Elapsed-p.last < 500*time.Millisecond {
		return
	}
	p.last, p.shown = n.Elapsed, true
	fmt.Fprintf(p.a.err, "\r%s %d/%d, %.0f seeds/s, %s   ", p.scenario, n.Done, n.Seeds, float64(n.Done)/n.Elapsed.Seconds(), verdictsText(n.Verdicts))
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprintln(p.a.err)
	}
}

func verdictsText(m map[checker.Verdict]int) string {
	var all []checker.Verdict
	for v := range m {
		all = append(all, v)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Severity() > all[j].Severity() })
	var b []string
	for _, v := range all {
		b = append(b, fmt.Sprintf("%v %d", v, m[v]))
	}
	return strings.Join(b, ", ")
}

func (a *app) summary(s *campaign.Summary, f campaignFlags) {
	a.printf("%s: %d seeds from %d: %s\n", s.Scenario, s.Seeds, s.From, verdictsText(s.Verdicts))
	a.printf("  %.1f seeds/s, %.0f virtual seconds per real second, %d trace entries per seed, hash %016x\n",
		float64(s.Seeds)/s.Elapsed.Seconds(), s.Virtual.Seconds()/s.Elapsed.Seconds(), int(s.Entries)/max(1, s.Seeds), s.Hash)
	a.printf("  compared %d records, %d epochs, %d transactions, %d log operations\n", s.Compared.Records, s.Compared.Epochs, s.Compared.Transactions, s.Compared.Operations)
	for i, x := range s.Failures {
		if i == 20 {
			a.printf("  and %d more\n", len(s.Failures)-i)
			break
		}
		detail := ""
		if len(x.Report.Findings) > 0 {
			detail = x.Report.Findings[0].Property + ": " + x.Report.Findings[0].Detail
		}
		a.printf("  %-10s seed %d: %.200s\n             again:  %s\n", x.Report.Verdict, x.Seed, detail, x.Command)
	}
	for _, w := range s.Vacuous(f.judged) {
		a.printf("  VACUOUS    %s\n", w)
	}
}
