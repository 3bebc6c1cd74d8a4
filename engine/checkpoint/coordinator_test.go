package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Each file tells one story of the coordinator: facts, one a line, and under each what is to be done. If one of them
// changed silently, checkpoints would complete, commit or be let go of at another moment than the protocol says.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &story{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				s.fresh(t, d)
				return "ok"
			case "facts":
				return s.facts(t, d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

type story struct {
	c  *Coordinator
	at env.Instant
}

func (s *story) fresh(t *testing.T, d *datadriven.TestData) {
	cfg := Config{Interval: 5 * time.Second, Timeout: 30 * time.Second, Tolerated: 2, Retain: 1}
	place := Place{
		Job: "job-1", Generation: 3, Subtasks: []id.Subtask{{Vertex: 0, Index: 0}, {Vertex: 1, Index: 0}},
		Sources: []id.Subtask{{Vertex: 0, Index: 0}},
	}
	rules := Sound()
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "pause":
			cfg.Pause, _ = time.ParseDuration(a.Vals[0])
		case "force":
			cfg.Force, _ = time.ParseDuration(a.Vals[0])
		case "tolerated":
			cfg.Tolerated, _ = strconv.Atoi(a.Vals[0])
		case "highest":
			n, _ := strconv.Atoi(a.Vals[0])
			place.Highest, place.Confirmed = id.Checkpoint(n), id.Checkpoint(n)
			place.Retained = []joblog.CheckpointRef{{Checkpoint: id.Checkpoint(n)}}
		case "unordered":
			rules.Next = func(id.Checkpoint, id.Checkpoint) bool { return true }
		case "early":
			rules.Early = func() bool { return true }
		default:
			t.Fatalf("unknown argument %s", a.Key)
		}
	}
	s.c, s.at = New(cfg, rules, place), 0
}

func (s *story) facts(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		words := strings.Fields(line)
		if ms, ok := strings.CutPrefix(words[0], "+"); ok {
			wait, err := time.ParseDuration(ms)
			if err != nil {
				t.Fatal(err)
			}
			s.at = s.at.Add(wait)
			words = words[1:]
		}
		prev := s.c.Snapshot()
		effects := s.c.Step(s.at, parse(t, words))
		s.c.Check()
		s.c.CheckDelta(prev)
		fmt.Fprintf(&out, "%s\n", line)
		for _, e := range effects {
			fmt.Fprintf(&out, "  %v\n", e)
		}
	}
	return out.String()
}

func parse(t *testing.T, w []string) Fact {
	n := func(i int) id.Checkpoint {
		x, err := strconv.Atoi(w[i])
		if err != nil {
			t.Fatal(err)
		}
		return id.Checkpoint(x)
	}
	switch w[0] {
	case "started":
		return Started{}
	case "woken":
		return Woken{}
	case "ack":
		f := Acked{Subtask: subtask(t, w[1]), Checkpoint: n(2)}
		for _, k := range w[3:] {
			f.State.Tokens = append(f.State.Tokens, parseToken(t, k))
		}
		return f
	case "decline":
		return Declined{subtask(t, w[1]), n(2), strings.Join(w[3:], " ")}
	case "persisted":
		return Persisted{n(1), joblog.CheckpointRef{Checkpoint: n(1)}}
	case "completed":
		return CompletedAppended{n(1)}
	case "committed":
		f := CommitsReported{}
		for _, k := range w[1:] {
			f.Results = append(f.Results, operator.CommitResult{Token: parseToken(t, k)})
		}
		return f
	case "refused":
		return CommitsReported{Results: []operator.CommitResult{{Token: parseToken(t, w[1]), State: operator.Refused, Reason: "fenced"}}}
	case "unauthorized":
		return CommitsReported{Results: []operator.CommitResult{{Token: parseToken(t, w[1]), State: operator.Unauthorized, Reason: "denied"}}}
	case "ended-input":
		return InputEnded{subtask(t, w[1])}
	case "commits-confirmed":
		return CommitsConfirmed{n(1)}
	case "confirmed":
		return ConfirmedAppended{n(1)}
	case "savepoint-appended":
		return SavepointAppended{n(1)}
	case "sealed":
		return Sealed{n(1)}
	case "savepoint":
		return SavepointAsked{}
	case "stop":
		return SavepointAsked{Stop: true}
	}
	t.Fatalf("unknown fact %v", w)
	return nil
}

func subtask(t *testing.T, s string) id.Subtask {
	var out id.Subtask
	if _, err := fmt.Sscanf(s, "v%d/%d", &out.Vertex, &out.Index); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return out
}

// parseToken reads sink/subtask@checkpoint.
func parseToken(t *testing.T, s string) token.Token {
	k := token.Token{}
	sink, rest, _ := strings.Cut(s, "/")
	k.Sink = id.Operator(sink)
	if _, err := fmt.Sscanf(rest, "%d@%d", &k.Subtask, &k.Checkpoint); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	k.TransactionalID = fmt.Sprintf("onefold.job-1.%s.g3.%d.%d", sink, k.Subtask, k.Checkpoint%3)
	return k
}
