package joblog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
)

// Each file tells one story of a writer at the log: what is asked, the answers of the store, and what it does next. If one
// changed silently, a writer would believe that it wrote what nobody reads, or write what it must not.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/core", func(t *testing.T, path string) {
		s := &story{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "store": // what is in the store, by those who wrote it
				return s.fill(t, d)
			case "writer":
				rules := Sound()
				if d.HasArg("without-nonce") {
					rules = WithoutNonce()
				}
				if d.HasArg("without-floor-check") {
					rules = WithoutFloorCheck()
				}
				s.c = NewCore(rules)
				return "ok"
			case "step":
				return s.steps(t, d)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// story has a store whose answers the file chooses: each line is a question, or how the store answers the effect before:
// ok (as it is), lost-before or lost-after (unknown; without or with the effect).
type story struct {
	c       *Core
	objects []object
	under   Effect
	nonce   uint64
}

type object struct {
	p    id.Position
	data []byte
}

func (s *story) find(p id.Position) int {
	for i, o := range s.objects {
		if o.p == p {
			return i
		}
	}
	return -1
}

func (s *story) put(p id.Position, data []byte) {
	i := 0
	for i < len(s.objects) && s.objects[i].p < p {
		i++
	}
	s.objects = append(s.objects[:i], append([]object{{p, data}}, s.objects[i:]...)...)
}

// fill appends entries as others would, or deletes, or damages: "created", "claimed", "completed N", "delete N", "damage N".
func (s *story) fill(t *testing.T, d *datadriven.TestData) string {
	for _, line := range strings.Split(d.Input, "\n") {
		w := strings.Fields(line)
		n := 0
		if len(w) > 1 {
			n, _ = strconv.Atoi(w[1])
		}
		switch w[0] {
		case "delete":
			i := s.find(id.Position(n))
			s.objects = append(s.objects[:i], s.objects[i+1:]...)
			continue
		case "damage":
			s.objects[s.find(id.Position(n))].data[3] ^= 1
			continue
		}
		e := Entry{Kind: Kind(w[0]), Process: "jm2", Nonce: 1000 + uint64(len(s.objects))}
		var before State
		if k := len(s.objects); k > 0 {
			tail, err := Decode(s.objects[k-1].p, s.objects[k-1].data)
			if err != nil {
				t.Fatal(err)
			}
			before, e.Position = tail.State, tail.Position+1
		}
		e.Generation = before.Generation
		switch e.Kind {
		case Created:
			e.Job, e.Graph = "job-1", "g"
		case Claimed:
			e.Generation = id.Generation(e.Position)
		case Completed:
			e.Ref = &CheckpointRef{Checkpoint: id.Checkpoint(n)}
		}
		var err error
		if e.State, err = before.Fold(e); err != nil {
			t.Fatal(err)
		}
		s.put(e.Position, Encode(e))
	}
	return s.positions()
}

func (s *story) positions() string {
	out := "store:"
	for _, o := range s.objects {
		out += fmt.Sprintf(" %d", o.p)
	}
	return out
}

func (s *story) steps(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		w := strings.Fields(line)
		s.nonce++
		sign := func(k Kind) Entry { return Entry{Kind: k, Process: "jm1", Nonce: s.nonce} }
		var f Fact
		switch w[0] {
		case "read":
			f = ReadAsked{}
		case "open":
			e := sign(Created)
			e.Job, e.Graph = "job-1", "g"
			f = OpenAsked{e}
		case "claim":
			f = ClaimAsked{Claimed: sign(Claimed)}
			if len(w) > 1 { // after this generation
				n, _ := strconv.Atoi(w[1])
				f = ClaimAsked{Claimed: sign(Claimed), Only: true, Newest: id.Generation(n)}
			}
		case "complete":
			n, _ := strconv.Atoi(w[1])
			e := sign(Completed)
			e.Ref = &CheckpointRef{Checkpoint: id.Checkpoint(n)}
			f = AppendAsked{e}
		default:
			if _, over := s.under.(Finish); over {
				t.Fatalf("%s: nothing is under way", line)
			}
			f = s.answer(w[0])
		}
		s.under = s.c.Step(f)
		fmt.Fprintf(&out, "%s\n  %s\n", line, show(s.under))
	}
	return out.String()
}

var errLost = errors.New("reply lost")

func (s *story) answer(how string) Fact {
	switch e := s.under.(type) {
	case List:
		f := Listed{}
		if how != "ok" {
			return Listed{Err: errLost}
		}
		for _, o := range s.objects {
			f.Positions = append(f.Positions, o.p)
		}
		return f
	case Get:
		if how != "ok" {
			return Got{e.Position, nil, errLost}
		}
		if i := s.find(e.Position); i >= 0 {
			return Got{e.Position, s.objects[i].data, nil}
		}
		return Got{e.Position, nil, blob.ErrNotFound}
	case Create:
		taken := s.find(e.Position) >= 0
		if how != "lost-before" && !taken {
			s.put(e.Position, e.Object)
		}
		switch {
		case how != "ok":
			return Made{e.Position, errLost}
		case taken:
			return Made{e.Position, blob.ErrExists}
		}
		return Made{e.Position, nil}
	}
	return Waited{}
}

func show(e Effect) string {
	switch e := e.(type) {
	case List:
		return "list"
	case Get:
		return fmt.Sprintf("get %d", e.Position)
	case Create:
		entry, _ := Decode(e.Position, e.Object)
		return fmt.Sprintf("create %d: %s generation=%d", e.Position, entry.Kind, entry.Generation)
	case Wait:
		return fmt.Sprintf("wait %v", e.For)
	case Finish:
		switch {
		case e.Err != nil:
			return fmt.Sprintf("finish: %v", e.Err)
		case e.Tail == nil:
			return "finish: no log"
		}
		return fmt.Sprintf("finish: tail %d %s by %s, generation=%d completed=%d", e.Tail.Position, e.Tail.Kind, e.Tail.Process, e.Tail.State.Generation, e.Tail.State.Highest)
	}
	return fmt.Sprintf("%T", e)
}
