package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
)

// hold parks the loop that first passes a hook, until SIGUSR1. It exists for tests with real processes: they kill or stop one
// that is known to stand between two effects. A nil hold holds nothing.
type hold struct {
	point hook.Point
	from  id.Checkpoint
	out   io.Writer
	once  sync.Once
	wake  chan os.Signal
}

// parseHold reads "k7" or "k7@3". It needs ONEFOLD_TEST=1, so that nobody parks a job by mistake.
func parseHold(s string, out io.Writer) (*hold, error) {
	if s == "" {
		return nil, nil
	}
	if os.Getenv("ONEFOLD_TEST") != "1" {
		return nil, errors.New("--hold is for tests: it needs ONEFOLD_TEST=1 in the environment")
	}
	name, from, numbered := strings.Cut(s, "@")
	p, ok := hook.Parse(name)
	if !ok {
		return nil, fmt.Errorf("--hold %q: there is no hook %q", s, name)
	}
	h := &hold{point: p, out: out, wake: make(chan os.Signal, 1)}
	if numbered {
		n, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--hold %q: %q is no number of a checkpoint", s, from)
		}
		h.from = id.Checkpoint(n)
	}
	signal.Notify(h.wake, syscall.SIGUSR1)
	return h, nil
}

func (h *hold) pass(e hook.Event) {
	if h == nil || e.Point != h.point || e.Checkpoint < h.from {
		return
	}
	h.once.Do(func() {
		fmt.Fprintf(h.out, "holding at %v checkpoint %d generation %d\n", e.Point, e.Checkpoint, e.Generation)
		<-h.wake
		fmt.Fprintf(h.out, "going on at %v checkpoint %d\n", e.Point, e.Checkpoint)
	})
}
