// Package envtest is the conformance suite of the ports in package env: clock, loops, timers, workers and transport.
//
// The simulator and the implementation on goroutines pass the same cases, so what engine code has learned to expect of the
// one holds for the other. Each case states what would go wrong with the engine if it failed.
package envtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
)

// World is an implementation under test.
type World interface {
	// Process starts a process of that name and returns its ports. A name is started again only after Crash.
	Process(name string) *proc.Process
	// Crash ends a process at once: its loops are dropped, its peers are told.
	Crash(name string)
	// Settle lets time pass until cond holds, and says whether it did before a bound of the world's own: a few seconds
	// of real time, more of virtual time. cond may be called from any goroutine.
	Settle(cond func() bool) bool
}

// Run runs every case on a new world.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := &run{T: t, w: newWorld(t)}
			c.run(x)
		})
	}
}

type testCase struct {
	name string
	run  func(*run)
}

var cases = slices.Concat(loopCases, timerCases, workerCases, transportCases)

// run is one case under way.
type run struct {
	*testing.T
	w World
}

// wait lets time pass until cond holds; the case fails if it never does.
func (x *run) wait(what string, cond func() bool) {
	x.Helper()
	if !x.w.Settle(cond) {
		x.Fatalf("waited in vain: %s", what)
	}
}

// linger lets d pass on the clock of p, so that what must not happen has had its time.
func (x *run) linger(p *proc.Process, d time.Duration) {
	x.Helper()
	l := p.NewLoop("linger")
	var passed note
	l.After(d, func() { passed.add("passed") })
	x.wait("time passes", func() bool { return passed.len() == 1 })
}

// do runs fn on the loop and waits until it has run.
func (x *run) do(l env.Loop, fn func()) {
	x.Helper()
	var ran note
	l.Post(func() {
		fn()
		ran.add("ran")
	})
	x.wait("a post runs", func() bool { return ran.len() == 1 })
}

// note records what happened, from any goroutine.
type note struct {
	mu    sync.Mutex
	lines []string
}

func (n *note) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *note) len() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.lines)
}

func (n *note) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

func (n *note) has(line string) bool { return slices.Contains(n.all(), line) }

// expect compares the lines with what they should be.
func (n *note) expect(x *run, want ...string) {
	x.Helper()
	if got := n.all(); !slices.Equal(got, want) {
		x.Fatalf("got  %q\nwant %q", got, want)
	}
}
