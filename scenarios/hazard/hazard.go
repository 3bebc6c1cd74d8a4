// Package hazard is the catalogue of what can go wrong between an exactly-once engine and Kafka: H1 to H45, each found in
// Kafka's source or seen on a real broker.
//
// A hazard is a value. It says where it shows (releases and transaction versions), and has
//
//   - a script that shows it, played on any cluster through package stage: on the simulated one under every profile, where
//     the answer must be exactly what Where says, and on real brokers where that is feasible; some have other forms of it, which
//     must show in the same places;
//   - a cure, where no release closes it: what a client does so that it does not matter, shown by a script, too;
//   - plans that put the real engine in its way, each with the verdict that is expected and with evidence that the
//     condition came about: a plan that strikes nothing proves nothing;
//   - the known-bad engine that falls for it, where there is one.
//
// All lists them, `simrun hazards` runs them and prints the table.
//
// A hazard more is a value in the file of its kind (late.go, marker.go, ...), with the next number; the tests say what it lacks.
// A plan of its Engine lies in scenarios/testdata. Played on real brokers (make hazards HAZARDS=H46) it prints the lines for
// recorded.go, and go test ./scenarios/hazard -run TestHazards -rewrite writes HAZARDS.md.
package hazard

import (
	"slices"
	"strconv"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios"
)

// Hazard is one entry of the catalogue.
type Hazard struct {
	Number int
	Title  string
	// Story is the condition and what is observed, in a sentence or two.
	Story string
	// Where it shows. Elsewhere its script finds that it is gone.
	Where Places
	// ClosedBy says what closes it: a release, a protocol, or what a client must do.
	ClosedBy string
	Needs    Needs
	// Show is the script. seen: the hazard showed; what: by what it was seen, or what stood in its way. It fails (T.Fail)
	// when it cannot be set up.
	Show func(t *Scene) (seen bool, what string)
	// Cure shows what makes the hazard harmless, and says how it was seen. It fails when it does not. Required where the
	// hazard shows under every profile.
	Cure func(t *Scene) (what string)
	// Forms are other ways in which it comes about; each shows where the first one does.
	Forms []Form
	// Engine is how the real engine is put in its way.
	Engine []Trial
	// Control is the known-bad engine of scenarios/controls that falls for it; empty: none, and NoControl says why.
	Control, NoControl string
	// Real says whether the script is also played on real brokers.
	Real Real

	form string // the name of the form that it is
}

// Needs is what the script asks of a cluster beyond one broker.
type Needs struct {
	// Brokers is how many there must be; 0 is 1. A simulated cluster always has three.
	Brokers int
	// Settings of the brokers, as Kafka names them.
	Settings []Setting
	// MaxEpoch is the epoch at which a producer id is used up, in the simulator; 0 is Kafka's 32767.
	MaxEpoch int16
	// Alone: no other script may be played on a cluster with these settings.
	Alone bool
}

// Form is another way in which a hazard comes about.
type Form struct {
	Name  string // a word: the form of H33 with the name expired is H33/expired
	Story string // how it comes about, in a sentence
	Needs Needs
	// Show is the script, as Hazard.Show.
	Show func(t *Scene) (seen bool, what string)
}

// Setting is one line of a broker's configuration.
type Setting struct{ Key, Value string }

// Trial is one plan under which the real engine meets a hazard.
type Trial struct {
	// Plan is its file below scenarios/testdata, without .plan.
	Plan string
	// Profiles under which it is run; empty: the one of the plan.
	Profiles []string
	// Verdict that is expected.
	Verdict checker.Verdict
	// Note on the verdict, where it needs one.
	Note string
	// Evidence that the condition came about; all of it is required.
	Evidence []Evidence
}

// Evidence is something that must have happened in a run.
type Evidence struct {
	What string
	// Watch is called with the world before it runs, and returns what tells afterwards whether it happened.
	Watch func(w *scenarios.World) func(r *scenarios.Result) bool
}

// Real says what is known of a hazard on real brokers.
type Real struct {
	Feasible bool
	// Why not, or what it takes.
	Note string
}

// All are all hazards, by number.
func All() []Hazard {
	all := slices.Concat(late, identity, verdict, visible, endMarker, expiry,
		droppedMarkers, byHand, generations, seals, lanes, cleaned, inSync, clients)
	slices.SortFunc(all, func(a, b Hazard) int { return a.Number - b.Number }) // keys differ: a test holds numbers unique
	return all
}

// Find is the hazard of a number.
func Find(number int) (Hazard, bool) {
	for _, h := range All() {
		if h.Number == number {
			return h, true
		}
	}
	return Hazard{}, false
}

// Name is the hazard's number as it is written: H3; of one of its forms H33/expired.
func (h Hazard) Name() string {
	if h.form != "" {
		return "H" + strconv.Itoa(h.Number) + "/" + h.form
	}
	return "H" + strconv.Itoa(h.Number)
}

// As is the hazard with the script of one of its forms instead of its own.
func (h Hazard) As(f Form) Hazard {
	h.form, h.Story, h.Needs, h.Show, h.Cure, h.Engine, h.Forms = f.Name, f.Story, f.Needs, f.Show, nil, nil, nil
	return h
}
