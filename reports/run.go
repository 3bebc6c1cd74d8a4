package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
)

// Run is the outcome of one seed or one plan.
type Run struct {
	Scenario       string           `json:"scenario"`
	Seed           uint64           `json:"seed"`
	Engine         string           `json:"engine"`
	Verdict        string           `json:"verdict"`
	Verdicts       []string         `json:"verdicts"`
	Signature      string           `json:"signature,omitempty"`
	Findings       []Finding        `json:"findings"`
	Compared       checker.Compared `json:"compared"`
	Faults         []FaultOutcome   `json:"faults"`
	VirtualSeconds float64          `json:"virtualSeconds"`
	Seconds        float64          `json:"seconds"`
	Settle         string           `json:"settle,omitempty"` // the bound, and when the run came to rest
	TraceEntries   uint64           `json:"traceEntries"`
	TraceHash      string           `json:"traceHash"`
	Plan           string           `json:"plan"`
	ShrunkPlan     string           `json:"shrunkPlan,omitempty"`
	Command        string           `json:"command"`
	Events         []string         `json:"events,omitempty"` // what the engine said of itself, in words
	Build          Build            `json:"build"`
}

// Finding is one violation.
type Finding = checker.Finding

// FaultOutcome tells what became of one fault of the plan.
type FaultOutcome struct {
	Fault  string `json:"fault"` // its line in the plan
	Fired  bool   `json:"fired"`
	At     string `json:"at,omitempty"`
	Hook   string `json:"hook,omitempty"`
	Struck bool   `json:"struck"`
	Hits   int    `json:"hits"`
}

// NewRun puts together what a plan, its outcomes and the checker's report say.
func NewRun(p faults.Plan, out []faults.Outcome, r checker.Report) *Run {
	n := &Run{
		Scenario: p.Scenario, Seed: p.Seed, Engine: p.Engine, Verdict: r.Verdict.String(), Signature: r.Signature(), Findings: r.Findings,
		Compared: r.Compared, Plan: p.String(),
	}
	if n.Findings == nil {
		n.Findings = []Finding{}
	}
	for _, v := range r.Verdicts {
		n.Verdicts = append(n.Verdicts, v.String())
	}
	n.Faults = []FaultOutcome{}
	for i, o := range out {
		f := FaultOutcome{Fault: p.Faults[i].String(), Fired: o.Fired, Struck: o.Struck, Hits: o.Hits}
		if o.Fired {
			f.At, f.Hook = o.At.String(), o.Hook.String()
		}
		n.Faults = append(n.Faults, f)
	}
	return n
}

// Failure is the run as a line of a campaign.
func (r *Run) Failure() Failure {
	f := Failure{Scenario: r.Scenario, Seed: r.Seed, Verdict: r.Verdict, Verdicts: r.Verdicts, Signature: r.Signature, Plan: r.Plan, Command: r.Command}
	if len(r.Findings) > 0 {
		f.Detail = r.Findings[0].Detail
	}
	return f
}

// WriteJSON writes the document.
func (r *Run) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteText writes the run as a person reads it; it ends with the command that repeats it.
func (r *Run) WriteText(w io.Writer) error {
	var b strings.Builder
	engine := ""
	if r.Engine != "" && r.Engine != "sound" {
		engine = ", engine " + r.Engine
	}
	fmt.Fprintf(&b, "%s: %s seed %d%s\n", strings.Join(r.Verdicts, " "), r.Scenario, r.Seed, engine)
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n%s by %s", f.Verdict, f.Property)
		if f.Token != "" {
			fmt.Fprintf(&b, ", token %s", f.Token)
		}
		fmt.Fprintf(&b, "\n  %s\n", f.Detail)
		for i, e := range f.Evidence {
			if i > 0 {
				fmt.Fprintf(&b, "  %s\n", e)
			}
		}
		if n := f.Count - len(f.Evidence); n > 0 && len(f.Evidence) > 0 {
			fmt.Fprintf(&b, "  and %s more\n", grouped(n))
		}
	}
	fmt.Fprintf(&b, "\ncompared: %s records, %s epochs, %s transactions, %s log operations\n", grouped(r.Compared.Records), grouped(r.Compared.Epochs),
		grouped(r.Compared.Transactions), grouped(r.Compared.Operations))
	fmt.Fprintf(&b, "%s virtual in %.3f s, %s trace entries, trace hash %s\n", time.Duration(r.VirtualSeconds*float64(time.Second)).Round(time.Millisecond),
		r.Seconds, grouped(int(r.TraceEntries)), r.TraceHash)
	if r.Settle != "" {
		fmt.Fprintf(&b, "%s\n", r.Settle)
	}
	b.WriteString("\nfaults\n")
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "  %s: %s\n", f.Fault, f.words())
	}
	if len(r.Faults) == 0 {
		b.WriteString("  none\n")
	}
	if len(r.Events) > 0 {
		b.WriteString("\nevents\n")
		for _, e := range r.Events {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	if r.ShrunkPlan != "" {
		fmt.Fprintf(&b, "\nsmallest plan that fails alike\n%s", indented(r.ShrunkPlan))
	}
	fmt.Fprintf(&b, "\n%s, %s, %s, %d cores %s\n", r.Build.Engine, r.Build.Go, r.Build.System, r.Build.Cores, strings.Join(r.Build.Options, " "))
	fmt.Fprintf(&b, "repeat: %s\n", r.Command)
	_, err := io.WriteString(w, b.String())
	return err
}

func (f FaultOutcome) words() string {
	switch {
	case !f.Fired:
		return "never fired"
	case !f.Struck:
		return fmt.Sprintf("fired at %s after hook %s and hit nothing", f.At, f.Hook)
	}
	return fmt.Sprintf("struck at %s after hook %s, %d hits", f.At, f.Hook, f.Hits)
}

func indented(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ") + "\n"
}
