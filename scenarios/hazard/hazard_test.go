package hazard

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/scenarios/controls"
)

var rewrite = flag.Bool("rewrite", false, "write HAZARDS.md anew")

// A hazard shows exactly where the catalogue says, on the simulated broker under every profile; its cure works; the engine
// ends as expected, and what it had to meet came about. If this fails, the model is kinder than Kafka, the engine is wrong,
// or the catalogue is. HAZARDS.md is what was found.
func TestHazards(t *testing.T) {
	all := All()
	reports := make([]Report, len(all))
	t.Run("each", func(t *testing.T) {
		for i, h := range all {
			t.Run(h.Name(), func(t *testing.T) {
				t.Parallel()
				reports[i] = Run(h)
				for _, wrong := range reports[i].Wrong {
					t.Errorf("%s\nstep by step: simrun hazards %s", wrong, h.Name())
				}
				for _, s := range slices.Concat(reports[i].Sights, reports[i].Forms, reports[i].Cures) {
					if s.What == "" {
						t.Errorf("%s: it does not say what it saw", s.Profile)
					}
				}
			})
		}
	})
	if slices.ContainsFunc(reports, func(r Report) bool { return r.Hazard.Number == 0 }) {
		t.Skip("some hazards only")
	}
	var b bytes.Buffer
	WriteMarkdown(&b, reports)
	if *rewrite {
		if err := os.WriteFile("HAZARDS.md", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if file, err := os.ReadFile("HAZARDS.md"); err != nil || !bytes.Equal(file, b.Bytes()) {
		t.Errorf("%v; HAZARDS.md is not what was found: go test ./scenarios/hazard -run TestHazards -rewrite", err)
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
		if _, known := controls.Find(h.Control); h.Control != "" && !known {
			t.Errorf("%s: there is no engine %s", h.Name(), h.Control)
		}
		if _, gone := h.Where.In(); len(gone) == 0 && h.Cure == nil {
			t.Errorf("%s: it shows everywhere and has no cure", h.Name())
		}
		if !h.Real.Feasible && h.Real.Note == "" {
			t.Errorf("%s: it does not say why it is not shown on real brokers", h.Name())
		}
		for _, f := range h.Forms {
			if f.Name == "" || !strings.HasSuffix(f.Story, ".") || f.Show == nil {
				t.Errorf("%s: something is missing of its form %q", h.Name(), f.Name)
			}
		}
		if len(h.Engine) == 0 {
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
