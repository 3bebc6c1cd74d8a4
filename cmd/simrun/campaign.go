package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/reports"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/campaign"
)

type campaignFlags struct {
	seeds, workers, judged int
	from                   uint64
	limit                  time.Duration
	out, engine, profile   string
	fast                   bool
}

func (a *app) campaign() *cobra.Command {
	var f campaignFlags
	c := &cobra.Command{
		Use:   "campaign [SCENARIO...]",
		Short: "Thousands of seeds on all cores, and what they found",
		Example: `  simrun campaign payments --seeds 1000
  simrun campaign --for 4m --seeds 100000       as many as fit into four minutes
  simrun campaign payments fraud ledger --seeds 10000
  simrun campaign payments --profile k39,k41    the same seeds on brokers of 3.9, then of 4.1
  simrun campaign payments --profile all        on every release, 3.5 to 4.4, and on lower levels of transaction.version`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := positive("seeds", f.seeds); err != nil {
				return err
			}
			if f.workers < 0 {
				return fmt.Errorf("--workers %d: want a whole number from 1 on; 0 is one per core", f.workers)
			}
			if f.limit < 0 {
				return fmt.Errorf("--for %v: want a time above zero, as 4m; 0 is no limit", f.limit)
			}
			if err := writable(f.out); err != nil {
				return err
			}
			all, err := chosen(args)
			if err != nil {
				return err
			}
			if err := knownEngine(f.engine); err != nil {
				return err
			}
			releases, err := profiles(f.profile)
			if err != nil {
				return err
			}
			return a.campaigns(cmd, all, releases, f)
		},
	}
	c.Flags().IntVar(&f.seeds, "seeds", 1000, "how many seeds of each scenario")
	c.Flags().Uint64Var(&f.from, "from", 1, "the first seed")
	c.Flags().DurationVar(&f.limit, "for", 0, "stop after this time, shared out over the scenarios")
	c.Flags().IntVar(&f.workers, "workers", 0, "worlds at a time; 0 is one per core")
	c.Flags().StringVar(&f.out, "out", "reports/out", "write campaign.json, junit.xml and a folder per failure here")
	c.Flags().StringVar(&f.engine, "engine", "", "a known-bad engine instead of the sound one")
	c.Flags().StringVar(&f.profile, "profile", "", "`RELEASES` of the brokers: "+profileHint()+"; \"all\"; default: what each seed says")
	c.Flags().BoolVar(&f.fast, "fast", false, "without expensive checks")
	c.Flags().IntVar(&f.judged, "judged", campaign.Judged, "from so many seeds on a probe never reached or an empty cell is VACUOUS")
	return c
}

func (a *app) campaigns(cmd *cobra.Command, all []scenarios.Scenario, releases []string, f campaignFlags) error {
	var parts []*reports.Campaign
	for _, s := range all {
		for _, release := range releases {
			part, err := a.part(cmd, s, release, f, f.limit/time.Duration(len(all)*len(releases)))
			if err != nil {
				return err
			}
			parts = append(parts, part)
		}
	}
	c := parts[0]
	if len(parts) > 1 {
		c = reports.Merge(parts)
	}
	c.Vacuous = append(c.Vacuous, a.vacuous(c, f)...)
	if f.out != "" {
		if err := reports.WriteCampaign(f.out, c); err != nil {
			return err
		}
	}
	write := c.WriteText
	if a.json {
		write = c.WriteJSON
	}
	if err := write(a.out); err != nil {
		return err
	}
	if f.out != "" {
		fmt.Fprintf(a.err, "report: %s\n", filepath.Join(f.out, "campaign.html"))
	}
	if c.Failed() {
		return errAgainst
	}
	return interrupted(cmd.Context(), "%s", count(c.Seeds, "seed"))
}

// part is the campaign of one scenario on one release; "" is what the seeds say.
func (a *app) part(cmd *cobra.Command, s scenarios.Scenario, release string, f campaignFlags, limit time.Duration) (*reports.Campaign, error) {
	options := []string{fmt.Sprintf("--seeds=%d", f.seeds), fmt.Sprintf("--from=%d", f.from), fmt.Sprintf("--fast=%v", f.fast)}
	if release != "" {
		options = append(options, "--profile="+release)
	}
	name := strings.TrimSpace(s.Name + " " + release)
	p := &progress{a: a, scenario: name}
	sum, err := campaign.Run(cmd.Context(), campaign.Config{
		Scenario: s, Engine: f.engine, Profile: release, Seeds: f.seeds, From: f.from, For: limit, Workers: f.workers, Fast: f.fast,
		Corpus: release == "", Progress: p.show,
	})
	p.end()
	if err != nil {
		return nil, err
	}
	if n := sum.Seeds; limit > 0 && n < f.seeds {
		fmt.Fprintf(a.err, "%s: %d of %d seeds fit into --for %v\n", name, n, f.seeds, limit)
	}
	return a.report(sum, f, options)
}

// writable refuses a folder for results before an hour is spent on what cannot be written.
func writable(dir string) error {
	if dir == "" {
		return nil
	}
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".simrun-*"); err == nil {
			f.Close()
			return os.Remove(f.Name())
		}
	}
	return fmt.Errorf("--out: %w; --out \"\" writes nothing", err)
}

// progress shows one line on a terminal about twice a second, and now and then a line of its own in a file.
type progress struct {
	a        *app
	scenario string
	last     time.Duration
	shown    bool
}

// terminal reports whether w is one, where a line can be written over.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}

func (p *progress) show(n campaign.Progress) {
	start, end, every := "\r", "   ", 500*time.Millisecond
	if !terminal(p.a.err) {
		start, end, every = "", "\n", 10*time.Second
	}
	if n.Elapsed-p.last < every {
		return
	}
	p.last, p.shown = n.Elapsed, start != ""
	fmt.Fprintf(p.a.err, start+"%s %d/%d, %.0f seeds/s, %s"+end, p.scenario, n.Done, n.Seeds, float64(n.Done)/n.Elapsed.Seconds(), verdictsText(n.Verdicts))
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
