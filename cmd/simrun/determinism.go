package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/campaign"
)

// chosen are the scenarios named, or those of a campaign that names none.
func chosen(names []string) ([]scenarios.Scenario, error) {
	var all []scenarios.Scenario
	if len(names) == 0 {
		for _, s := range scenarios.Catalogue() {
			if s.Campaign {
				all = append(all, s)
			}
		}
		return all, nil
	}
	for _, n := range names {
		s, ok := scenarios.Find(n)
		if !ok {
			return nil, fmt.Errorf("there is no scenario %q; `simrun list` shows all", n)
		}
		all = append(all, s)
	}
	return all, nil
}

// hashes is the child process of determinism: it prints the trace hash of each seed.
func (a *app) hashes(seeds *int, from *uint64) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		all, err := chosen(args)
		if err != nil {
			return err
		}
		out := map[string][]string{}
		for _, s := range all {
			sum, err := campaign.Run(cmd.Context(), campaign.Config{Scenario: s, Seeds: *seeds, From: *from, Fast: true})
			if err != nil {
				return err
			}
			for _, h := range sum.Hashes {
				out[s.Name] = append(out[s.Name], fmt.Sprintf("%016x", h))
			}
		}
		return json.NewEncoder(a.out).Encode(out)
	}
}

type difference struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`
	First    string `json:"first"`
	Second   string `json:"second"`
}

func (a *app) determinism() *cobra.Command {
	var seeds int
	var from uint64
	var child bool
	c := &cobra.Command{
		Use:     "determinism [SCENARIO...]",
		Short:   "Run every seed in two fresh processes and compare the trace hashes",
		Example: `  simrun determinism --seeds 500`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := positive("seeds", seeds); err != nil {
				return err
			}
			if child {
				return a.hashes(&seeds, &from)(cmd, args)
			}
			all, err := chosen(args)
			if err != nil {
				return err
			}
			begin := time.Now()
			var diffs []difference
			compared := 0
			for _, s := range all {
				d, n, err := a.compare(cmd.Context(), s.Name, seeds, from)
				if err != nil {
					return err
				}
				diffs, compared = append(diffs, d...), compared+n
			}
			return a.compared(diffs, compared, time.Since(begin))
		},
	}
	c.Flags().IntVar(&seeds, "seeds", 100, "how many seeds of each scenario")
	c.Flags().Uint64Var(&from, "from", 1, "the first seed")
	c.Flags().BoolVar(&child, "hashes", false, "")
	_ = c.Flags().MarkHidden("hashes")
	return c
}

// compare runs two processes under different schedulers and collectors.
func (a *app) compare(ctx context.Context, scenario string, seeds int, from uint64) ([]difference, int, error) {
	var runs [2][]string
	for i, env := range [][]string{{"GOMAXPROCS=1", "GOGC=20"}, {"GOMAXPROCS=4", "GOGC=400"}} {
		fmt.Fprintf(a.err, "%s: %d seeds, process %d of 2 (%s %s)\n", scenario, seeds, i+1, env[0], env[1])
		self, err := os.Executable()
		if err != nil {
			return nil, 0, err
		}
		cmd := exec.CommandContext(ctx, self, "determinism", scenario, "--hashes", "--seeds", strconv.Itoa(seeds), "--from", strconv.FormatUint(from, 10))
		cmd.Env, cmd.Stderr = append(os.Environ(), env...), a.err
		text, err := cmd.Output()
		if err != nil {
			return nil, 0, fmt.Errorf("process %d: %w", i+1, err)
		}
		var hashes map[string][]string
		if err := json.Unmarshal(text, &hashes); err != nil {
			return nil, 0, fmt.Errorf("process %d: %w", i+1, err)
		}
		runs[i] = hashes[scenario]
	}
	if len(runs[0]) != seeds || len(runs[1]) != seeds {
		return nil, 0, fmt.Errorf("%s: %d and %d hashes of %d seeds", scenario, len(runs[0]), len(runs[1]), seeds)
	}
	var diffs []difference
	for i := range runs[0] {
		if runs[0][i] != runs[1][i] {
			diffs = append(diffs, difference{scenario, from + uint64(i), runs[0][i], runs[1][i]})
		}
	}
	return diffs, seeds, nil
}

func (a *app) compared(diffs []difference, n int, took time.Duration) error {
	if a.json {
		if err := a.document(map[string]any{"seeds": n, "differences": diffs, "seconds": took.Seconds()}); err != nil {
			return err
		}
	} else {
		for _, d := range diffs {
			a.printf("NONDETERMINISTIC %s seed %d: %s and %s; again:  %s run %s --seed %d --trace\n", d.Scenario, d.Seed, d.First, d.Second, me(), d.Scenario, d.Seed)
		}
		a.printf("%d seeds run twice in fresh processes: %d differences, %v\n", n, len(diffs), took.Round(100*time.Millisecond))
	}
	if len(diffs) > 0 {
		return errAgainst
	}
	return nil
}
