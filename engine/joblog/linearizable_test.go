package joblog

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simblob"
)

// Several processes claim, append, read and truncate at once, over a store that loses requests and replies, and some of
// them are held in the middle. Their answers must be those of one log: whoever is told that an entry counts is right.
func TestLinearizable(t *testing.T) {
	claims := 0
	for seed := uint64(1); seed <= 150; seed++ {
		h := contend(seed, Sound())
		if h.failure != nil {
			t.Fatalf("seed %d: %v", seed, h.failure)
		}
		if !h.linearizable() {
			t.Fatalf("seed %d: not one log\n%s", seed, h)
		}
		claims += h.claims
	}
	if claims < 150*3 {
		t.Errorf("only %d claims: nothing was contended", claims)
	}
}

// Each rule is needed: without it some seed gives two processes the same position, or an answer that no reader will see.
func TestRulesAreNeeded(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules Rules
	}{{"without nonce", WithoutNonce()}, {"without floor check", WithoutFloorCheck()}} {
		caught := uint64(0)
		for seed := uint64(1); seed <= 150 && caught == 0; seed++ {
			h := contend(seed, c.rules)
			if h.failure != nil || !h.linearizable() {
				caught = seed
			}
		}
		if caught == 0 {
			t.Errorf("%s: not caught in 150 seeds", c.name)
		}
		t.Logf("%s: caught by seed %d", c.name, caught)
	}
}

// asked and answered are an operation on the log as one process saw it.
type asked struct {
	kind       string // claim, append, read
	generation id.Generation
}

type answered struct {
	superseded bool
	position   int64 // of the tail; -1: no log
	nonce      uint64
	generation id.Generation
}

// model is the log as one sequence: its length, the nonce of its tail and the newest generation.
type model struct {
	length     int64
	tail       uint64
	generation id.Generation
}

// Whoever is told that a newer generation owns the job may have written before that, or not at all.
var sequential = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{model{}} },
	Step: func(state, input, output any) []any {
		s, in, out := state.(model), input.(asked), output.(answered)
		written := model{s.length + 1, out.nonce, s.generation}
		if in.kind == "claim" {
			written.generation = id.Generation(s.length)
		}
		allowed := in.kind != "append" || in.generation == s.generation
		var next []any
		switch {
		case in.kind == "read":
			if out.position == s.length-1 && (s.length == 0 || out.nonce == s.tail) {
				next = append(next, s)
			}
		case out.superseded:
			if s.generation > in.generation {
				next = append(next, s)
			}
			if allowed {
				next = append(next, written)
			}
		case allowed && out.position == s.length:
			next = append(next, written)
		}
		return next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}).ToModel()

type history struct {
	first   porcupine.Operation
	ops     []porcupine.Operation
	clock   int64
	claims  int
	failure error
}

func (h *history) linearizable() bool {
	return porcupine.CheckOperations(sequential, append([]porcupine.Operation{h.first}, h.ops...))
}

func (h *history) String() string {
	s := ""
	for _, o := range h.ops {
		s += fmt.Sprintf("%d [%d, %d] %s\n", o.ClientId, o.Call, o.Return, sequential.DescribeOperation(o.Input, o.Output))
	}
	return s
}

// contend runs four processes over one log for a while.
func contend(seed uint64, rules Rules) *history {
	w := sim.New(sim.Options{Seed: seed})
	defer w.Close()
	store := simblob.New(w)
	h := &history{}
	h.created(0)
	var nodes []*sim.Node
	for i := range 4 {
		nodes = append(nodes, w.NewNode(fmt.Sprintf("p%d", i), func(p *proc.Process) {
			loop := p.NewLoop("writer")
			c := &client{h: h, number: i, p: p, loop: loop, left: 12}
			c.log = New(p, loop, Options{Rules: rules, Keep: 2 + seed%3})
			loop.Post(c.open)
		}))
	}
	for i, n := range nodes {
		n.Start()
		for k := range uint64(3) {
			at := env.Instant(time.Duration(w.Draw(1, uint64(i), k, 0)%300) * time.Millisecond)
			hold := time.Duration(w.Draw(2, uint64(i), k, 0)%400) * time.Millisecond
			w.At(at, func() { n.Pause(w.Now().Add(hold)) })
		}
	}
	store.FaultBlob(sim.BlobFault{Effect: sim.BlobFailAfter, OneIn: 5})
	store.FaultBlob(sim.BlobFault{Effect: sim.BlobFailBefore, OneIn: 9})
	w.RunFor(2 * time.Minute)
	if f := w.Failure(); f != nil {
		h.failure = f
	}
	// What is still under way after two minutes has an answer that nobody saw; it ends after everything else.
	for i := range h.ops {
		if h.ops[i].Return == 0 {
			h.failure = fmt.Errorf("an operation was never answered: %+v", h.ops[i].Input)
			h.ops[i].Return = math.MaxInt64
		}
	}
	return h
}

// client asks one thing after the other.
type client struct {
	h      *history
	number int
	p      *proc.Process
	loop   env.Loop
	log    *Log
	left   int
	gen    id.Generation
}

func (c *client) do(in asked, ask func(done func(*Entry, error))) {
	c.h.clock++
	i := len(c.h.ops)
	c.h.ops = append(c.h.ops, porcupine.Operation{ClientId: c.number, Input: in, Call: c.h.clock})
	ask(func(tail *Entry, err error) {
		c.h.clock++
		out := answered{position: -1, superseded: errors.Is(err, ErrSuperseded)}
		if err != nil && !out.superseded {
			c.h.failure = err
		}
		if out.superseded {
			out.nonce = c.log.core.mine.Nonce
		}
		if tail != nil && err == nil {
			out.position, out.nonce, out.generation = int64(tail.Position), tail.Nonce, tail.State.Generation
		}
		c.h.ops[i].Output, c.h.ops[i].Return = out, c.h.clock
		if in.kind == "claim" {
			c.h.claims++
			c.gen = out.generation
		}
		if out.superseded {
			c.gen = 0
		}
		c.loop.After(time.Duration(c.p.Draw(3, uint64(c.number), uint64(c.left), 0)%20)*time.Millisecond, c.next)
	})
}

func (c *client) open() {
	c.log.Open("job", "g", func(tail *Entry, err error) {
		if err != nil {
			c.loop.Post(c.open)
			return
		}
		if tail.Position == 0 {
			c.h.created(tail.Nonce)
		}
		c.next()
	})
}

// created puts the creation in front of everything else.
func (h *history) created(nonce uint64) {
	h.first = porcupine.Operation{ClientId: 99, Input: asked{kind: "open"}, Output: answered{position: 0, nonce: nonce}, Call: -1, Return: 0}
}

func (c *client) next() {
	if c.left--; c.left < 0 {
		return
	}
	switch draw := c.p.Draw(4, uint64(c.number), uint64(c.left), 0) % 8; {
	case draw == 0:
		c.do(asked{kind: "read"}, c.log.Read)
	case c.gen == 0:
		c.do(asked{kind: "claim"}, func(done func(*Entry, error)) {
			c.log.Claim(func(_ id.Generation, _ State, err error) { done(c.log.core.tail, err) })
		})
	default:
		c.do(asked{kind: "append", generation: c.gen}, func(done func(*Entry, error)) {
			c.log.Append(Entry{Kind: Fenced, Fenced: c.gen - 1}, func(_ State, err error) { done(c.log.core.tail, err) })
		})
	}
}
