package scenarios

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/faults"
)

// run runs a plan and fails the test when the verdict is not one that is expected.
func run(t testing.TB, p faults.Plan) *Result {
	t.Helper()
	r, err := Run(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Wrong {
		t.Errorf("%s: %v %+v\n%s", p.Scenario, r.Report.Verdict, r.Report.Findings, strings.Join(r.Events, "\n"))
	}
	return r
}

func planOf(t testing.TB, name string, seed uint64) faults.Plan {
	t.Helper()
	s, ok := Find(name)
	if !ok {
		t.Fatalf("there is no scenario %s", name)
	}
	p, err := PlanOf(s, seed, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// damage is what depends on how far a burst of records had come when the crash struck, to the millisecond. Another test
// holds these numbers together.
var damage = regexp.MustCompile(`(out|dropped  ) [0-9,]+(?: in|:) [0-9,]+`)

// Without the worked trace nobody could say what exactly-once means in numbers: the epoch before the crash is seen once,
// the epoch after it once, and what lies between is replayed. Its two contrasts show what the other guarantees cost.
func TestWorkedTrace(t *testing.T) {
	datadriven.Walk(t, "testdata/story", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			r := run(t, planOf(t, d.Cmd, 1))
			story := r.World.Story
			if d.HasArg("about") {
				story = damage.ReplaceAllString(story, "$1 N")
			}
			return story + r.Report.Verdict.String() + "\n"
		})
	})
}

// The offsets of the trace follow from where the logs begin and how fast they grow: other ones give another story. If they
// stood anywhere as constants, this would show it.
func TestStoryShifts(t *testing.T) {
	for _, c := range []struct {
		offsets, rates string
		records        int
		at42, replayed string
	}{
		{"999497,997484", "17,12", 2900, "p0:1,000,517 and p1:998,204", "289 + 204 = 493 records"},
		{"1000000,500", "17,12", 2900, "p0:1,001,020 and p1:1,220", "289 + 204 = 493 records"},
		{"999497,997484", "5,20", 2500, "p0:999,797 and p1:998,684", "85 + 340 = 425 records"},
		{"7,0", "1,3", 400, "p0:67 and p1:180", "17 + 51 = 68 records"},
	} {
		p := planOf(t, "fraud-golden", 1)
		p.Set("offsets", c.offsets)
		p.Set("rates", c.rates)
		p.Set("records", fmt.Sprint(c.records))
		story := run(t, p).World.Story
		for _, want := range []string{
			"barrier 42 enters the sources at " + c.at42 + "\n",
			"everything is restored from checkpoint 42, sources seek to " + c.at42 + "\n",
			"to replay: " + c.replayed + ", 17 s of input\n",
		} {
			if !strings.Contains(story, want) {
				t.Errorf("offsets %s, rates %s: no %q in\n%s", c.offsets, c.rates, want, story)
			}
		}
	}
}

// The offsets do not hang on one lucky seed.
func TestStoryOfOtherSeeds(t *testing.T) {
	for seed := uint64(2); seed <= 6; seed++ {
		story := run(t, planOf(t, "fraud-golden", seed)).World.Story
		if !strings.Contains(story, "sources seek to p0:1,000,517 and p1:998,204\n") || !strings.Contains(story, "493 records, 17 s of input\n") {
			t.Errorf("seed %d:\n%s", seed, story)
		}
	}
}

// Checkpoints 1 to 43 in full, from an empty job, come to the same places as the preloaded one: the preloaded past is no
// trick.
func TestWorkedTraceInFull(t *testing.T) {
	if testing.Short() {
		t.Skip("22 minutes of virtual time")
	}
	p := planOf(t, "fraud-golden", 1)
	p.Set("preloaded", "0")
	p.Set("burn", "22m10s")
	p.Set("offsets", fmt.Sprintf("%d,%d", 1_000_517-42*30*17, 998_204-42*30*12))
	p.Set("records", fmt.Sprint(1330*(17+12)))
	p.Faults[0].Trigger.At += 41 * 30 * time.Second
	r := run(t, p)
	for _, want := range []string{
		"barrier 42 enters the sources at p0:1,000,517 and p1:998,204\n",
		"tm2 dies, 17 s after barrier 42\n",
		"sources seek to p0:1,000,517 and p1:998,204\n",
		"to replay: 289 + 204 = 493 records, 17 s of input\n",
		"a reader sees epoch 43: 1,450 records of 50 s, at once",
	} {
		if !strings.Contains(r.World.Story, want) {
			t.Errorf("no %q in\n%s", want, r.World.Story)
		}
	}
	if m := r.World.Money(); m.In != m.Out || m.Inputs != m.Outputs {
		t.Errorf("%+v", m)
	}
}

// The contrasts lose or double exactly what the checker convicts them of.
func TestContrastsShowTheirDamage(t *testing.T) {
	twice := run(t, planOf(t, "fraud-at-least-once", 1)).World.Money()
	if twice.Doubled == 0 || twice.Dropped != 0 || twice.Out-twice.In != twice.Doubled || twice.DoubledRecords != 493 {
		t.Errorf("at-least-once: %+v", twice)
	}
	never := run(t, planOf(t, "fraud-at-most-once", 1)).World.Money()
	if never.Dropped == 0 || never.Doubled != 0 || never.In-never.Out != never.Dropped {
		t.Errorf("at-most-once: %+v", never)
	}
}
