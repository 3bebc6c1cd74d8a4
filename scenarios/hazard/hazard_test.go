package hazard

import (
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/scenarios/controls"
)

// A hazard shows exactly where the catalogue says, on the simulated broker under every profile. If this fails, the model
// is kinder than Kafka, or the catalogue is wrong.
func TestShowsWhereItSays(t *testing.T) {
	for _, h := range All() {
		t.Run(h.Name(), func(t *testing.T) {
			for _, p := range Profiles() {
				s, err := Show(h, p)
				switch {
				case err != nil:
					t.Errorf("%v\n%s", err, strings.Join(s.Account, "\n"))
				case !h.AsExpected(s):
					t.Errorf("%s: seen %v: %s\n%s", p, s.Seen, s.What, strings.Join(s.Account, "\n"))
				case s.What == "":
					t.Errorf("%s: it does not say what it saw", p)
				}
			}
		})
	}
}

// A hazard that shows everywhere has a cure, and it works under every profile.
func TestCures(t *testing.T) {
	for _, h := range All() {
		t.Run(h.Name(), func(t *testing.T) {
			_, gone := h.Where.In()
			if h.Cure == nil {
				if len(gone) == 0 {
					t.Error("it shows everywhere and has no cure")
				}
				return
			}
			for _, p := range Profiles() {
				if s, err := Cure(h, p); err != nil || s.What == "" {
					t.Errorf("%q %v\n%s", s.What, err, strings.Join(s.Account, "\n"))
				}
			}
		})
	}
}

// The engine meets each hazard and ends as the catalogue says, and what it had to meet came about.
func TestEngineMeetsHazards(t *testing.T) {
	for _, h := range All() {
		t.Run(h.Name(), func(t *testing.T) {
			t.Parallel()
			for _, trial := range h.Engine {
				for _, p := range trial.profiles() {
					if o, err := trial.Try(p); err != nil || !o.Right() {
						t.Errorf("%v %v\n%s", o, err, o.Command)
					}
				}
			}
		})
	}
}

// The catalogue has every hazard, and everything that a reader of the table wants to know of it.
func TestCatalogue(t *testing.T) {
	for i, h := range All() {
		if h.Number != i+1 {
			t.Fatalf("%s comes as number %d", h.Name(), i+1)
		}
		if h.Title == "" || !strings.HasSuffix(h.Story, ".") || h.ClosedBy == "" || h.Show == nil {
			t.Errorf("%s: something is missing", h.Name())
		}
		if (h.Control == "") == (h.NoControl == "") {
			t.Errorf("%s: want a known-bad engine that falls for it, or the reason why there is none", h.Name())
		}
		if _, known := controls.Find(h.Control); h.Control != "" && !known && h.Number < 28 && h.Number != 24 {
			t.Errorf("%s: there is no engine %s", h.Name(), h.Control)
		}
		if !h.Real.Feasible && h.Real.Note == "" {
			t.Errorf("%s: it does not say why it is not shown on real brokers", h.Name())
		}
		if len(h.Engine) == 0 && h.Number < 28 {
			t.Errorf("%s: the engine never meets it", h.Name())
		}
	}
	if n := len(All()); n != 45 {
		t.Errorf("%d hazards, want 45", n)
	}
}

// What the engine does not survive, its audit refuses: a topic that elects uncleanly.
func TestAuditRefusesUncleanTopics(t *testing.T) {
	unclean := kafka.TopicConfigs{Topic: "out", Entries: []kafka.ConfigEntry{{Name: "unclean.leader.election.enable", Value: "true"}}}
	for _, n := range sink.AuditTopic(unclean, 0) {
		if n.Level == sink.Refuse && strings.Contains(n.Text, "unclean") {
			return
		}
	}
	t.Error("not refused")
}
