package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
)

var rewrite = flag.Bool("rewrite", false, "write the goldens anew")

func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs; go test ./reports -rewrite writes it anew. Now:\n%s", name, b.String())
	}
}

var build = Build{Engine: "4f2a91c07d3e", Go: "go1.26.0", System: "linux/amd64", Cores: 2, Options: []string{"--seeds", "10000"}}

func samplePlan(t *testing.T) faults.Plan {
	t.Helper()
	p, err := faults.Parse("onefold plan 1\nscenario payments\nseed 4242\nworld taskmanagers=3 records=6000\nengine sound\n" +
		"at 12.4s crash tm2 for 3s\non k7 checkpoint=3 lose-reply EndTxn tm1 for 1\nat 20s pause jm1 for 5s\n")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sampleReport is a real finding of the checker: input 1 is not visible.
func sampleReport() checker.Report {
	h := checker.NewHistory()
	in, out := h.AddTopic("payments", checker.Input, 1), h.AddTopic("totals", checker.Output, 1)
	h.AddReader("read_committed", true)
	for o := range int64(9) {
		h.Records = append(h.Records, checker.Record{Topic: in, Offset: o, ProducerID: -1, Event: checker.Event{Key: checker.NoKey, Number: o}})
	}
	e := checker.Event{Key: checker.NoKey, Number: -1}
	h.Source(&e, checker.Source{Topic: in, Partition: 0, Offset: 0})
	h.Records = append(h.Records, checker.Record{Topic: out, Outcome: checker.Committed, ProducerID: 7, Event: e})
	h.Reads = append(h.Reads, checker.Read{Topic: out, At: int64(time.Second), Event: e})
	h.Partitions = append(h.Partitions, checker.Partition{Topic: in, Stable: 9, High: 9}, checker.Partition{Topic: out, Stable: 1, High: 1})
	h.Claims = []checker.Claim{{Kind: checker.CheckpointCompleted, Checkpoint: 1}, {Kind: checker.CheckpointConfirmed, Checkpoint: 1}}
	return checker.Check(h, everything{}, checker.Options{Complete: true})
}

type everything struct{}

func (everything) Decode(*checker.History, int16, []byte, []byte, *checker.Event) error { return nil }

func (everything) Wants(*checker.History, int16, *checker.Record) bool { return true }

func (everything) Fold(*checker.History, int16, *checker.Values, []*checker.Record, *checker.Event) (checker.Values, bool) {
	return checker.Values{}, false
}

func sampleRun(t *testing.T) *Run {
	r := NewRun(samplePlan(t), []faults.Outcome{{Fired: true, At: 12400 * time.Millisecond, Hook: 5, Struck: true, Hits: 1}, {}, {Fired: true, At: 20 * time.Second, Hook: 14}}, sampleReport())
	r.VirtualSeconds, r.Seconds, r.TraceEntries, r.TraceHash = 83.25, 0.041, 181_233, "9c1f00d2a7b3e455"
	r.Settle = "came to rest 14.2 s after the burn; the bound is 95 s"
	r.ShrunkPlan = "onefold plan 1\nscenario payments\nseed 4242\nengine sound\nat 12.4s crash tm2 for 100ms\n"
	r.Events = []string{"12.4s jm1: heartbeat of tm2 missed", "17.4s jm1: restart 1 from checkpoint 5"}
	r.Command, r.Build = "simrun run payments --seed 4242", build
	return r
}

func sampleCampaign(t *testing.T) *Campaign {
	var cov faults.Coverage
	var all []faults.Fault
	var outs []faults.Outcome
	n := 0
	for k := range faults.KindCount {
		for h := range faults.HookCount {
			if (int(k)*7+int(h)*3)%11 == 0 || faultIsImpossible(k, h) {
				continue
			}
			for range 1 + (int(k)+2)*int(h)*int(h)%97*n%400 {
				f := faults.Fault{Kind: k}
				if strings.Contains("lose-request lose-reply late repeat", k.String()) {
					f.Request = faults.Requests[n%len(faults.Requests)]
				}
				all = append(all, f)
				outs = append(outs, faults.Outcome{Fired: true, Struck: true, Hook: h})
			}
			n++
		}
		all = append(all, faults.Fault{Kind: k}, faults.Fault{Kind: k}, faults.Fault{Kind: k})
		outs = append(outs, faults.Outcome{}, faults.Outcome{Fired: true}, faults.Outcome{Fired: true, Struck: true, Hook: faults.NoHook})
	}
	cov.Add(faults.Plan{Faults: all}, outs)
	f := sampleRun(t).Failure()
	f.Folder = "reports/out/payments-4242-GAP"
	c := &Campaign{
		Scenario: "payments", Engine: "sound", From: 1, Seeds: 10000, Verdicts: map[string]int{"CLEAN": 9997, "GAP": 1, "STALL": 2},
		EntriesPerSeed: 180412, Compared: checker.Compared{Records: 59_981_022, Epochs: 281_332, Transactions: 844_120, Operations: 1_210_003},
		Probes:   map[string]int{"sink: id pool grew": 312, "sink: salvage done": 0, "task: channel blocked with records behind it": 9988},
		Vacuous:  []string{"probe never reached: sink: salvage done"},
		Failures: []Failure{f}, TraceHash: "0f8e1bb2c94d7731", Build: build,
	}
	c.Cover(&cov)
	c.Finish(512300*time.Millisecond, 167*time.Hour)
	return c
}

func faultIsImpossible(k faults.Kind, h faults.Hook) bool { return faults.ImpossibleReason(k, h) != "" }

// Scripts rely on the keys, people on the rest: neither changes by accident.
func TestCampaignGoldens(t *testing.T) {
	c := sampleCampaign(t)
	golden(t, "campaign.json", c.WriteJSON)
	golden(t, "campaign.txt", c.WriteText)
	golden(t, "junit.xml", c.WriteJUnit)
	golden(t, "campaign.html", c.WriteHTML)
}

func TestRunGoldens(t *testing.T) {
	r := sampleRun(t)
	golden(t, "report.txt", r.WriteText)
	golden(t, "report.json", r.WriteJSON)
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "repeat: simrun run payments --seed 4242\n") {
		t.Error("a report must end with the command that repeats it")
	}
}

// A clean campaign says what it bounds, and is well-formed everywhere.
func TestCleanCampaign(t *testing.T) {
	c := &Campaign{Scenario: "copy", Engine: "sound", Seeds: 3000, Verdicts: map[string]int{"CLEAN": 3000}, Build: build}
	c.Finish(time.Minute, time.Hour)
	var b bytes.Buffer
	if err := c.WriteText(&b); err != nil || !strings.Contains(b.String(), "3,000 clean seeds: failures are rarer than 0.1 % (3/N, at 95 %)") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if c.Failed() {
		t.Error("failed")
	}
	b.Reset()
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(b.Bytes(), &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"scenario", "seeds", "verdicts", "seconds", "seedsPerSecond", "virtualSeconds", "coverage", "failures", "traceHash"} {
		if _, ok := keys[k]; !ok {
			t.Errorf("no key %s", k)
		}
	}
	if _, isList := keys["failures"].([]any); !isList {
		t.Error("failures is no list when there are none")
	}
	b.Reset()
	if err := c.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var x junitSuites
	if err := xml.Unmarshal(b.Bytes(), &x); err != nil || x.Failures != 0 || x.Tests != 2 {
		t.Errorf("%v %+v", err, x)
	}
}

// Text of failures may hold anything; no report may break by it, and the page must not run it.
func TestHostileTextIsEscaped(t *testing.T) {
	c := sampleCampaign(t)
	c.Failures[0].Detail = "key \"<script>alert(1)</script>\" ]]> & \x01"
	var b bytes.Buffer
	if err := c.WriteHTML(&b); err != nil || strings.Contains(b.String(), "<script>") {
		t.Errorf("%v: script in the page", err)
	}
	b.Reset()
	if err := c.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var x junitSuites
	if err := xml.Unmarshal(b.Bytes(), &x); err != nil {
		t.Errorf("%v in\n%s", err, b.String())
	}
}

// One page means one page: nothing is fetched from elsewhere.
func TestPageNeedsNothingElse(t *testing.T) {
	var b bytes.Buffer
	if err := sampleCampaign(t).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"http:", "https:", "src=", "url(", "@import", "<link"} {
		if strings.Contains(b.String(), s) {
			t.Errorf("the page has %q", s)
		}
	}
	if strings.Contains(b.String(), "ZgotmplZ") {
		t.Error("a value was refused by the template")
	}
}

// A campaign over several scenarios is the sum of them.
func TestMergeSums(t *testing.T) {
	a, b := sampleCampaign(t), sampleCampaign(t)
	b.Scenario, b.Failures = "ledger", []Failure{}
	m := Merge([]*Campaign{a, b})
	if m.Scenario != "ledger payments" || m.Seeds != 20000 || m.Verdicts["GAP"] != 2 || len(m.Failures) != 1 || len(m.Parts) != 2 || len(m.Vacuous) != 2 ||
		m.Coverage["crash"]["k7"] != 2*a.Coverage["crash"]["k7"] || m.TraceHash == a.TraceHash {
		t.Errorf("%+v", m)
	}
	if Merge([]*Campaign{a}) != a {
		t.Error("one campaign is not itself")
	}
}

// A folder appears whole or not at all: half a failure is worse than none.
func TestFolderIsWholeOrNotThere(t *testing.T) {
	dir := t.TempDir()
	trace := func(w io.Writer) error { _, err := io.WriteString(w, "1 tm1 tick\n"); return err }
	path, err := WriteFolder(dir, Folder{Run: sampleRun(t), Trace: trace, History: checker.NewHistory()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.txt", "report.json", PlanFile, ShrunkFile, TraceFile, HistoryFile} {
		if b, err := os.ReadFile(filepath.Join(path, name)); err != nil || len(b) == 0 {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
	before, err := os.ReadFile(filepath.Join(path, TraceFile))
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk full")
	if _, err := WriteFolder(dir, Folder{Run: sampleRun(t), Trace: func(w io.Writer) error { trace(w); return broken }}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	after, err := os.ReadFile(filepath.Join(path, TraceFile))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the old folder was damaged: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// The plan in a failure folder is the one that repeats it.
func TestFolderPlanParses(t *testing.T) {
	path, err := WriteFolder(t.TempDir(), Folder{Run: sampleRun(t)})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(path, PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := faults.Parse(string(b)); err != nil || p.Seed != 4242 {
		t.Errorf("%v %+v", err, p)
	}
}

func TestWriteCampaignLeavesNoPieces(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := WriteCampaign(dir, sampleCampaign(t)); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v %v", entries, err)
	}
	f, err := os.Open(filepath.Join(dir, "campaign.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := ReadCampaign(f)
	if err != nil || c.Seeds != 10000 || c.Failures[0].Command == "" {
		t.Errorf("%v %+v", err, c)
	}
}
