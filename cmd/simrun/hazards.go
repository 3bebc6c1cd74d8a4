package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/scenarios/hazard"
)

func (a *app) hazards() *cobra.Command {
	var profile string
	var show, markdown bool
	c := &cobra.Command{
		Use:   "hazards [H1...]",
		Short: "What can go wrong with Kafka: each hazard shown, gone where it is closed, and survived",
		Long: `Each hazard of the catalogue is a script that shows it on a simulated cluster, release by release, and finds it gone where a
release closes it; and fault plans that put the engine in its way, with the verdict that is expected and proof that the
condition came about. One hazard named is told step by step.

The table: "shown" and "gone" are releases, TV1 and TV2 the cluster's transaction.version; "engine" is what became of the engine on
each release: CLEAN, LOUD-LOSS (what is lost is named), REFUSED (it does not start on such brokers); a known-bad engine falls for
the hazard. The steps: CURED is what a client does against a hazard that no release closes. A trial is one plan on one release.

Exit codes: 0 everything is as the catalogue says, 1 it is not, 2 usage or environment.`,
		Example: `  simrun hazards                       the table
  simrun hazards H13                   one of them, step by step
  simrun hazards H3 H10 --profile k41  two of them, on brokers 4.1 only
  simrun hazards --profile k39         what can happen on brokers of 3.9
  simrun hazards --show                all of them, step by step`,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := hazardsOf(args)
			if err != nil {
				return err
			}
			var profiles []string
			if profile != "" {
				if !slices.Contains(hazard.Profiles(), profile) {
					return fmt.Errorf("--profile %s: there is no such profile; there are %s", profile, strings.Join(hazard.Profiles(), ", "))
				}
				profiles = []string{profile}
			}
			reports := runHazards(cmd.Context(), list, profiles)
			if err := interrupted(cmd.Context(), "some of %s", count(len(list), "hazard")); err != nil {
				return err
			}
			switch {
			case a.json:
				err = a.document(hazardsDocument(reports))
			case markdown:
				hazard.WriteMarkdown(a.out, reports)
			case show || len(args) == 1:
				for _, r := range reports {
					hazard.WriteStory(a.out, r)
				}
			default:
				hazard.WriteTable(a.out, reports)
			}
			if err != nil {
				return err
			}
			return a.judgeHazards(reports, markdown)
		},
	}
	c.Flags().StringVar(&profile, "profile", "", "one release of the brokers only, such as k44 or k41-tv1")
	c.Flags().BoolVar(&show, "show", false, "tell each hazard step by step")
	c.Flags().BoolVar(&markdown, "markdown", false, "print the table of scenarios/hazard/HAZARDS.md")
	return c
}

// judgeHazards prints the sum, and what to do next where something is not as the catalogue says.
func (a *app) judgeHazards(reports []hazard.Report, quiet bool) error {
	trials, wrong := 0, []string{}
	for _, r := range reports {
		trials += len(r.Outcomes)
		if len(r.Wrong) > 0 {
			wrong = append(wrong, r.Hazard.Name())
		}
	}
	if !a.json && !quiet {
		a.printf("\n%s, %s of the engine: %d not as the catalogue says\n", count(len(reports), "hazard"), count(trials, "trial"), len(wrong))
	}
	if len(wrong) == 0 {
		if !a.json && !quiet && len(reports) == 1 && reports[0].Hazard.Real.Feasible {
			a.printf("next, on real brokers:  make hazards KAFKA_VERSION=4.4.0 HAZARDS=%s\n", reports[0].Hazard.Name())
		}
		return nil
	}
	if !a.json && len(reports) > 1 {
		a.printf("step by step:  %s hazards %s\n", me(), wrong[0])
	}
	return errAgainst
}

// hazardsOf are the hazards named, or all.
func hazardsOf(names []string) ([]hazard.Hazard, error) {
	if len(names) == 0 {
		return hazard.All(), nil
	}
	var list []hazard.Hazard
	for _, name := range names {
		n, err := strconv.Atoi(strings.TrimLeft(name, "Hh"))
		h, ok := hazard.Find(n)
		if err != nil || !ok {
			return nil, fmt.Errorf("there is no hazard %q: they are H1 to H%d; `simrun hazards` lists them", name, len(hazard.All()))
		}
		list = append(list, h)
	}
	return list, nil
}

// runHazards runs hazards on all cores, until ctx ends; each is deterministic by itself.
func runHazards(ctx context.Context, list []hazard.Hazard, profiles []string) []hazard.Report {
	reports := make([]hazard.Report, len(list))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wg.Go(func() {
			for i := range next {
				reports[i] = hazard.Run(list[i], profiles...)
			}
		})
	}
	for i := 0; i < len(list) && ctx.Err() == nil; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
	return reports
}

// hazardReport is one hazard as a JSON document.
type hazardReport struct {
	Hazard   string   `json:"hazard"`
	Title    string   `json:"title"`
	Shown    string   `json:"shown"`
	Gone     string   `json:"gone"`
	Engine   []string `json:"engine"`
	ClosedBy string   `json:"closedBy"`
	Wrong    []string `json:"wrong,omitempty"`
}

func hazardsDocument(reports []hazard.Report) any {
	var all []hazardReport
	for _, r := range reports {
		d := hazardReport{Hazard: r.Hazard.Name(), Title: r.Hazard.Title, Shown: r.Shown(), Gone: r.Gone(), ClosedBy: r.Hazard.ClosedBy, Wrong: r.Wrong}
		for _, o := range r.Outcomes {
			d.Engine = append(d.Engine, o.String())
		}
		all = append(all, d)
	}
	return map[string]any{"hazards": all}
}
