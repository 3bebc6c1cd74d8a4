// Package campaign runs a scenario under thousands of seeds on all cores and sums up what happened: verdicts, what was
// compared, which faults struck where, which probes were never reached, and for each failure the plan that repeats it.
//
// A world is one goroutine and deterministic; goroutines here only share out seeds.
package campaign

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios"
)

// Config says what to run.
type Config struct {
	Scenario scenarios.Scenario
	Engine   string // "" is the sound one
	Profile  string // the release of the brokers; "" is what the seeds say
	Seeds    int    // how many; 0 with For: as many as fit
	From     uint64
	For      time.Duration // stop handing out seeds after so long; 0: all seeds
	Workers  int           // 0: one per core
	Fast     bool
	// Corpus: the kept plans of the scenario are run first.
	Corpus bool
	// StopAt ends the campaign at the first seed with one of these verdicts, if not empty: that is how a control is caught.
	StopAt []checker.Verdict
	// Progress is told after every run, from any worker, one call at a time.
	Progress func(Progress)
}

// Progress is where a campaign stands.
type Progress struct {
	Done, Seeds int // Seeds 0: unknown
	Failures    int
	Elapsed     time.Duration
	Verdicts    map[checker.Verdict]int
}

// Failure is one seed with a verdict against it.
type Failure struct {
	Seed    uint64
	Plan    faults.Plan
	Report  checker.Report
	Events  []string
	Command string
}

// Summary is what a campaign found.
type Summary struct {
	Scenario  string
	Engine    string
	Profile   string
	From      uint64
	Seeds     int
	Verdicts  map[checker.Verdict]int
	Failures  []Failure // by seed
	Kept      int       // plans of the corpus that were run first
	Compared  checker.Compared
	Coverage  faults.Coverage
	Probes    []int // how often each was reached, by index
	Elapsed   time.Duration
	Virtual   time.Duration
	Entries   uint64
	Hash      uint64   // fold over the seeds in order
	Hashes    []uint64 // of each seed
	Cancelled bool
}

// one is what is kept of each run.
type one struct {
	result *scenarios.Result
	done   bool
}

// Run runs a campaign. An error is about its configuration.
func Run(ctx context.Context, c Config) (*Summary, error) {
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	t := &tally{c: c, begin: time.Now(), verdicts: map[checker.Verdict]int{}}
	if c.Corpus && (c.Engine == "" || c.Engine == "sound") {
		for _, k := range scenarios.Corpus() {
			if k.Plan.Scenario == c.Scenario.Name {
				t.kept = append(t.kept, k)
			}
		}
	}
	var wg sync.WaitGroup
	for range c.Workers {
		wg.Go(func() { t.work(ctx) })
	}
	wg.Wait()
	if t.err != nil {
		return nil, t.err
	}
	return t.summary(ctx), nil
}

type tally struct {
	c     Config
	kept  []scenarios.CorpusPlan
	begin time.Time
	next  atomic.Int64
	stop  atomic.Bool

	mu       sync.Mutex
	runs     []one // by seed
	verdicts map[checker.Verdict]int
	failures int
	done     int
	err      error
}

func (t *tally) work(ctx context.Context) {
	for !t.stop.Load() && ctx.Err() == nil {
		if t.c.For > 0 && time.Since(t.begin) > t.c.For {
			return
		}
		i := int(t.next.Add(1)) - 1
		if t.c.Seeds > 0 && i >= t.c.Seeds+len(t.kept) {
			return
		}
		plan, err := t.plan(i)
		var r *scenarios.Result
		if err == nil {
			r, err = scenarios.Run(plan, scenarios.Options{Fast: t.c.Fast})
		}
		t.add(i, r, err)
	}
}

// plan is the i-th of the campaign: those of the corpus, then the seeds.
func (t *tally) plan(i int) (faults.Plan, error) {
	if i < len(t.kept) {
		return t.kept[i].Plan, nil
	}
	return scenarios.PlanOn(t.c.Scenario, t.c.From+uint64(i-len(t.kept)), t.c.Engine, t.c.Profile)
}

func (t *tally) add(i int, r *scenarios.Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.err = err
		t.stop.Store(true)
		return
	}
	for len(t.runs) <= i {
		t.runs = append(t.runs, one{})
	}
	r.World = nil // its memory is not needed any more
	t.runs[i] = one{result: r, done: true}
	if i >= len(t.kept) {
		t.done++
		t.verdicts[r.Report.Verdict]++
	}
	if r.Wrong {
		t.failures++
	}
	if Has(r.Report, t.c.StopAt) {
		t.stop.Store(true)
	}
	if t.c.Progress != nil {
		t.c.Progress(Progress{Done: t.done, Seeds: t.c.Seeds, Failures: t.failures, Elapsed: time.Since(t.begin), Verdicts: t.verdicts})
	}
}

// Has reports whether a report has one of the verdicts, be it the most severe or not.
func Has(r checker.Report, verdicts []checker.Verdict) bool {
	return slices.ContainsFunc(r.Verdicts, func(v checker.Verdict) bool { return slices.Contains(verdicts, v) })
}

// summary folds the runs in the order of their seeds.
func (t *tally) summary(ctx context.Context) *Summary {
	s := &Summary{
		Scenario: t.c.Scenario.Name, Engine: t.c.Engine, Profile: t.c.Profile, From: t.c.From, Verdicts: t.verdicts,
		Elapsed: time.Since(t.begin), Probes: make([]int, probe.Count()), Cancelled: ctx.Err() != nil,
	}
	for i := range t.runs {
		switch r := t.runs[i]; {
		case !r.done:
		case i < len(t.kept):
			s.keep(t.kept[i], r.result)
		default:
			s.fold(t.c.From+uint64(i-len(t.kept)), r.result)
		}
	}
	return s
}

// keep notes a plan of the corpus, which counts as no seed: only what goes wrong is told.
func (s *Summary) keep(k scenarios.CorpusPlan, r *scenarios.Result) {
	s.Kept++
	for _, p := range r.Probes {
		s.Probes[p]++
	}
	if r.Wrong {
		s.Failures = append(s.Failures, Failure{
			Seed: r.Plan.Seed, Plan: r.Plan, Report: r.Report, Events: r.Events,
			Command: "simrun repro scenarios/testdata/" + k.Name + ".plan",
		})
	}
}

func (s *Summary) fold(seed uint64, r *scenarios.Result) {
	s.Seeds++
	s.Virtual += r.Virtual
	s.Entries += r.Entries
	s.Hash = (s.Hash^r.Hash)*0x9e3779b97f4a7c15 + 1
	s.Hashes = append(s.Hashes, r.Hash)
	s.Compared.Records += r.Report.Compared.Records
	s.Compared.Epochs += r.Report.Compared.Epochs
	s.Compared.Transactions += r.Report.Compared.Transactions
	s.Compared.Operations += r.Report.Compared.Operations
	s.Coverage.Add(r.Plan, r.Outcomes)
	for _, p := range r.Probes {
		s.Probes[p]++
	}
	if r.Wrong {
		s.Failures = append(s.Failures, Failure{
			Seed: seed, Plan: r.Plan, Report: r.Report, Events: r.Events,
			Command: command(r.Plan, s.Profile),
		})
	}
}

// command repeats a run from its seed.
func command(p faults.Plan, profile string) string {
	cmd := "simrun run " + p.Scenario + " --seed " + strconv.FormatUint(p.Seed, 10)
	if profile != "" {
		cmd += " --profile " + profile
	}
	if p.Engine != "" && p.Engine != "sound" {
		cmd += " --engine " + p.Engine
	}
	return cmd
}
