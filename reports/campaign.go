package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
)

// Campaign is the outcome of many seeds. Its JSON keys are a contract with scripts.
type Campaign struct {
	Scenario       string         `json:"scenario"`
	Engine         string         `json:"engine"`
	Profile        string         `json:"profile,omitempty"` // the release of the brokers, if it was asked for
	From           uint64         `json:"from"`              // first seed
	Seeds          int            `json:"seeds"`
	Verdicts       map[string]int `json:"verdicts"` // seeds by their most severe verdict
	Seconds        float64        `json:"seconds"`
	SeedsPerSecond float64        `json:"seedsPerSecond"`
	VirtualSeconds float64        `json:"virtualSeconds"`
	EntriesPerSeed uint64         `json:"entriesPerSeed"` // of the trace
	Cancelled      bool           `json:"cancelled,omitempty"`
	// Compared is what the checker looked at.
	Compared checker.Compared `json:"compared"`
	// CleanBound is what this many seeds without a failure say: failures are rarer, at 95 % confidence. 0 with failures.
	CleanBound float64 `json:"cleanBound"`
	// Coverage counts what was struck: fault, hook, times. The hook "none" stands for before any hook was passed.
	Coverage   map[string]map[string]int `json:"coverage"`
	HitNothing map[string]int            `json:"hitNothing"` // by fault: fired where nothing was in flight
	NeverFired map[string]int            `json:"neverFired"` // by fault: planned, and the trigger did not come
	Requests   map[string]map[string]int `json:"requests"`   // request, fault, times struck
	Impossible map[string]string         `json:"impossible"` // "fault hook" -> why
	Probes     map[string]int            `json:"probes"`     // name -> seeds that reached it
	// Vacuous lists why a green campaign proves nothing.
	Vacuous   []string  `json:"vacuous"`
	Failures  []Failure `json:"failures"` // by seed
	TraceHash string    `json:"traceHash"`
	Build     Build     `json:"build"`
	// Parts are the scenarios of a campaign over several.
	Parts []Part `json:"parts,omitempty"`
}

// Part sums up one scenario of a campaign over several.
type Part struct {
	Scenario  string         `json:"scenario"`
	Profile   string         `json:"profile,omitempty"`
	Seeds     int            `json:"seeds"`
	Verdicts  map[string]int `json:"verdicts"`
	Seconds   float64        `json:"seconds"`
	TraceHash string         `json:"traceHash"`
}

// Failure is one seed with a verdict against it.
type Failure struct {
	Scenario  string   `json:"scenario"`
	Seed      uint64   `json:"seed"`
	Verdict   string   `json:"verdict"`
	Verdicts  []string `json:"verdicts,omitempty"`
	Signature string   `json:"signature,omitempty"`
	Detail    string   `json:"detail"`
	Plan      string   `json:"plan"`    // the plan file
	Command   string   `json:"command"` // repeats it
	Folder    string   `json:"folder,omitempty"`
}

// Build says what ran where.
type Build struct {
	Engine  string   `json:"engine"` // revision of the module, with + when it had local changes
	Go      string   `json:"go"`
	System  string   `json:"system"`
	Cores   int      `json:"cores"`
	Options []string `json:"options,omitempty"` // flags of the command
}

// ThisBuild describes the running program.
func ThisBuild(options ...string) Build {
	b := Build{Engine: "unknown", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.GOMAXPROCS(0), Options: options}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Engine = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	b.Engine += changed
	return b
}

// Cover fills the fields that tell of faults.
func (c *Campaign) Cover(f *faults.Coverage) {
	c.Coverage, c.Requests = map[string]map[string]int{}, map[string]map[string]int{}
	c.HitNothing, c.NeverFired, c.Impossible = map[string]int{}, map[string]int{}, map[string]string{}
	for k := range faults.KindCount {
		row := map[string]int{}
		for h := range faults.HookCount {
			if n := f.Struck(k, h); n > 0 {
				row[h.String()] = n
			}
		}
		if n := f.Early(k); n > 0 {
			row[faults.NoHook.String()] = n
		}
		c.Coverage[k.String()] = row
		c.HitNothing[k.String()] = f.Nothing(k)
		c.NeverFired[k.String()] = f.Unfired(k)
	}
	for _, r := range f.Requests() {
		if c.Requests[r.Request] == nil {
			c.Requests[r.Request] = map[string]int{}
		}
		c.Requests[r.Request][r.Kind.String()] = r.Count
	}
	for k := range faults.KindCount {
		for h := range faults.HookCount {
			if reason := faults.ImpossibleReason(k, h); reason != "" {
				c.Impossible[k.String()+" "+h.String()] = reason
			}
		}
	}
}

// Finish computes what follows from the other fields: rates and the bound.
func (c *Campaign) Finish(elapsed, virtual time.Duration) {
	c.Seconds, c.VirtualSeconds = elapsed.Seconds(), virtual.Seconds()
	if c.Seconds > 0 {
		c.SeedsPerSecond = float64(c.Seeds) / c.Seconds
	}
	c.CleanBound = 0
	if n := c.judged(); len(c.Failures) == 0 && n > 0 {
		c.CleanBound = min(1, 3/float64(n))
	}
	if c.Failures == nil {
		c.Failures = []Failure{}
	}
	if c.Vacuous == nil {
		c.Vacuous = []string{}
	}
}

// Failed reports whether the campaign is against the engine, or proves nothing.
func (c *Campaign) Failed() bool { return len(c.Failures) > 0 || len(c.Vacuous) > 0 }

// judged is how many seeds ran: those whose brokers were refused say nothing about the engine's work.
func (c *Campaign) judged() int { return c.Seeds - c.Verdicts[checker.Refused.String()] }

// WriteJSON writes the document.
func (c *Campaign) WriteJSON(w io.Writer) error { return writeJSON(w, c) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// ReadCampaign reads a document that WriteJSON wrote.
func ReadCampaign(r io.Reader) (*Campaign, error) {
	var c Campaign
	if err := json.NewDecoder(r).Decode(&c); err != nil {
		return nil, fmt.Errorf("campaign.json: %w", err)
	}
	return &c, nil
}
