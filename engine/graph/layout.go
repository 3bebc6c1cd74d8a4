package graph

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
)

// Subtasks are all subtasks of the plan, by vertex and index.
func (p *Plan) Subtasks() []id.Subtask {
	var all []id.Subtask
	for _, v := range p.Vertices {
		for i := int32(0); i < v.Parallelism; i++ {
			all = append(all, id.Subtask{Vertex: v.ID, Index: i})
		}
	}
	return all
}

// Parallelism is the number of subtasks of each vertex.
func (p *Plan) Parallelism() []int32 {
	var all []int32
	for _, v := range p.Vertices {
		all = append(all, v.Parallelism)
	}
	return all
}

// Slots is the number of slots that the plan needs. A slot takes one subtask of each vertex.
func (p *Plan) Slots() int32 {
	most := int32(0)
	for _, v := range p.Vertices {
		most = max(most, v.Parallelism)
	}
	return most
}

// Slot is the slot of a subtask, from 0.
func (p *Plan) Slot(s id.Subtask) int32 { return s.Index }

// VertexOf is the vertex that an operator (an index into the job) runs in.
func (p *Plan) VertexOf(op int) id.Vertex { return id.Vertex(p.vertexOf[op]) }

// Home is the vertex of the operator with this uid; false when the job has none.
func (p *Plan) Home(uid id.Operator) (id.Vertex, bool) {
	op := p.Job.Find(uid)
	if op < 0 {
		return 0, false
	}
	return p.VertexOf(op), true
}

// IsSource reports whether subtasks of v read a source.
func (p *Plan) IsSource(v id.Vertex) bool {
	return p.Job.Operators[p.Vertices[v].Operators[0]].Kind == Source
}

// SourceSubtasks are the subtasks that read a source: those that barriers are injected into and that report the end of
// input.
func (p *Plan) SourceSubtasks() []id.Subtask {
	var all []id.Subtask
	for _, s := range p.Subtasks() {
		if p.IsSource(s.Vertex) {
			all = append(all, s)
		}
	}
	return all
}

// Entering are the edges of the job that enter vertex v from another, in the job's order.
func (p *Plan) Entering(v int) []int {
	var edges []int
	for e, edge := range p.Job.Edges {
		if !p.Chained[e] && p.vertexOf[edge.To] == v {
			edges = append(edges, e)
		}
	}
	return edges
}

// Leaving are the edges of the job that leave vertex v for another, in the job's order.
func (p *Plan) Leaving(v int) []int {
	var edges []int
	for e, edge := range p.Job.Edges {
		if !p.Chained[e] && p.vertexOf[edge.From] == v {
			edges = append(edges, e)
		}
	}
	return edges
}

// Inputs are the channels that end in s, by edge and sender.
func (p *Plan) Inputs(s id.Subtask) []Channel {
	var all []Channel
	for _, e := range p.Entering(int(s.Vertex)) {
		from := p.VertexOf(p.Job.Edges[e].From)
		if p.Job.Edges[e].Shipping == Forward {
			all = append(all, Channel{int32(e), id.Subtask{Vertex: from, Index: s.Index}, s})
			continue
		}
		for i := int32(0); i < p.Vertices[from].Parallelism; i++ {
			all = append(all, Channel{int32(e), id.Subtask{Vertex: from, Index: i}, s})
		}
	}
	return all
}

// Outputs are the channels that begin in s, by edge and receiver.
func (p *Plan) Outputs(s id.Subtask) []Channel {
	var all []Channel
	for _, e := range p.Leaving(int(s.Vertex)) {
		to := p.VertexOf(p.Job.Edges[e].To)
		if p.Job.Edges[e].Shipping == Forward {
			all = append(all, Channel{int32(e), s, id.Subtask{Vertex: to, Index: s.Index}})
			continue
		}
		for i := int32(0); i < p.Vertices[to].Parallelism; i++ {
			all = append(all, Channel{int32(e), s, id.Subtask{Vertex: to, Index: i}})
		}
	}
	return all
}

// Assign deals the splits of a source out over parallelism subtasks, round robin in the order given: part i is for
// subtask i.
func Assign(splits []operator.Split, parallelism int32) [][]operator.Split {
	parts := make([][]operator.Split, parallelism)
	for i, s := range splits {
		at := i % int(parallelism)
		parts[at] = append(parts[at], s)
	}
	return parts
}
