package task

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
)

// noSource is in the head of a chain that has seen no record.
const noSource = -1

// origin is the input record at hand.
func (t *Task) origin() Origin {
	o := t.chain.Head.Origin
	if o.Source == noSource {
		return Origin{}
	}
	return Origin{t.uid(int(o.Source)), o.Partition, o.Offset}
}

// fail reports the first failure and stops working. Ends and loop are closed later, since fail may be called from within
// them.
func (t *Task) fail(by id.Operator, at Origin, reason string) {
	if t.phase >= failed {
		return
	}
	t.phase = failed
	t.entry(entryFailed, uint64(t.spec.Generation), 0)
	t.p.Log("task %v failed: operator %q at %v: %s", t.spec.Subtask, by, at, reason)
	t.host.Failed(t.spec.Subtask, by, at, reason)
	t.loop.Post(func() {
		t.release(false)
		t.loop.Close()
	})
}

// release closes all ends, once.
func (t *Task) release(clean bool) {
	if t.released {
		return
	}
	t.released = true
	if t.source != nil {
		t.source.src.Close()
	}
	for _, s := range t.sinks {
		if s.opened {
			s.sink.Close(clean)
		}
	}
	for _, o := range t.outputs {
		o.close()
	}
	if t.gate != nil {
		t.gate.close()
	}
}

// recoverUser turns a panic of a user function into a failure of its operator. All other panics are bugs and pass.
func (t *Task) recoverUser() {
	r := recover()
	if r == nil {
		return
	}
	if _, bug := r.(invariant.Violation); bug || t.chain == nil || t.chain.At == graph.Engine {
		panic(r)
	}
	at := t.chain.At
	t.chain.At = graph.Engine
	t.fail(t.uid(at), t.origin(), fmt.Sprintf("panic: %v%s", r, panicSite()))
}

// panicSite is the innermost function that panicked, with its line: the same text in every process.
func panicSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for panicked := false; ; {
		f, more := frames.Next()
		switch {
		case strings.HasPrefix(f.Function, "runtime."):
			panicked = panicked || f.Function == "runtime.gopanic"
		case panicked && f.Function != "":
			return fmt.Sprintf(" in %s:%d", f.Function, f.Line)
		}
		if !more {
			return ""
		}
	}
}
