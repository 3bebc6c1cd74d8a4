package task

import (
	"fmt"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/stream"
)

// Aligner decides what a barrier at an input means. It has no ports.
type Aligner interface {
	// Step takes the barrier that an input has delivered.
	Step(input int, m stream.Mark) Alignment
	// Blocked reports whether an input must not be read.
	Blocked(input int) bool
	// Check panics when its state is impossible.
	Check()
}

// Alignment is what follows from a barrier.
type Alignment struct {
	// Aligned: all inputs have delivered the barrier; the task snapshots and forwards it. Nothing is blocked any more.
	Aligned bool
	// Subsumed is the checkpoint, if not 0, that a newer barrier made hopeless.
	Subsumed id.Checkpoint
	// Dropped: the barrier belongs to a checkpoint older than the newest seen; it means nothing.
	Dropped bool
}

func (a Alignment) String() string {
	switch {
	case a.Dropped:
		return "dropped"
	case a.Aligned && a.Subsumed != 0:
		return fmt.Sprintf("aligned, subsumed %d", a.Subsumed)
	case a.Aligned:
		return "aligned"
	case a.Subsumed != 0:
		return fmt.Sprintf("waiting, subsumed %d", a.Subsumed)
	}
	return "waiting"
}

// barrierAligner aligns on every input. Invariant: an input is blocked only while current is pending, and never are all.
type barrierAligner struct {
	current id.Checkpoint // newest seen
	pending bool          // current still misses inputs
	blocked []bool
	count   int // of true in blocked
}

// NewAligner makes the aligner of the engine.
func NewAligner(inputs int) Aligner { return &barrierAligner{blocked: make([]bool, inputs)} }

// Step implements Aligner.
//
//  1. Input 0 delivers barrier 7 and is blocked.
//  2. Checkpoint 7 expires in the JobManager, which triggers 8.
//  3. Input 1 delivers barrier 8: its barrier 7 came never, or the source never injected it. Waiting for 7 would wait for
//     ever, so 8 subsumes it: input 0 is read again, up to its own barrier 8.
//  4. A barrier 7 that still comes is dropped.
func (a *barrierAligner) Step(input int, m stream.Mark) Alignment {
	invariant.Check(!a.blocked[input], "input %d is blocked for checkpoint %d and delivered barrier %d", input, a.current, m.Checkpoint)
	n := m.Checkpoint
	if n < a.current || n == a.current && !a.pending {
		return Alignment{Dropped: true}
	}
	var out Alignment
	if n > a.current {
		if a.pending {
			out.Subsumed = a.current
			a.release()
		}
		a.current, a.pending = n, true
	}
	a.blocked[input] = true
	a.count++
	if a.count == len(a.blocked) {
		a.release()
		a.pending = false
		out.Aligned = true
	}
	return out
}

func (a *barrierAligner) release() {
	clear(a.blocked)
	a.count = 0
}

// Blocked implements Aligner.
func (a *barrierAligner) Blocked(input int) bool { return a.blocked[input] }

// Check implements Aligner.
func (a *barrierAligner) Check() {
	n := 0
	for _, b := range a.blocked {
		if b {
			n++
		}
	}
	invariant.Check(n == a.count, "aligner counts %d blocked inputs, there are %d", a.count, n)
	invariant.Check(n == 0 || a.pending, "inputs are blocked and no checkpoint is pending after %d", a.current)
	invariant.Check(n < len(a.blocked), "all %d inputs are blocked for checkpoint %d", n, a.current)
	invariant.Check(!a.pending || n > 0, "checkpoint %d is pending and no input is blocked", a.current)
}
