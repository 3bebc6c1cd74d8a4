package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/faults"
)

func quiet(name string) faults.Plan {
	return faults.Plan{Scenario: name, Seed: 1, Engine: "sound"}
}

// A job that is stopped and started with another parallelism goes on as the same job: one log, and lanes that belong to
// (sink, subtask, number) whatever the generation, so that the marker topic grows with the largest parallelism only.
func TestRescaledJobGoesOn(t *testing.T) {
	w := run(t, quiet("rescale")).World
	var widths []string // subtasks that wrote, in the order of generations
	lanes := map[string]int32{}
	generation, width := uint64(0), int32(0)
	for i, e := range w.entries {
		if int(e.Position) != i || (e.Kind == joblog.Created) != (i == 0) {
			t.Fatalf("entry %d is %s at position %d: not one log of one job", i, e.Kind, e.Position)
		}
		for _, tok := range e.Tokens {
			if g := uint64(tok.Generation); g != generation {
				widths, generation, width = append(widths, ""), g, 0
			}
			width = max(width, tok.Subtask+1)
			widths[len(widths)-1] = fmt.Sprint(width)
			lane := fmt.Sprintf("%s/%d/%d", tok.Sink, tok.Subtask, tok.Number)
			if was, known := lanes[lane]; known && was != tok.Lane.Partition {
				t.Errorf("lane %s is partition %d, and was %d", lane, tok.Lane.Partition, was)
			}
			lanes[lane] = tok.Lane.Partition
		}
	}
	if want := []string{"3", "1", "4"}; !slices.Equal(widths, want) {
		t.Errorf("subtasks that wrote, by generation: %v, want %v", widths, want)
	}
}

// A savepoint below what readers have seen is refused, and says what to do. With --rewind it is restored once, and what
// lies between is repeated: exactly that.
func TestRestoreOfSavepoint(t *testing.T) {
	r := run(t, quiet("savepoint"))
	if !strings.Contains(strings.Join(r.Events, "\n"), "repeats visible output, which needs --rewind") {
		t.Errorf("not refused: %v", r.Events)
	}
	rewinds := r.World.rewinds()
	_, repeated := r.World.repeats()
	if len(rewinds) != 1 || repeated == 0 || r.World.Money().DoubledRecords != 0 && r.World.Money().DoubledRecords != repeated {
		t.Errorf("rewinds %v, repeated %d", rewinds, repeated)
	}
}

// The excuse of a rewind covers what lies between the two checkpoints and nothing else.
func TestRewindExcusesNothingElse(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(h *checker.History)
		want   checker.Verdict
	}{
		{"one more", func(h *checker.History) { h.Reads = append(h.Reads, h.Reads[0]) }, checker.Dup},
		{"one less", func(h *checker.History) { h.Reads = h.Reads[1:] }, checker.Gap},
	} {
		w := run(t, quiet("savepoint")).World
		c.change(w.History)
		if found, _ := w.repeats(); len(found) != 1 || found[0].Verdict != c.want {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}

// A savepoint that is the newest confirmed checkpoint is restored without --rewind, by another number of subtasks, and
// nothing repeats.
func TestRestoreOfLastSavepoint(t *testing.T) {
	r := run(t, quiet("savepoint-stop"))
	for _, x := range r.World.rewinds() {
		if x.to.Checkpoint != x.from.Checkpoint {
			t.Errorf("went back from checkpoint %d to %d", x.from.Checkpoint, x.to.Checkpoint)
		}
	}
	if !strings.Contains(strings.Join(r.Events, "\n"), "stopped with savepoint") {
		t.Errorf("never stopped: %v", r.Events)
	}
}
