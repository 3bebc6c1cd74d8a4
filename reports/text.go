package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
)

// WriteText writes the campaign as a person reads it at the end of a run.
func (c *Campaign) WriteText(w io.Writer) error {
	var b strings.Builder
	engine := ""
	if c.Profile != "" {
		engine = " on " + c.Profile
	}
	if c.Engine != "" && c.Engine != "sound" {
		engine += ", engine " + c.Engine
	}
	fmt.Fprintf(&b, "campaign %s%s: seeds %d to %d\n", c.Scenario, engine, c.From, c.From+uint64(max(0, c.Seeds-1)))
	fmt.Fprintf(&b, "%s seeds in %.1f s: %.1f seeds/s, virtual:real %.0f:1, %s trace entries per seed%s\n", grouped(c.Seeds), c.Seconds, c.SeedsPerSecond,
		ratio(c.VirtualSeconds, c.Seconds), grouped(int(c.EntriesPerSeed)), map[bool]string{true: ", cancelled"}[c.Cancelled])
	fmt.Fprintf(&b, "verdicts: %s\n", verdictText(c.Verdicts))
	for _, p := range c.Parts {
		fmt.Fprintf(&b, "  %-12s %-8s %s seeds: %s\n", p.Scenario, p.Profile, grouped(p.Seeds), verdictText(p.Verdicts))
	}
	fmt.Fprintf(&b, "compared: %s records, %s epochs, %s transactions, %s log operations\n", grouped(c.Compared.Records), grouped(c.Compared.Epochs),
		grouped(c.Compared.Transactions), grouped(c.Compared.Operations))
	if c.CleanBound > 0 {
		fmt.Fprintf(&b, "%s clean seeds: failures are rarer than %s (3/N, at 95 %%)\n", grouped(c.judged()), percent(c.CleanBound))
	}
	c.coverageText(&b)
	c.requestText(&b)
	c.probeText(&b)
	c.failureText(&b)
	fmt.Fprintf(&b, "trace hash %s\n", c.TraceHash)
	_, err := io.WriteString(w, b.String())
	return err
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func percent(f float64) string { return strconv.FormatFloat(f*100, 'g', 3, 64) + " %" }

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(n) + " " + what
}

// verdictText lists verdicts, CLEAN first, then the most severe ones.
func verdictText(counts map[string]int) string {
	names := sortedVerdicts(counts)
	for i, name := range names {
		names[i] = name + " " + grouped(counts[name])
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func sortedVerdicts(counts map[string]int) []string {
	var names []string
	for name, n := range counts {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

func rank(name string) int {
	v, ok := checker.ParseVerdict(name)
	switch {
	case !ok:
		return 1000
	case v == checker.Clean:
		return -1
	}
	return v.Severity()
}

// hookColumns are the columns of the table of coverage.
func hookColumns() []string {
	var names []string
	for h := range faults.HookCount {
		names = append(names, h.String())
	}
	return append(names, faults.NoHook.String())
}

// cell is the mark of one place in the table of coverage: a count, "-" when it is impossible, "!" when it is empty.
func (c *Campaign) cell(fault, hook string) string {
	n := c.Coverage[fault][hook]
	switch _, impossible := c.Impossible[fault+" "+hook]; {
	case n > 0:
		return short(n)
	case impossible:
		return "-"
	case hook == faults.NoHook.String():
		return "."
	}
	return "!"
}

// short writes a count in at most four columns.
func short(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n/1_000_000) + "M"
}

func (c *Campaign) coverageText(b *strings.Builder) {
	if len(c.Coverage) == 0 {
		return
	}
	b.WriteString("\nwhat was struck, by the hook that was passed (! empty, - impossible; nothing: hit nothing in flight; unfired: trigger never came)\n")
	fmt.Fprintf(b, "%-20s", "")
	for _, h := range hookColumns() {
		fmt.Fprintf(b, "%5s", h)
	}
	b.WriteString(" nothing unfired\n")
	empty := 0
	for k := range faults.KindCount {
		fault := k.String()
		fmt.Fprintf(b, "%-20s", fault)
		for _, h := range hookColumns() {
			s := c.cell(fault, h)
			if s == "!" {
				empty++
			}
			fmt.Fprintf(b, "%5s", s)
		}
		fmt.Fprintf(b, "%8s%8s\n", short(c.HitNothing[fault]), short(c.NeverFired[fault]))
	}
	if empty > 0 {
		fmt.Fprintf(b, "%s\n", plural(empty, "empty cell"))
	}
}

// requestFaults are the columns of the table of requests.
var requestFaults = []faults.Kind{faults.LoseRequestFault, faults.LoseReplyFault, faults.LateFault, faults.RepeatFault}

func (c *Campaign) requestNames() []string {
	names := append([]string(nil), faults.Requests...)
	for r := range c.Requests {
		if !slices.Contains(names, r) {
			names = append(names, r)
		}
	}
	slices.Sort(names)
	return names
}

func (c *Campaign) requestText(b *strings.Builder) {
	if len(c.Requests) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%-22s", "requests struck")
	for _, k := range requestFaults {
		fmt.Fprintf(b, "%14s", k)
	}
	b.WriteString("\n")
	for _, r := range c.requestNames() {
		fmt.Fprintf(b, "%-22s", r)
		for _, k := range requestFaults {
			s := "!"
			if n := c.Requests[r][k.String()]; n > 0 {
				s = short(n)
			}
			fmt.Fprintf(b, "%14s", s)
		}
		b.WriteString("\n")
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c *Campaign) probeText(b *strings.Builder) {
	if len(c.Probes) == 0 {
		return
	}
	reached := 0
	var never []string
	for _, name := range sortedKeys(c.Probes) {
		if c.Probes[name] > 0 {
			reached++
		} else {
			never = append(never, name)
		}
	}
	fmt.Fprintf(b, "\nprobes: %d of %d reached\n", reached, len(c.Probes))
	for _, name := range never {
		fmt.Fprintf(b, "  never: %s\n", name)
	}
}

func (c *Campaign) failureText(b *strings.Builder) {
	if len(c.Vacuous) > 0 {
		b.WriteString("\nVACUOUS: this campaign proves nothing about\n")
		for _, v := range c.Vacuous {
			fmt.Fprintf(b, "  %s\n", v)
		}
	}
	if len(c.Failures) > 0 {
		fmt.Fprintf(b, "\n%s\n", plural(len(c.Failures), "failure"))
	}
	for _, f := range c.Failures {
		fmt.Fprintf(b, "  %s seed %d %s: %s\n", f.Scenario, f.Seed, f.Verdict, f.Detail)
		if f.Folder != "" {
			fmt.Fprintf(b, "    folder  %s\n", f.Folder)
		}
		fmt.Fprintf(b, "    repeat  %s\n", f.Command)
	}
	b.WriteString("\n")
}
