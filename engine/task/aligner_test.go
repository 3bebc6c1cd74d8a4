package task

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/stream"
)

// TestAlignerStories replays the stories in testdata/aligner. A story is told in commands:
//
//	new inputs=N
//	barrier input=I ckpt=N
func TestAlignerStories(t *testing.T) {
	datadriven.Walk(t, "testdata/aligner", func(t *testing.T, path string) {
		var a Aligner
		inputs := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				d.ScanArgs(t, "inputs", &inputs)
				a = NewAligner(inputs)
				return blockedText(a, inputs)
			case "barrier":
				var input, n int
				d.ScanArgs(t, "input", &input)
				d.ScanArgs(t, "ckpt", &n)
				out, bug := step(a, input, n)
				if bug != "" {
					return bug + "\n"
				}
				a.Check()
				return fmt.Sprintf("%v\n%s", out, blockedText(a, inputs))
			}
			return "unknown command\n"
		})
	})
}

func step(a Aligner, input, n int) (out Alignment, bug string) {
	defer func() {
		if r := recover(); r != nil {
			bug = fmt.Sprint(r)
		}
	}()
	return a.Step(input, stream.Mark{Checkpoint: id.Checkpoint(n)}), ""
}

func blockedText(a Aligner, inputs int) string {
	var all []string
	for i := range inputs {
		if a.Blocked(i) {
			all = append(all, fmt.Sprint(i))
		}
	}
	if len(all) == 0 {
		return "blocked: none\n"
	}
	return "blocked: " + strings.Join(all, " ") + "\n"
}

// If this failed, a barrier would be taken before its last input delivered it, or an input would stay blocked for ever.
// Inputs deliver rising barriers, some of which never come; the model is what each has delivered last.
func TestAlignerAgreesWithWhatWasDelivered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs := rapid.IntRange(1, 4).Draw(t, "inputs")
		a := NewAligner(inputs)
		last := make([]int, inputs) // newest barrier delivered by each input
		newest, taken := 0, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			var open []int
			for i := range inputs {
				if !a.Blocked(i) {
					open = append(open, i)
				}
			}
			if len(open) == 0 {
				t.Fatal("every input is blocked")
			}
			i := rapid.SampledFrom(open).Draw(t, "input")
			n := last[i] + rapid.IntRange(1, 2).Draw(t, "skip")
			last[i] = n
			before, pendingAbove := newest, taken
			newest = max(newest, n)
			out := a.Step(i, stream.Mark{Checkpoint: id.Checkpoint(n)})
			a.Check()
			all := true
			for k := range inputs {
				all = all && last[k] == newest
			}
			if out.Dropped != (n < before) {
				t.Fatalf("barrier %d with %d as the newest: %v", n, before, out)
			}
			if out.Aligned != (all && taken < newest) {
				t.Fatalf("inputs delivered %v and the step says %v", last, out)
			}
			if out.Aligned {
				taken = newest
			}
			subsumed := 0
			if n > before && before > pendingAbove {
				subsumed = before
			}
			if int(out.Subsumed) != subsumed {
				t.Fatalf("barrier %d came while %d was the newest and %d the newest taken: %v", n, before, pendingAbove, out)
			}
			for k := range inputs {
				if want := taken < newest && last[k] == newest; a.Blocked(k) != want {
					t.Fatalf("inputs delivered %v, %d taken: input %d blocked is %v", last, taken, k, !want)
				}
			}
		}
	})
}

// If this failed, a watermark would pass records that are still to come, or stand still. The other implementation keeps all
// that was ever said and looks at all of it.
func TestWatermarkIsTheSmallestOfThoseAwake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs := rapid.IntRange(1, 4).Draw(t, "inputs")
		w := newWatermarks(inputs)
		said := make([][]int64, inputs) // -1: idle
		told := int64(-1 << 62)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			i := rapid.IntRange(0, inputs-1).Draw(t, "input")
			var out merged
			if rapid.IntRange(0, 3).Draw(t, "idle") == 0 {
				said[i] = append(said[i], -1)
				out = w.idle(i)
			} else {
				at := rapid.Int64Range(0, 40).Draw(t, "time")
				said[i] = append(said[i], at)
				out = w.advance(i, at)
			}
			low, awake := int64(1<<62), 0
			for _, s := range said {
				if len(s) > 0 && s[len(s)-1] == -1 {
					continue
				}
				awake++
				high := int64(-1 << 62)
				for _, v := range s {
					high = max(high, v)
				}
				if len(s) == 0 {
					high = -1 << 62
				}
				low = min(low, high)
			}
			if out.idle != (awake == 0) && out.changed {
				t.Fatalf("%v: idle is told as %v", said, out.idle)
			}
			if awake == 0 {
				continue
			}
			if out.changed != (low > told) {
				t.Fatalf("%v: the watermark was %d and is %d, told is %+v", said, told, low, out)
			}
			if out.changed {
				if out.time != low {
					t.Fatalf("%v: told %d, it is %d", said, out.time, low)
				}
				told = low
			}
		}
	})
}
