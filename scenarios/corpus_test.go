package scenarios

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/probe"
)

// reaches names what a plan must have brought about, beside its faults: a plan that strikes and does not lead to the
// situation that its sentence tells shows nothing.
var reaches = map[string][]string{
	"append-time-salvaged":                    {"sink: salvage of records with the broker's timestamps", "sink: salvage done"},
	"append-time-changed-then-salvaged":       {"sink: salvage of records with the broker's timestamps", "sink: salvage done"},
	"blob-fails-after-completed":              {"joblog: own nonce after a lost reply"},
	"blob-fails-after-confirmed":              {"joblog: own nonce after a lost reply"},
	"blob-slow-expires":                       {"sink: token of an expired checkpoint committed later"},
	"commit-arrives-twice":                    {"sink: EndTxn repeated after a lost reply"},
	"commit-late-after-crash":                 {"sink: resolve said committed"},
	"commit-reply-lost":                       {"sink: EndTxn repeated after a lost reply"},
	"commit-reply-lost-then-crash":            {"sink: resolve said committed"},
	"commit-reply-lost-tv0":                   {"sink: resolve said committed"},
	"completed-crash-commit-lost":             {"sink: EndTxn repeated after a lost reply"},
	"coordinator-dies-at-prepare":             {"simbroker: decided transaction driven again by another coordinator"},
	"coordinator-moves-at-first-marker":       {"simbroker: decided transaction driven again by another coordinator"},
	"crash-in-repair":                         {"simbroker: marker dropped", "sink: repair of a dropped marker"},
	"crash-in-salvage":                        {"sink: resolve said aborted", "simbroker: transaction timed out", "sink: resolve said committed"},
	"cut-from-brokers":                        {"sink: token of an expired checkpoint committed later"},
	"dropped-marker-at-last-epoch":            {"simbroker: marker dropped", "sink: repair of a dropped marker"},
	"dropped-marker-in-fencing-at-last-epoch": {"simbroker: marker dropped", "sink: repair of a dropped marker"},
	"dropped-marker-k44":                      {"simbroker: marker dropped", "sink: repair of a dropped marker"},
	"dropped-marker-then-crash":               {"simbroker: marker dropped", "sink: repair of a dropped marker"},
	"fenced-in-memory-commits":                {"simbroker: open transaction fenced in memory only", "simbroker: transaction timed out"},
	"fraud-golden":                            {"simbroker: open transaction fenced"},
	"end-lost-with-leader":                    {"sink: an end waits for the replicas", "simbroker: marker dropped"},
	"ids-all-undecided":                       {"sink: id pool dry"},
	"jobmanagers-cut-off":                     {"taskmanager: no JobManager heard, tasks stopped"},
	"leader-cut-from-replicas":                {"simbroker: replica left the ISR"},
	"leaders-die-replicated":                  {"simbroker: replica left the ISR"},
	"replicas-below-minimum":                  {"simbroker: write not on all replicas in time", "simbroker: too few replicas in sync for a write"},
	"older-epoch-times-out-first":             {"simbroker: transaction timed out", "sink: salvage done"},
	"produce-reply-lost-at-barrier":           {"simbroker: duplicate batch recognised"},
	"salvage-cut-short":                       {"sink: salvage cut short and repeated", "sink: salvage done"},
	"salvage-marker-dropped-unseen":           {"sink: salvage done", "simbroker: marker dropped", "sink: repair of a dropped marker"},
	"salvage-reply-lost":                      {"sink: salvage done", "sink: EndTxn repeated after a lost reply"},
	"short-job-log":                           {"joblog: claim lost", "jobmanager: displaced by a newer generation"},
	"slow-operator-blocks":                    {"task: channel blocked with records behind it"},
	"stale-offsets-reopen-k39":                {"simbroker: transaction timed out"},
	"standby-takes-over":                      {"jobmanager: standby took over"},
	"step-back":                               {"sink: step back"},
	"timeout-after-completed":                 {"simbroker: transaction timed out", "sink: second witness used", "sink: salvage done"},
	"younger-commit-held-back":                {"simbroker: transaction timed out", "sink: salvage done"},
	"zombie-in-restore":                       {"jobmanager: displaced by a newer generation"},
	"zombie-jobmanager":                       {"joblog: claim lost", "jobmanager: displaced by a newer generation"},
	"zombie-jobmanager-completed":             {"joblog: claim lost", "jobmanager: displaced by a newer generation"},
	"zombie-taskmanager":                      {"simbroker: open transaction fenced"},
	"zombie-taskmanager-with-commits":         {"sink: resolve said committed"},
}

// A plan of the corpus says what it shows, prints as it stands in its file, strikes what it names, and ends as it expects.
func TestCorpus(t *testing.T) {
	plans := Corpus()
	if len(plans) < 20 {
		t.Fatalf("%d plans", len(plans))
	}
	for _, c := range plans {
		t.Run(c.Name, func(t *testing.T) {
			file, err := os.ReadFile("testdata/" + c.Name + ".plan")
			if err != nil || c.Plan.String() != string(file) {
				t.Errorf("%v; it prints as\n%s", err, c.Plan)
			}
			if n := len(c.Plan.Comment); n != 1 || !strings.HasSuffix(c.Shows(), ".") || len(c.Plan.Expect) == 0 {
				t.Errorf("want one sentence and an expected verdict")
			}
			r := run(t, c.Plan)
			for i, o := range r.Outcomes {
				if !o.Struck {
					t.Errorf("%v: fired %v at %v, hit %d times, did not strike", c.Plan.Faults[i], o.Fired, o.At, o.Hits)
				}
			}
			if testing.Verbose() {
				t.Log(probesOf(r))
			}
			for _, want := range reaches[c.Name] {
				if !slices.Contains(probesOf(r), want) {
					t.Errorf("never reached: %s", want)
				}
			}
			if t.Failed() {
				t.Log(strings.Join(r.Events, "\n"), probesOf(r))
			}
		})
	}
}

// Every name in the table of what plans reach is one of the corpus, and of a probe.
func TestCorpusTable(t *testing.T) {
	var plans, probes []string
	for _, c := range Corpus() {
		plans = append(plans, c.Name)
	}
	for i := range probe.Count() {
		probes = append(probes, probe.Name(i))
	}
	for name, wants := range reaches {
		if !slices.Contains(plans, name) {
			t.Errorf("no plan %s", name)
		}
		for _, want := range wants {
			if !slices.Contains(probes, want) {
				t.Errorf("%s: no probe %q", name, want)
			}
		}
	}
}

func probesOf(r *Result) []string {
	var names []string
	for _, p := range r.Probes {
		names = append(names, probe.Name(p))
	}
	return names
}
