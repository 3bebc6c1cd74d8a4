package joblog

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/token"
)

// The fold is what recovery starts from: entries, one a line, and the state after each. If it changed, a restore would
// decide other tokens or go on from another checkpoint.
func TestFoldOfEntriesIsTheState(t *testing.T) {
	datadriven.Walk(t, "testdata/fold", func(t *testing.T, path string) {
		var s State
		position := id.Position(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				s, position = State{}, 0
				return "ok"
			}
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				e := parseEntry(t, line)
				e.Position = position
				if e.Kind == Claimed {
					e.Generation = id.Generation(position)
				} else if e.Generation == 0 {
					e.Generation = s.Generation
				}
				before, _ := json.Marshal(s)
				next, err := s.Fold(e)
				if after, _ := json.Marshal(s); string(after) != string(before) {
					t.Fatalf("%s changed the state before it", line)
				}
				if err != nil {
					fmt.Fprintf(&out, "%s\n  %v\n", line, err)
					continue
				}
				s = next
				position++
				fmt.Fprintf(&out, "%s\n  %s\n", line, showState(s))
			}
			return out.String()
		})
	})
}

func parseEntry(t *testing.T, line string) Entry {
	w := strings.Fields(line)
	e := Entry{Kind: Kind(w[0])}
	var n id.Checkpoint
	for _, a := range w[1:] {
		key, value, _ := strings.Cut(a, "=")
		x, _ := strconv.Atoi(value)
		switch key {
		case "ckpt":
			n = id.Checkpoint(x)
		case "generation":
			e.Generation = id.Generation(x)
		case "floor":
			e.Floor = id.Position(x)
		case "token":
			e.Tokens = append(e.Tokens, token.Token{Sink: "out", Checkpoint: id.Checkpoint(x)})
		case "ended":
			e.Ended = true
		case "reason":
			e.Reason = value
		case "fenced":
			e.Fenced = id.Generation(x)
		default:
			t.Fatalf("unknown argument %s", a)
		}
	}
	switch e.Kind {
	case Created:
		e.Job, e.Graph = "job-1", "g"
	case Completed:
		e.Ref = &CheckpointRef{Checkpoint: n}
	case Rewound:
		e.Checkpoint, e.Ref = n, &CheckpointRef{Checkpoint: n}
	case Lost:
		e.Loss = &Loss{Checkpoint: n}
	default:
		e.Checkpoint = n
	}
	return e
}

func showState(s State) string {
	refs := func(list []CheckpointRef) string {
		out := ""
		for _, r := range list {
			out += fmt.Sprintf(" %d", r.Checkpoint)
		}
		return "[" + strings.TrimSpace(out) + "]"
	}
	completed := id.Checkpoint(0)
	if s.Completed != nil {
		completed = s.Completed.Checkpoint
	}
	out := fmt.Sprintf("generation=%d completed=%d confirmed=%d highest=%d retained=%s", s.Generation, completed, s.Confirmed, s.Highest, refs(s.Retained))
	for _, k := range s.Undecided {
		out += fmt.Sprintf(" undecided@%d", k.Checkpoint)
	}
	if s.Fenced > 0 {
		out += fmt.Sprintf(" fenced=%d", s.Fenced)
	}
	if len(s.Savepoints) > 0 {
		out += " savepoints=" + refs(s.Savepoints)
	}
	if s.Rewound > 0 {
		out += fmt.Sprintf(" rewound=%d", s.Rewound)
	}
	if s.Floor > 0 {
		out += fmt.Sprintf(" floor=%d", s.Floor)
	}
	if s.Stopped != "" {
		out += fmt.Sprintf(" stopped=%s ended=%v", s.Stopped, s.Ended)
	}
	if len(s.Losses) > 0 {
		out += fmt.Sprintf(" losses=%d", len(s.Losses))
	}
	return out
}
