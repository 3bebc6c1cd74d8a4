// Package shrink makes a failing plan smaller: fewer faults, shorter ones, fewer nodes and records, while the same failure
// stands. The same failure means the same signature (verdict, property, sink or topic, state of the token); a candidate
// that fails in another way is refused, so that a search never slides to another bug.
//
// The order of candidates is fixed and nothing is drawn: the same plan shrinks to the same plan. Work is bounded by a
// number of runs. The result is minimal in its faults when Result.Minimal says so: each was tried without.
package shrink

import (
	"fmt"
	"strconv"
	"time"

	"github.com/onefold/onefold/faults"
)

// Options bound and shape the work.
type Options struct {
	MaxRuns int // default 300
	// Sizes are the settings of the world that may get smaller, each with its least value, in the order in which they are
	// tried. Nil: records, partitions, parallelism, taskmanagers, brokers, down to 1.
	Sizes []Size
	// Progress is told of every step that made the plan smaller.
	Progress func(p faults.Plan, runs int)
}

// Size is a whole number among the settings of the world.
type Size struct {
	Key   string
	Least int
}

// Result is what a search found.
type Result struct {
	Plan faults.Plan
	Runs int
	// Without has, per fault left, the signature of the run without it. Minimal: none of them is the one held.
	Without []string
	Minimal bool
}

type search struct {
	Options
	want  string
	run   func(faults.Plan) string
	plan  faults.Plan
	known map[string]string // plan -> signature, looked up only
	runs  int
}

// Shrink reduces a plan whose run has the signature want. run repeats a plan and gives its signature, "" when it passes
// or cannot run. An error means that the plan does not fail that way to begin with.
func Shrink(p faults.Plan, want string, run func(faults.Plan) string, o Options) (Result, error) {
	if o.MaxRuns == 0 {
		o.MaxRuns = 300
	}
	if o.Sizes == nil {
		o.Sizes = []Size{{"records", 1}, {"partitions", 1}, {"parallelism", 1}, {"taskmanagers", 1}, {"brokers", 1}}
	}
	s := &search{Options: o, want: want, run: run, plan: p.Clone(), known: map[string]string{}}
	if got, _ := s.signature(s.plan); got != want || want == "" {
		return Result{Plan: p, Runs: s.runs}, fmt.Errorf("the plan has the signature %q, not %q: nothing to shrink", got, want)
	}
	for smaller := true; smaller && s.runs < s.MaxRuns; {
		smaller = s.drop()
		smaller = s.simplify() || smaller
		smaller = s.resize() || smaller
	}
	r := Result{Plan: s.plan, Minimal: true}
	for i := range s.plan.Faults {
		got, ran := s.signature(without(s.plan, i, 1))
		r.Without = append(r.Without, got)
		r.Minimal = r.Minimal && ran && got != want
	}
	r.Runs = s.runs
	return r, nil
}

// signature runs a plan, unless its answer is known; not at all when the work is used up, then ran is false.
func (s *search) signature(p faults.Plan) (got string, ran bool) {
	text := p.String()
	if got, ok := s.known[text]; ok {
		return got, true
	}
	if s.runs >= s.MaxRuns {
		return "", false
	}
	s.runs++
	got = s.run(p)
	s.known[text] = got
	return got, true
}

// try takes the candidate if it fails in the same way.
func (s *search) try(p faults.Plan) bool {
	got, _ := s.signature(p)
	if got != s.want {
		return false
	}
	s.plan = p
	if s.Progress != nil {
		s.Progress(p, s.runs)
	}
	return true
}

func without(p faults.Plan, from, n int) faults.Plan {
	p = p.Clone()
	p.Faults = append(p.Faults[:from], p.Faults[from+n:]...)
	return p
}

// drop removes runs of faults, long ones first, until no single one can go.
func (s *search) drop() (smaller bool) {
	for n := max(1, len(s.plan.Faults)/2); n >= 1; n /= 2 {
		for i := 0; i+n <= len(s.plan.Faults); {
			if s.try(without(s.plan, i, n)) {
				smaller = true
			} else {
				i++
			}
		}
	}
	return smaller
}

// simplify makes each fault shorter, rarer and narrower.
func (s *search) simplify() (smaller bool) {
	for i := range s.plan.Faults {
		for again := true; again; {
			again = false
			for _, f := range simpler(s.plan.Faults[i]) {
				p := s.plan.Clone()
				p.Faults[i] = f
				if s.try(p) {
					again, smaller = true, true
					break
				}
			}
		}
	}
	return smaller
}

// simpler lists smaller versions of a fault, the boldest first.
func simpler(f faults.Fault) (c []faults.Fault) {
	add := func(change func(*faults.Fault)) {
		g := f
		change(&g)
		if g != f {
			c = append(c, g)
		}
	}
	if f.Count > 1 {
		add(func(g *faults.Fault) { g.Count = 1 })
		add(func(g *faults.Fault) { g.Count /= 2 })
	}
	add(func(g *faults.Fault) { g.For = shorter(g.For, 10) })
	add(func(g *faults.Fault) { g.For = shorter(g.For, 2) })
	add(func(g *faults.Fault) { g.By = shorter(g.By, 2) })
	if f.Factor > 2 {
		add(func(g *faults.Fault) { g.Factor /= 2 })
	}
	if f.Trigger.OnHook && f.Node == faults.All && f.Request == "" && f.Kind != faults.MoveCoordinatorFault {
		add(func(g *faults.Fault) { g.Node = faults.Self })
	}
	return c
}

// shorter divides a duration, down to 100 ms, in whole tenths of a second.
func shorter(d time.Duration, by int64) time.Duration {
	const step = 100 * time.Millisecond
	if d <= step && d >= -step {
		return d
	}
	return max((d / time.Duration(by)).Truncate(step), min(step, d))
}

// resize makes the world smaller: half, then one less.
func (s *search) resize() (smaller bool) {
	for _, size := range s.Sizes {
		for {
			n := s.plan.Int(size.Key, 0)
			if n <= size.Least || !(s.trySize(size.Key, max(size.Least, n/2)) || n <= 16 && n/2 < n-1 && s.trySize(size.Key, n-1)) {
				break
			}
			smaller = true
		}
	}
	return smaller
}

func (s *search) trySize(key string, n int) bool {
	p := s.plan.Clone()
	p.Set(key, strconv.Itoa(n))
	return s.try(p)
}
