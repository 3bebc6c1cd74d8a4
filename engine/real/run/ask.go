package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
)

// asker parks the loop that passes a hook of a kind and says so, until whoever started the process answers:
//
//	process, on stderr:  asking 4 at=k7 generation=1 checkpoint=3 vertex=-1 subtask=0
//	parent, on stdin:    go 4
//
// The parent strikes in between: the process stands between two effects then. A nil asker asks nothing.
type asker struct {
	at  []asked
	out io.Writer

	mu      sync.Mutex
	number  uint64
	alone   bool // the parent is gone
	waiting map[uint64]chan struct{}
}

// asked says at which hooks to ask: at all that have what is named.
type asked struct {
	point      hook.Point
	checkpoint uint64 // 0: any
	generation uint64 // 0: any
	vertex     int32
	subtask    int32
	hasSubtask bool
}

// parseAsks reads "k7", "k7 checkpoint=3", "k4 checkpoint=3 subtask=v1/0". It needs ONEFOLD_TEST=1, as parseHold does.
func parseAsks(asks []string, in io.Reader, out io.Writer) (*asker, error) {
	if len(asks) == 0 {
		return nil, nil
	}
	if os.Getenv("ONEFOLD_TEST") != "1" {
		return nil, errors.New("--ask is for tests: it needs ONEFOLD_TEST=1 in the environment")
	}
	a := &asker{out: out, waiting: map[uint64]chan struct{}{}}
	for _, text := range asks {
		one, err := parseAsk(text)
		if err != nil {
			return nil, fmt.Errorf("--ask %q: %w", text, err)
		}
		a.at = append(a.at, one)
	}
	go a.listen(in)
	return a, nil
}

func parseAsk(text string) (a asked, err error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return a, errors.New("no hook")
	}
	var ok bool
	if a.point, ok = hook.Parse(words[0]); !ok {
		return a, fmt.Errorf("there is no hook %q", words[0])
	}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "checkpoint":
			a.checkpoint, err = strconv.ParseUint(v, 10, 64)
		case "generation":
			a.generation, err = strconv.ParseUint(v, 10, 64)
		case "subtask":
			a.hasSubtask = true
			_, err = fmt.Sscanf(v, "v%d/%d", &a.vertex, &a.subtask)
		default:
			err = fmt.Errorf("unknown condition %q; known are checkpoint, generation, subtask", k)
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a asked) matches(e hook.Event) bool {
	return a.point == e.Point &&
		(a.checkpoint == 0 || id.Checkpoint(a.checkpoint) == e.Checkpoint) &&
		(a.generation == 0 || id.Generation(a.generation) == e.Generation) &&
		(!a.hasSubtask || int32(e.Subtask.Vertex) == a.vertex && e.Subtask.Index == a.subtask)
}

func (a *asker) pass(e hook.Event) {
	if a == nil {
		return
	}
	for _, at := range a.at {
		if at.matches(e) {
			a.ask(e)
			return
		}
	}
}

func (a *asker) ask(e hook.Event) {
	answered := make(chan struct{})
	a.mu.Lock()
	if a.alone {
		a.mu.Unlock()
		return
	}
	a.number++
	a.waiting[a.number] = answered
	fmt.Fprintf(a.out, "asking %d at=%v generation=%d checkpoint=%d vertex=%d subtask=%d\n",
		a.number, e.Point, e.Generation, e.Checkpoint, e.Subtask.Vertex, e.Subtask.Index)
	a.mu.Unlock()
	<-answered
}

// listen lets go what is answered. A parent that is gone answers everything: nobody would be left to.
func (a *asker) listen(in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		number, ok := strings.CutPrefix(lines.Text(), "go ")
		if n, err := strconv.ParseUint(number, 10, 64); ok && err == nil {
			a.mu.Lock()
			if c := a.waiting[n]; c != nil {
				delete(a.waiting, n)
				close(c)
			}
			a.mu.Unlock()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.alone = true
	for n, c := range a.waiting { // order irrelevant: all are let go
		delete(a.waiting, n)
		close(c)
	}
}
