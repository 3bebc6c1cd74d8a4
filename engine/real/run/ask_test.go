package run

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
)

// A process that does not stand still where it was asked to is struck at another moment than the plan says; one that goes on
// standing when its parent is gone would hang for ever.
func TestAskParksUntilAnswered(t *testing.T) {
	t.Setenv("ONEFOLD_TEST", "1")
	in, answers := io.Pipe()
	asked, out := io.Pipe()
	a, err := parseAsks([]string{"k7 checkpoint=3", "k4 subtask=v1/0"}, in, out)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(asked)
	passed := make(chan string, 4)
	pass := func(name string, p hook.Point, checkpoint uint64, vertex, index int32) {
		a.pass(hook.Event{Point: p, Checkpoint: id.Checkpoint(checkpoint), Generation: 9, Subtask: id.Subtask{Vertex: id.Vertex(vertex), Index: index}})
		passed <- name
	}
	pass("other checkpoint", hook.K7Completed, 2, -1, 0)
	pass("other subtask", hook.K4TokenRecorded, 3, 1, 1)
	if <-passed != "other checkpoint" || <-passed != "other subtask" {
		t.Fatal("asked where it was not to")
	}
	go pass("k7", hook.K7Completed, 3, -1, 0)
	lines.Scan()
	if want := "asking 1 at=k7 generation=9 checkpoint=3 vertex=-1 subtask=0"; lines.Text() != want {
		t.Errorf("said %q, want %q", lines.Text(), want)
	}
	go pass("k4", hook.K4TokenRecorded, 3, 1, 0)
	lines.Scan()
	select {
	case name := <-passed:
		t.Errorf("%s went on without an answer", name)
	case <-time.After(20 * time.Millisecond):
	}
	if _, err := io.WriteString(answers, "go 2\n"); err != nil {
		t.Fatal(err)
	}
	if name := <-passed; name != "k4" {
		t.Errorf("%s went on, k4 was answered", name)
	}
	answers.Close()
	if name := <-passed; name != "k7" {
		t.Errorf("%s went on", name)
	}
	pass("after the parent's end", hook.K7Completed, 3, -1, 0)
}

// What a plan asks for must be understood or refused, never ignored.
func TestAskSyntax(t *testing.T) {
	if _, err := parseAsks([]string{"k7"}, strings.NewReader(""), io.Discard); os.Getenv("ONEFOLD_TEST") == "" && err == nil {
		t.Error("asks without ONEFOLD_TEST=1")
	}
	t.Setenv("ONEFOLD_TEST", "1")
	for _, text := range []string{"", "k77", "k7 step=1", "k7 checkpoint=x", "k7 subtask=1"} {
		if _, err := parseAsks([]string{text}, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
