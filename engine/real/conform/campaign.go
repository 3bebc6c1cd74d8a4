package conform

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/onefold/onefold/engine/broker/brokerfuzz"
)

// Campaign compares a real cluster with a model of it.
type Campaign struct {
	Real, Model brokerfuzz.Cluster

	Lanes      int // sequences side by side
	Seed       uint64
	Operations int                // at least so many are compared
	Shapes     []brokerfuzz.Shape // three quarters of them from the first, the rest from the others
	Most       int                // differences after which it ends; default 10
	Shrinking  int                // runs that making one difference smaller may take
	// Progress is told of every sequence that has been compared, by one caller at a time.
	Progress func(r *Result)
}

// Result is what a campaign found.
type Result struct {
	Sequences, Operations int
	Slow                  int // sequences that were not compared, since the machine was too slow for their timeouts
	Permitted             map[string]int
	Differences           []Difference
	// Answers counts what the real cluster answered: by kind of operation and code, as "produce 45". A campaign that never
	// met a code says nothing about it.
	Answers map[string]int
}

// Difference is a sequence on which model and cluster say different things, made as small as could be.
type Difference struct {
	Sequence    brokerfuzz.Sequence
	Model, Real brokerfuzz.Transcript
	Place       brokerfuzz.Place
	Drawn       uint64 // the number of the sequence below the seed
}

// String has both transcripts.
func (d Difference) String() string {
	return fmt.Sprintf("%s\n\nthe model:\n%s\nthe real broker:\n%s", d.Place, indent(d.Model.String()), indent(d.Real.String()))
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

// String is the closing line.
func (r *Result) String() string {
	var used []string
	for _, p := range brokerfuzz.Permitted {
		if n := r.Permitted[p.Name]; n > 0 {
			used = append(used, fmt.Sprintf("%s %d", p.Name, n))
		}
	}
	if used == nil {
		used = []string{"none"}
	}
	return fmt.Sprintf("%d sequences, %d operations, %d differences, permitted: %s, too slow to compare: %d",
		r.Sequences, r.Operations, len(r.Differences), strings.Join(used, ", "), r.Slow)
}

// Met is one line for each kind of operation: how often it got which code.
func (r *Result) Met() (lines []string) {
	for _, k := range brokerfuzz.Kinds() {
		var codes []string
		for key := range r.Answers {
			kind, word, _ := strings.Cut(key, " ")
			if _, err := strconv.Atoi(word); kind == string(k) && err == nil {
				codes = append(codes, word)
			}
		}
		slices.SortFunc(codes, func(a, b string) int { return cmp.Compare(len(a), len(b))*2 + cmp.Compare(a, b) })
		line := fmt.Sprintf("%-15s", k)
		for _, c := range codes {
			line += fmt.Sprintf(" %s x%d", c, r.Answers[string(k)+" "+c])
		}
		if codes != nil {
			lines = append(lines, line)
		}
	}
	return lines
}

// Run runs the campaign. An error means that the cluster could not be asked.
func (c Campaign) Run() (*Result, error) {
	c.defaults()
	r := newResult()
	left := c.Operations
	for i, shape := range c.Shapes {
		share := left * 3 / 4
		if i == len(c.Shapes)-1 {
			share = left
		}
		left -= share
		if err := c.era(r, shape, uint64(i)<<32, share); err != nil {
			return r, err
		}
	}
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return cmp.Compare(a.Drawn, b.Drawn) })
	return r, nil
}

func (c *Campaign) defaults() {
	if c.Most == 0 {
		c.Most = 10
	}
	if len(c.Shapes) == 0 {
		c.Shapes = []brokerfuzz.Shape{{}}
	}
}

// era draws sequences of one shape, numbered from first, and compares them side by side.
func (c *Campaign) era(r *Result, shape brokerfuzz.Shape, first uint64, operations int) error {
	var (
		mu     sync.Mutex
		next   = first
		drawn  int
		failed error
		wait   sync.WaitGroup
	)
	draw := func() (s brokerfuzz.Sequence, number uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if failed != nil || drawn >= operations || len(r.Differences) >= c.Most {
			return s, 0, false
		}
		s, number = brokerfuzz.Draw(c.Seed, next, shape), next
		next++
		drawn += len(s.Ops)
		return s, number, true
	}
	compared := func(number uint64, o Outcome, err error, operations int) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if failed == nil {
				failed = fmt.Errorf("sequence %d of seed %d: %w", number, c.Seed, err)
			}
			return
		}
		o.Difference.Drawn = number
		r.add(o, operations)
		if o.Slow && r.Slow < 50+r.Sequences { // another one instead, unless the machine is too slow for most of them
			drawn -= operations
		}
		if c.Progress != nil {
			c.Progress(r)
		}
	}
	lanes := max(1, c.Lanes)
	if shape.Alone {
		lanes = 1
	}
	for range lanes {
		wait.Go(func() {
			for {
				s, number, ok := draw()
				if !ok {
					return
				}
				o, err := c.Compare(s)
				compared(number, o, err, len(s.Ops))
			}
		})
	}
	wait.Wait()
	return failed
}

// Each compares given sequences, one after the other.
func (c Campaign) Each(sequences []brokerfuzz.Sequence) (*Result, error) {
	c.defaults()
	r := newResult()
	for i, s := range sequences {
		o, err := c.Compare(s)
		if err != nil {
			return r, fmt.Errorf("sequence %d: %w", i+1, err)
		}
		o.Difference.Drawn = uint64(i)
		r.add(o, len(s.Ops))
		if c.Progress != nil {
			c.Progress(r)
		}
	}
	return r, nil
}

func newResult() *Result { return &Result{Permitted: map[string]int{}, Answers: map[string]int{}} }

func (r *Result) add(o Outcome, operations int) {
	switch {
	case o.Slow:
		r.Slow++
		return
	case o.Differs:
		r.Differences = append(r.Differences, o.Difference)
	}
	for _, name := range o.Permitted {
		r.Permitted[name]++
	}
	for i, lines := range o.Real.Answers {
		if len(lines) > 0 {
			word, _, _ := strings.Cut(lines[0], " ")
			r.Answers[string(o.Real.Sequence.Ops[i].Kind)+" "+word]++
		}
	}
	r.Sequences++
	r.Operations += operations
}

// Outcome is what the comparison of one sequence says.
type Outcome struct {
	Slow      bool
	Permitted []string // by name, as often as they were needed
	Differs   bool
	Difference
}

// Compare runs one sequence on both, and makes it smaller if they differ. A difference that does not come again is one all
// the same: it is reported as it was drawn.
func (c Campaign) Compare(s brokerfuzz.Sequence) (Outcome, error) {
	o, err := c.once(s)
	if err != nil || !o.Differs || c.Shrinking == 0 {
		return o, err
	}
	c.shrink(&o)
	return o, nil
}

// shrink holds on to the lines that differ: a smaller sequence that differs in others shows something else.
func (c Campaign) shrink(o *Outcome) {
	differs := func(s brokerfuzz.Sequence) bool {
		smaller, err := c.once(s)
		if err != nil || !smaller.Differs || smaller.Place.Kind() != o.Place.Kind() {
			return false
		}
		*o = smaller
		return true
	}
	s := o.Sequence.Clone()
	s.Ops = s.Ops[:min(o.Place.Operation, len(s.Ops))]
	if !differs(s) {
		s = o.Sequence
	}
	brokerfuzz.Shrink(s, c.Shrinking, differs)
}

func (c Campaign) once(s brokerfuzz.Sequence) (o Outcome, err error) {
	o.Sequence = s
	if o.Model, err = c.Model.Run(s); err != nil {
		return o, fmt.Errorf("the model: %w\n%s", err, s)
	}
	o.Real, err = c.Real.Run(s)
	switch {
	case errors.Is(err, brokerfuzz.ErrLate):
		o.Slow = true
		return o, nil
	case err != nil:
		return o, fmt.Errorf("%w\n%s", err, s)
	}
	place, permitted := brokerfuzz.Compare(o.Model, o.Real)
	o.Permitted = permitted
	if place != nil {
		o.Differs, o.Place = true, *place
	}
	return o, nil
}
