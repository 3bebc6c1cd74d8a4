package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// called runs a command line as main does.
func called(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, &o, &e)
	return code, o.String(), e.String()
}

func planFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "my.plan")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

const quiet = "onefold plan 1\nscenario copy\nseed 1\nworld records=200\nengine sound\n"

// What a user gets wrong ends with exit code 2 and says what, where, and what there is instead.
func TestMistakesAreTold(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"unknown command", []string{"fly"}, []string{"fly"}},
		{"unknown flag", []string{"run", "copy", "--sed", "1"}, []string{"--sed"}},
		{"unknown scenario", []string{"run", "coppy"}, []string{`"coppy"`, "simrun list"}},
		{"unknown scenario of a campaign", []string{"campaign", "coppy"}, []string{`"coppy"`, "simrun list"}},
		{"unknown engine", []string{"run", "copy", "--engine", "bad"}, []string{`"bad"`, "simrun list"}},
		{"unknown engine of a campaign", []string{"campaign", "copy", "--engine", "bad"}, []string{`"bad"`, "simrun list"}},
		{"unknown control", []string{"controls", "bad"}, []string{`"bad"`, "simrun list"}},
		{"a release that is not there", []string{"campaign", "copy", "--profile", "k44,k45"}, []string{"k44,k45", `"k45"`, "k400", "-tv0", "all"}},
		{"all releases and one more", []string{"campaign", "copy", "--profile", "all,k44"}, []string{"all,k44", "stands alone"}},
		{"several releases of one run", []string{"run", "copy", "--profile", "all"}, []string{"one run", "campaign copy --profile all"}},
		{"a level without the feature", []string{"run", "copy", "--profile", "k39-tv1"}, []string{`"k39-tv1"`, "from 4.0 on"}},
		{"negative seeds", []string{"campaign", "copy", "--seeds", "-1"}, []string{"--seeds -1", "from 1 on"}},
		{"no seeds", []string{"determinism", "copy", "--seeds", "0"}, []string{"--seeds 0"}},
		{"negative seed", []string{"run", "copy", "--seed", "-1"}, []string{"-1", "--seed"}},
		{"no time", []string{"campaign", "copy", "--for", "-1s"}, []string{"--for -1s"}},
		{"nowhere to write", []string{"campaign", "copy", "--out", "/dev/null/x"}, []string{"--out", "/dev/null"}},
		{"no scenario", []string{"run"}, []string{"name one scenario", "simrun list"}},
		{"no history", []string{"check"}, []string{"name one history"}},
		{"no such file", []string{"repro", "/nowhere/at/all"}, []string{"/nowhere/at/all", "scenarios/testdata"}},
		{"a plan that does not parse", []string{"repro", planFile(t, quiet+"on k77 crash tm1 for 1s\n")}, []string{"my.plan:6:", "k77"}},
		{"a node that is not there", []string{"repro", planFile(t, quiet+"at 3s crash tm9 for 1s\n")}, []string{"tm9", "tm1"}},
		{"a setting that is not there", []string{"repro", planFile(t, strings.Replace(quiet, "records", "rekords", 1))}, []string{"rekords", "records"}},
		{"a setting out of bounds", []string{"repro", planFile(t, strings.Replace(quiet, "200", "0", 1))}, []string{"records=0", "from 1"}},
		{"an engine that is not there", []string{"repro", planFile(t, strings.Replace(quiet, "sound", "bad", 1))}, []string{`"bad"`}},
		{"nothing to shrink", []string{"shrink", planFile(t, quiet)}, []string{"CLEAN", "nothing to shrink"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, err := called(t, c.args...)
			if code != exitUsage || out != "" {
				t.Errorf("exit %d, stdout %q", code, out)
			}
			for _, s := range c.says {
				if !strings.Contains(err, s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
		})
	}
}

// A clean run ends with 0 and a verdict against with 1; with --json stdout is one document.
func TestVerdictsAreExitCodes(t *testing.T) {
	clean := planFile(t, quiet)
	bad := planFile(t, "onefold plan 1\nscenario payments\nseed 5\nworld records=2000\nengine no-guarantee\nat 30s crash tm1 for 2s\nat 31s crash tm2 for 2s\n")
	for _, c := range []struct {
		file, verdict string
		code          int
	}{{clean, "CLEAN", exitClean}, {bad, "DUP", exitAgainst}} {
		code, out, _ := called(t, "repro", c.file, "--json")
		var v struct{ Verdict, TraceHash string }
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		if code != c.code || v.Verdict != c.verdict || len(v.TraceHash) != 16 {
			t.Errorf("%s: exit %d, %+v", c.file, code, v)
		}
		code, out, _ = called(t, "repro", c.file)
		if code != c.code || !strings.Contains(out, "\n"+c.verdict+"\n") {
			t.Errorf("%s: exit %d, %s", c.file, code, out)
		}
	}
}

// A campaign writes its documents, and a failing one leaves a folder whose plan fails again.
func TestCampaignLeavesWhatRepeatsAFailure(t *testing.T) {
	dir := t.TempDir()
	code, out, _ := called(t, "campaign", "payments", "--seeds", "6", "--engine", "no-guarantee", "--out", dir, "--json")
	var c struct {
		Scenario string
		Seeds    int
		Verdicts map[string]int
		Failures []struct {
			Seed    uint64
			Verdict string
			Plan    string
			Command string
			Folder  string
		}
		TraceHash string
	}
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if code != exitAgainst || c.Seeds != 6 || len(c.Failures) == 0 || c.TraceHash == "" {
		t.Fatalf("exit %d, %+v", code, c)
	}
	for _, name := range []string{"campaign.json", "junit.xml", "campaign.html"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	f := c.Failures[0]
	for _, name := range []string{"report.txt", "report.json", "plan", "trace.txt", "history.jsonl"} {
		if _, err := os.Stat(filepath.Join(f.Folder, name)); err != nil {
			t.Error(err)
		}
	}
	if code, out, _ := called(t, "repro", f.Folder); code != exitAgainst || !strings.Contains(out, f.Verdict) {
		t.Errorf("repro of %s: exit %d, %s", f.Folder, code, out)
	}
	if code, _, err := called(t, "check", filepath.Join(f.Folder, "history.jsonl"), "--job", "fraud"); code != exitUsage || !strings.Contains(err, "it holds payments, totals") {
		t.Errorf("check of another job's history: exit %d, %s", code, err)
	}
	if code, out, _ := called(t, "check", filepath.Join(f.Folder, "history.jsonl")); code != exitAgainst || !strings.Contains(out, f.Verdict) {
		t.Errorf("check of the stored history: exit %d, %s", code, out)
	}
}

// The list shows every scenario and engine, and a scenario without a seed may stand for its golden run.
func TestListAndGolden(t *testing.T) {
	code, out, _ := called(t, "list")
	for _, s := range []string{"payments", "fraud", "ledger", "copy", "no-fencing", "no-alignment"} {
		if !strings.Contains(out, s) {
			t.Errorf("list does not show %s", s)
		}
	}
	if code != exitClean {
		t.Errorf("exit %d", code)
	}
	code, out, _ = called(t, "run", "fraud")
	if code != exitClean || !strings.Contains(out, "1,000,517") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// A command that is stopped before it was through has not passed: a campaign of no seeds is not clean, nor is an engine that
// was not tried missed.
func TestInterruptedIsNoPass(t *testing.T) {
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, args := range [][]string{{"campaign", "copy", "--seeds", "3", "--out", ""}, {"controls", "commit-early"}, {"hazards", "H13"}} {
		var out, err bytes.Buffer
		if code := run(stopped, args, &out, &err); code != exitUsage || !strings.Contains(err.String(), "interrupted after") {
			t.Errorf("%v: exit %d, %q", args, code, err.String())
		}
	}
}

// An engine that is named runs a plan of a file, too.
func TestEngineOfAPlanIsReplaced(t *testing.T) {
	_, out, err := called(t, "run", "copy", "--plan", planFile(t, quiet), "--engine", "no-guarantee")
	if !strings.Contains(out, "engine no-guarantee") {
		t.Errorf("%s%s", out, err)
	}
}
