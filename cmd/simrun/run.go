package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/reports"
	"github.com/onefold/onefold/scenarios"
)

// verdict is a single run as a JSON document.
type verdict struct {
	Scenario       string   `json:"scenario"`
	Seed           uint64   `json:"seed"`
	Engine         string   `json:"engine"`
	Verdict        string   `json:"verdict"`
	Expected       bool     `json:"expected"`
	Findings       any      `json:"findings,omitempty"`
	Compared       any      `json:"compared"`
	VirtualSeconds float64  `json:"virtualSeconds"`
	Seconds        float64  `json:"seconds"`
	Settle         string   `json:"settle"`
	Entries        uint64   `json:"entries"`
	TraceHash      string   `json:"traceHash"`
	Faults         []string `json:"faults"`
	Events         []string `json:"events,omitempty"`
	Probes         []string `json:"probes,omitempty"`
	Plan           string   `json:"plan"`
}

func (a *app) runOne() *cobra.Command {
	var seed uint64
	var file, engine, profile string
	var trace, fast bool
	c := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "One seed of a scenario, with what happened",
		Example: `  simrun run payments --seed 7
  simrun run fraud                              the worked trace of the documentation
  simrun run payments --seed 7 --trace          every entry of the trace
  simrun run payments --seed 7 --profile k39    on brokers of Kafka 3.9
  simrun run payments --plan my.plan            the faults of a file instead of the seed's`,
		Args: one("scenario; `simrun list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, ok := scenarios.Find(args[0])
			if !ok {
				return fmt.Errorf("there is no scenario %q; `simrun list` shows all", args[0])
			}
			if s.Golden != "" && !cmd.Flags().Changed("seed") && file == "" && engine == "" {
				s, _ = scenarios.Find(s.Golden)
			}
			if err := knownEngine(engine); err != nil {
				return err
			}
			release, err := profiles(profile)
			if err == nil && len(release) > 1 {
				err = fmt.Errorf("--profile %s: one run has one release; `%s campaign %s --profile %s` runs several", profile, me(), s.Name, profile)
			}
			if err != nil {
				return err
			}
			plan, err := scenarios.PlanOn(s, seed, engine, profile)
			if err != nil {
				return err
			}
			if file != "" {
				read, err := readPlan(file)
				if err != nil {
					return err
				}
				read.Scenario = s.Name
				if cmd.Flags().Changed("seed") {
					read.Seed = seed
				}
				if engine != "" {
					read.Engine = engine
				}
				if profile != "" {
					read.Set("profile", profile)
				}
				plan = read
			}
			again := fmt.Sprintf("%s run %s --seed %d%s", me(), s.Name, plan.Seed, engineFlag(plan))
			if profile != "" {
				again += " --profile " + profile
			}
			if file != "" {
				again += " --plan " + file
			}
			return a.one(plan, scenarios.Options{Fast: fast, KeepTrace: trace}, again)
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the world and of its faults")
	c.Flags().StringVar(&file, "plan", "", "take the faults from a plan file")
	c.Flags().StringVar(&engine, "engine", "", "a known-bad engine instead of the sound one")
	c.Flags().StringVar(&profile, "profile", "", "`RELEASE` of the brokers: "+profileHint()+"; default: what the plan says")
	c.Flags().BoolVar(&trace, "trace", false, "print the trace")
	c.Flags().BoolVar(&fast, "fast", false, "without expensive checks")
	return c
}

func readPlan(file string) (faults.Plan, error) {
	if st, err := os.Stat(file); err == nil && st.IsDir() {
		for _, name := range []string{reports.ShrunkFile, reports.PlanFile} {
			if _, err := os.Stat(file + "/" + name); err == nil {
				return readPlan(file + "/" + name)
			}
		}
		return faults.Plan{}, fmt.Errorf("%s: a folder without a plan; want a plan file, or a failure's folder that a campaign wrote", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return faults.Plan{}, fmt.Errorf("%w; want a plan file, as those in scenarios/testdata, or a failure's folder that a campaign wrote", err)
	}
	p, err := faults.Parse(string(text))
	if err != nil {
		var at *faults.SyntaxError
		if errors.As(err, &at) {
			return p, fmt.Errorf("%s:%d:%d: %s", file, at.Line, at.Column, at.Reason)
		}
		return p, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// one runs a plan and prints what happened. again is the command that repeats it: a plan of a file is more than its seed.
func (a *app) one(p faults.Plan, o scenarios.Options, again string) error {
	begin := time.Now()
	r, err := scenarios.Run(p, o)
	if err != nil {
		return err
	}
	if a.json {
		err = a.document(verdictOf(r, time.Since(begin)))
	} else {
		err = a.tell(r, o, time.Since(begin), again)
	}
	if err == nil && r.Wrong {
		if r.Report.Verdict == checker.Refused {
			return fmt.Errorf("refused: %s", r.World.History.Run.Refused)
		}
		return errAgainst
	}
	return err
}

func verdictOf(r *scenarios.Result, took time.Duration) verdict {
	v := verdict{
		Scenario: r.Plan.Scenario, Seed: r.Plan.Seed, Engine: r.Plan.Engine, Verdict: r.Report.Verdict.String(), Expected: !r.Wrong,
		Findings: r.Report.Findings, Compared: r.Report.Compared, VirtualSeconds: r.Virtual.Seconds(), Seconds: took.Seconds(),
		Settle: r.Settle, Entries: r.Entries, TraceHash: fmt.Sprintf("%016x", r.Hash), Events: r.Events, Plan: r.Plan.String(),
	}
	for i, f := range r.Plan.Faults {
		v.Faults = append(v.Faults, f.String()+": "+outcome(r.Outcomes[i]))
	}
	names := scenarios.Probes()
	for _, p := range r.Probes {
		v.Probes = append(v.Probes, names[p])
	}
	return v
}

func outcome(o faults.Outcome) string {
	switch {
	case !o.Fired:
		return "its moment never came"
	case !o.Struck:
		return fmt.Sprintf("at %s, hit nothing", seconds(o.At))
	default:
		return fmt.Sprintf("at %s after %v, struck", seconds(o.At), o.Hook)
	}
}

// seconds is an instant of virtual time, to the millisecond.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// aligned rounds the time that an event begins with, so that the eye can run down the column.
func aligned(event string) string {
	at, rest, _ := strings.Cut(event, " ")
	d, err := time.ParseDuration(at)
	if err != nil {
		return event
	}
	return fmt.Sprintf("%10s %s", seconds(d), rest)
}

func (a *app) tell(r *scenarios.Result, o scenarios.Options, took time.Duration, again string) error {
	if o.KeepTrace {
		if err := r.World.Sim.WriteTrace(a.out, true); err != nil {
			return err
		}
		a.printf("\n")
	}
	a.printf("%s seed %d, engine %s\n", r.Plan.Scenario, r.Plan.Seed, r.Plan.Engine)
	for i, f := range r.Plan.Faults {
		a.printf("  fault    %s: %s\n", f, outcome(r.Outcomes[i]))
	}
	for _, e := range r.Events {
		a.printf("  job      %s\n", aligned(e))
	}
	c := r.Report.Compared
	a.printf("  judged   %d records, %d epochs, %d transactions; %v virtual in %v, %d trace entries, hash %016x\n",
		c.Records, c.Epochs, c.Transactions, r.Virtual.Round(time.Millisecond), took.Round(time.Millisecond), r.Entries, r.Hash)
	a.printf("  settled  %s\n", r.Settle)
	if r.World != nil && r.World.Story != "" {
		a.printf("%s", r.World.Story)
	}
	for _, f := range r.Report.Findings {
		detail := f.Detail
		if len(f.Evidence) > 0 { // which begins with the first
			detail = strings.TrimSuffix(detail, "; first: "+f.Evidence[0])
		}
		a.printf("  %-8s %s: %s\n", f.Verdict, f.Property, detail)
		for _, line := range f.Evidence {
			a.printf("             %s\n", line)
		}
	}
	a.printf("%s\n", r.Report.Verdict)
	if r.Wrong && !o.KeepTrace {
		a.printf("\nagain, with every step:  %s --trace\n", again)
	}
	return nil
}

func engineFlag(p faults.Plan) string {
	if p.Engine == "" || p.Engine == "sound" {
		return ""
	}
	return " --engine " + strings.TrimSpace(p.Engine)
}
