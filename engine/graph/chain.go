package graph

import (
	"fmt"

	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/stream"
)

// Engine is Chain.At while no user function runs.
const Engine = -1

// Writer is the sending end of an edge in one subtask. Batch is the batch in which a record with this head belongs; Wrote
// is called after each committed record.
type Writer interface {
	Batch(h *stream.Head) *stream.Batch
	Wrote(b *stream.Batch)
}

// Chain is what the operators of one subtask share: the record at hand, whose user function runs, and the first failure.
// It lives on the task's loop.
type Chain struct {
	// Head is of the record at hand; an operator that changes its timestamp changes it here.
	Head stream.Head
	// At is the index in the job of the operator whose user function runs, Engine while none does. A panic is the user's
	// exactly when At says so.
	At int

	Context   operator.Context // Operator is empty
	KeyGroups int32
	Name      string // of the job
	// State is the keyed state of each operator of the chain; nil for those without, by index in the job.
	State []state.Backend

	err error
	by  int
}

// Fail notes the failure of operator self (an index into the job); the first one counts. The record at hand is not emitted
// any further.
func (c *Chain) Fail(self int, err error) {
	if c.err == nil {
		c.err, c.by = err, self
	}
}

// Failed reports whether an operator failed. Operators that emit in a loop ask it.
func (c *Chain) Failed() bool { return c.err != nil }

// Failure is the first failure and the operator that it belongs to.
func (c *Chain) Failure() (self int, err error) { return c.by, c.err }

// Group is one vertex's operators composed for one subtask.
type Group struct {
	// Records is the input of a source.
	Records func(*operator.Record)
	// Payloads is the input of each edge that enters the vertex, in the order of Plan.Entering.
	Payloads []func(payload []byte)
}

// Outlets gives the ends of a chain: the writer of an edge, and what takes a sink's records.
type Outlets struct {
	Edge func(edge int) Writer
	Sink func(op int) func(*operator.Record)
}

// Compose builds the chain of vertex v back to front.
func (p *Plan) Compose(v int, c *Chain, o Outlets) (Group, error) {
	c.At = Engine
	vertex := &p.Vertices[v]
	inputs := make([][]any, len(p.Job.Operators))
	for i := len(vertex.Operators) - 1; i >= 0; i-- {
		op := vertex.Operators[i]
		node := &p.Job.Operators[op]
		var outs []any
		if node.Kind == Sink {
			outs = append(outs, o.Sink(op))
		}
		for e := range p.Job.Edges {
			edge := &p.Job.Edges[e]
			switch {
			case edge.From != op:
			case p.Chained[e]:
				outs = append(outs, inputs[edge.To][edge.Port])
			default:
				outs = append(outs, edge.Encode(c, o.Edge(e)))
			}
		}
		out := outs[0]
		if len(outs) > 1 {
			out = node.Fork(outs)
		}
		in, err := node.Compose(c, op, out)
		if err != nil {
			return Group{}, fmt.Errorf("operator %s: %w", node.UID, err)
		}
		inputs[op] = in
	}
	var g Group
	head := vertex.Operators[0]
	if p.Job.Operators[head].Kind == Source {
		g.Records = inputs[head][0].(func(*operator.Record))
	}
	for _, e := range p.Entering(v) {
		edge := &p.Job.Edges[e]
		g.Payloads = append(g.Payloads, edge.Decode(c, inputs[edge.To][edge.Port]))
	}
	return g, nil
}
