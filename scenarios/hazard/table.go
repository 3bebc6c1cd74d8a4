package hazard

import (
	"fmt"
	"io"
	"strings"
)

// Recorded is what the script of a hazard found on a real broker.
type Recorded struct {
	Number  int
	Version string // of the broker, with its transaction version where it is not the highest
	Seen    bool
	What    string
}

// RecordedForm is what one of the other forms of a hazard found there.
type RecordedForm struct {
	Form string
	Recorded
}

// realBrokers says what was found on real brokers: "seen 3.9.2, 4.4.0 TV1; gone 4.4.0", and of forms "expired: seen 4.4.0".
func (h Hazard) realBrokers() string {
	all := []string{h.found("")}
	for _, f := range h.Forms {
		all = append(all, f.Name+": "+h.found(f.Name))
	}
	return strings.Join(all, "; ")
}

// stories are how it comes about, in each form.
func (h Hazard) stories() string {
	s := h.Story
	for _, f := range h.Forms {
		s += fmt.Sprintf(" *%s*: %s", f.Name, f.Story)
	}
	return s
}

// found says what a form of the hazard found; "" is its own script.
func (h Hazard) found(form string) string {
	var seen, gone []string
	add := func(r Recorded) {
		switch {
		case r.Number != h.Number:
		case r.Seen:
			seen = append(seen, r.Version)
		default:
			gone = append(gone, r.Version)
		}
	}
	if form == "" {
		for _, r := range recorded {
			add(r)
		}
	}
	for _, r := range recordedForms {
		if r.Form == form {
			add(r.Recorded)
		}
	}
	var parts []string
	if len(seen) > 0 {
		parts = append(parts, "seen "+strings.Join(seen, ", "))
	}
	if len(gone) > 0 {
		parts = append(parts, "gone "+strings.Join(gone, ", "))
	}
	if len(parts) == 0 {
		return "not run"
	}
	return strings.Join(parts, "; ")
}

// caught says which known-bad engine falls for the hazard.
func (h Hazard) caught() string {
	if h.Control != "" {
		return h.Control
	}
	return "none: " + h.NoControl
}

// WriteTable prints reports as one table.
func WriteTable(w io.Writer, reports []Report) {
	const format = "%-4s %-52s %-38s %-38s %s\n"
	fmt.Fprintf(w, format, "", "hazard", "shown", "gone", "engine")
	for _, r := range reports {
		fmt.Fprintf(w, format, r.Hazard.Name(), r.Hazard.Title, r.Shown(), r.Gone(), r.Engine())
		fmt.Fprintf(w, "     closed by: %s\n", r.Hazard.ClosedBy)
		fmt.Fprintf(w, "     real brokers: %s · known-bad engine: %s\n", r.Hazard.realBrokers(), r.Hazard.caught())
		for _, wrong := range r.Wrong {
			fmt.Fprintf(w, "     NOT AS THE CATALOGUE SAYS: %s\n", strings.ReplaceAll(wrong, "\n", "\n     "))
		}
	}
}

// WriteMarkdown prints reports as the table of HAZARDS.md.
func WriteMarkdown(w io.Writer, reports []Report) {
	fmt.Fprintf(w, `# Hazards

What can go wrong between an exactly-once engine and Kafka, each with a script that shows it. The table is printed by
`+"`simrun hazards --markdown`"+` and kept equal to the program by a test: "shown" and "gone" are what the scripts found on the simulated
broker under every profile, "engine" the verdicts of the real engine put in the hazard's way by a fault plan that is proved to
have struck, "real brokers" what the same script found there, and what other forms of the hazard did. TV is the cluster's
transaction.version. [REAL.md](REAL.md) tells what real brokers taught.

| | hazard | shown | gone | engine | real brokers | closed by | known-bad engine that falls for it |
|---|---|---|---|---|---|---|---|
`)
	for _, r := range reports {
		h := r.Hazard
		fmt.Fprintf(w, "| %s | **%s.** %s | %s | %s | %s | %s | %s | %s |\n", h.Name(), h.Title, h.stories(), r.Shown(), r.Gone(), r.Engine(),
			h.realBrokers(), h.ClosedBy, h.caught())
	}
}

// WriteStory prints one hazard step by step: its script where it shows and where it is gone, its cure, and the engine.
func WriteStory(w io.Writer, r Report) {
	h := r.Hazard
	fmt.Fprintf(w, "%s  %s\n     %s\n     closed by: %s\n", h.Name(), h.Title, h.Story, h.ClosedBy)
	told := map[bool]bool{}
	for i := range r.Sights {
		s := r.Sights[len(r.Sights)-1-i] // the newest release first
		if told[s.Seen] {
			continue
		}
		told[s.Seen] = true
		fmt.Fprintf(w, "\n%s on %s: %s\n", map[bool]string{true: "SHOWN", false: "GONE"}[s.Seen], VersionOf(s.Profile), s.What)
		writeAccount(w, s)
	}
	for i, f := range h.Forms {
		s := r.Forms[len(r.Forms)-len(h.Forms)+i] // on the newest profile
		fmt.Fprintf(w, "\n%s on %s: %s\n  %s\n", strings.ToUpper(f.Name), VersionOf(s.Profile), s.What, f.Story)
		writeAccount(w, s)
	}
	if n := len(r.Cures); n > 0 {
		s := r.Cures[n-1]
		fmt.Fprintf(w, "\nCURED on %s: %s\n", VersionOf(s.Profile), s.What)
		writeAccount(w, s)
	}
	if len(r.Outcomes) > 0 {
		fmt.Fprintf(w, "\nENGINE\n")
	}
	for _, o := range r.Outcomes {
		fmt.Fprintf(w, "  %s\n", o)
		for _, e := range o.Trial.Evidence {
			fmt.Fprintf(w, "      came about: %s\n", e.What)
		}
		fmt.Fprintf(w, "      again: %s\n", o.Command)
	}
	fmt.Fprintf(w, "\nshown: %s · gone: %s · real brokers: %s · known-bad engine: %s\n", r.Shown(), r.Gone(), h.realBrokers(), h.caught())
	for _, wrong := range r.Wrong {
		fmt.Fprintf(w, "NOT AS THE CATALOGUE SAYS: %s\n", wrong)
	}
}

func writeAccount(w io.Writer, s Sight) {
	for _, line := range s.Account {
		fmt.Fprintf(w, "  %s\n", line)
	}
}
