package faults

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/hook"
)

// A plan that does not say the same thing after printing and parsing repeats another run than the one that failed.
func TestPlanPrintsAndParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		got, err := Parse(p.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, p)
		}
		if !reflect.DeepEqual(got, p) {
			t.Fatalf("printed\n%sparsed\n%s%#v\n%#v", p, got, p, got)
		}
	})
}

func anyPlan(t *rapid.T) Plan {
	word := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,8}`)
	p := Plan{Scenario: word.Draw(t, "scenario"), Seed: rapid.Uint64().Draw(t, "seed"), Engine: word.Draw(t, "engine")}
	if rapid.Bool().Draw(t, "comment") {
		p.Comment = []string{"what this shows", "", "  more"}
	}
	for _, k := range rapid.SliceOfNDistinct(word, 0, 4, rapid.ID).Draw(t, "world") {
		p.World = append(p.World, Setting{k, word.Draw(t, "value")})
	}
	if rapid.Bool().Draw(t, "expect") {
		p.Expect = []string{"CLEAN", "LOUD-LOSS"}
	}
	for range rapid.IntRange(0, 5).Draw(t, "faults") {
		p.Faults = append(p.Faults, anyFault(t, word))
	}
	return p
}

func anyFault(t *rapid.T, word *rapid.Generator[string]) Fault {
	f := Fault{Kind: Kind(rapid.IntRange(0, int(KindCount)-1).Draw(t, "kind")), Trigger: anyTrigger(t)}
	duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 1e14).Draw(t, "ns")) })
	k := kinds[f.Kind]
	if strings.ContainsAny(k.operands, "nb") {
		f.Node = word.Draw(t, "node")
	}
	if strings.Contains(k.operands, "u") {
		f.Profile = word.Draw(t, "profile")
	}
	if k.operands == "v" {
		f.Level = rapid.IntRange(0, 2).Draw(t, "level")
	}
	if k.operands == "nn" {
		f.Peer = word.Draw(t, "peer")
	}
	if strings.Contains(k.operands, "r") {
		f.Request = "EndTxn"
	}
	if k.operands == "p" {
		f.Topic, f.Partition = word.Draw(t, "topic"), rapid.Int32Range(0, 9).Draw(t, "partition")
	}
	switch k.by {
	case 'd':
		f.By = duration.Draw(t, "by")
	case 's':
		f.By = duration.Draw(t, "by") - time.Hour
	case 'f':
		f.Factor = rapid.IntRange(2, 100).Draw(t, "factor")
	}
	counts, lasts := strings.Contains(k.amount, "c"), strings.Contains(k.amount, "d")
	if counts && (!lasts || rapid.Bool().Draw(t, "counted")) {
		f.Count = rapid.IntRange(1, 9).Draw(t, "count")
	} else if lasts {
		f.For = duration.Draw(t, "for")
	}
	return f
}

func anyTrigger(t *rapid.T) Trigger {
	if rapid.Bool().Draw(t, "timed") {
		return Trigger{At: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "at"))}
	}
	tr := Trigger{
		OnHook: true, Hook: Hook(rapid.IntRange(0, int(HookCount)-1).Draw(t, "hook")),
		Checkpoint: rapid.Uint64Range(0, 50).Draw(t, "checkpoint"), Generation: rapid.Uint64Range(0, 50).Draw(t, "generation"),
		Nth: rapid.SampledFrom([]int{0, 2, 3}).Draw(t, "nth"),
	}
	if tr.HasSubtask = rapid.Bool().Draw(t, "of subtask"); tr.HasSubtask {
		tr.Vertex, tr.Subtask = rapid.Int32Range(0, 9).Draw(t, "vertex"), rapid.Int32Range(0, 9).Draw(t, "subtask")
	}
	return tr
}

// The example of the conventions is what people write by hand.
func TestExamplePlanParses(t *testing.T) {
	b, err := os.ReadFile("testdata/example.plan")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(string(b))
	if err != nil {
		t.Fatal(err)
	}
	if p.Int("records", 0) != 6000 || p.Seed != 4242 || len(p.Faults) != 2 || p.Expect[0] != "CLEAN" {
		t.Errorf("parsed as %#v", p)
	}
	if f := p.Faults[1]; !f.Trigger.OnHook || f.Trigger.Hook != 7 || f.Trigger.Checkpoint != 3 || f.Kind != LoseReplyFault || f.Request != "EndTxn" || f.Node != "tm1" || f.Count != 1 {
		t.Errorf("second fault parsed as %#v", f)
	}
	if p.String() != string(b) {
		t.Errorf("prints as\n%s", p)
	}
}

// A plan that is wrong must say where, or a person with a corpus of plans searches by hand.
func TestSyntaxErrorsNameLineAndColumn(t *testing.T) {
	head := "onefold plan 1\nscenario payments\n"
	for _, c := range []struct {
		text         string
		line, column int
		reason       string
	}{
		{"", 1, 1, "without a line \"onefold plan 1\""},
		{"scenario x\n", 1, 1, "the first line must be"},
		{"onefold plan 2\n", 1, 14, "\"2\" where \"1\""},
		{"onefold plan\n", 1, 13, "is missing"},
		{"onefold plan 1\n", 2, 1, "without a line \"scenario NAME\""},
		{"onefold plan 1\nat 1s crash tm1 for 1s\n", 2, 1, "before the line"},
		{head + "scenario again\n", 3, 1, "a second line"},
		{head + "seed -1\n", 3, 6, "no seed"},
		{head + "seed 1 2\n", 3, 8, "too much"},
		{head + "world a=1 b\n", 3, 11, "KEY=VALUE"},
		{head + "world a=1 a=2\n", 3, 11, "a second time"},
		{head + "atone 1s\n", 3, 1, "begins no line"},
		{head + "at soon crash tm1 for 1s\n", 3, 4, "a time such as"},
		{head + "at -1s crash tm1 for 1s\n", 3, 4, "a time such as"},
		{head + "at 1s explode tm1 for 1s\n", 3, 7, "unknown fault \"explode\"; known are crash"},
		{head + "at 1s crash TM1 for 1s\n", 3, 13, "no node"},
		{head + "at 1s crash tm1 in 1s\n", 3, 17, "\"in\" where \"for\""},
		{head + "at 1s crash tm1 for 3\n", 3, 21, "a duration"},
		{head + "at 1s crash tm1\n", 3, 16, "\"for\" is missing"},
		{head + "on k15 crash tm1 for 1s\n", 3, 4, "unknown hook"},
		{head + "on k7 step=2 crash tm1 for 1s\n", 3, 7, "unknown condition"},
		{head + "on k7 nth=0 crash tm1 for 1s\n", 3, 7, "from 1"},
		{head + "on k7 subtask=1 crash tm1 for 1s\n", 3, 7, "v0/1"},
		{head + "on k7 lose-reply EndTxn tm1 for 0\n", 3, 33, "how often"},
		{head + "on k7 lose-reply EndTxn tm1 for 3s\n", 3, 33, "how often"},
		{head + "on k9 no-leader totals for 1s\n", 3, 17, "no partition"},
		{head + "at 1s slow-operator tm1 by 1 for 1s\n", 3, 28, "a factor"},
	} {
		_, err := Parse(c.text)
		var at *SyntaxError
		if !errors.As(err, &at) {
			t.Errorf("%q: got %v", c.text, err)
			continue
		}
		if at.Line != c.line || at.Column != c.column || !strings.Contains(at.Reason, c.reason) {
			t.Errorf("%q: got %v; want line %d, column %d, %q", c.text, err, c.line, c.column, c.reason)
		}
	}
}

// Hooks have one set of names in plans and in the engine.
func TestHooksAreNamedAsInTheEngine(t *testing.T) {
	if int(HookCount) != int(hook.Count) {
		t.Fatalf("%d hooks here, %d in the engine", HookCount, hook.Count)
	}
	for h := range HookCount {
		if h.String() != hook.Point(h).String() {
			t.Errorf("hook %d is %s here, %s in the engine", h, h, hook.Point(h))
		}
	}
	for h, want := range map[Hook]hook.Point{
		hookK0: hook.K0BarrierInjected, hookK14: hook.K14Confirmed, hookC1: hook.C1ConfirmAsked,
		hookK7: hook.K7Completed, hookK9: hook.K9EndTxnSent, hookC2: hook.C2RepairSent, hookR3: hook.R3TokenDecided,
		hookR0: hook.R0Claimed, hookR4: hook.R4SalvageEndTxnSent, hookR5: hook.R5Confirmed, hookR6: hook.R6Fenced, hookR7: hook.R7WritersOpen,
	} { // order irrelevant: each is compared alone
		if hook.Point(h) != want {
			t.Errorf("%s is not %s", h, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("onefold plan 1\nscenario x\nseed 1\nat 1s crash tm1 for 1s\n")
	f.Add("# c\nonefold plan 1\nscenario x\non k1 nth=2 late EndTxn all by 1s for 2\n")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil {
			t.Fatalf("%q parses, but not its print %q: %v", s, p, err)
		}
		if again.String() != p.String() {
			t.Fatalf("%q prints as %q, then as %q", s, p, again)
		}
	})
}
