package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/keygroup"
)

// Parallelism says how many subtasks operators have: Default for those that do not say themselves, and overrides by uid.
type Parallelism struct {
	Default int32
	Of      []OperatorParallelism
}

// OperatorParallelism overrides the parallelism of one operator.
type OperatorParallelism struct {
	Operator    id.Operator
	Parallelism int32
}

// Vertex is a chain of operators that run in one subtask. Operators are indexes into the job, the head first, each after
// those that feed it.
type Vertex struct {
	ID          id.Vertex
	Operators   []int
	Parallelism int32
}

// Channel is one FIFO edge between two subtasks. Edge is an index into Job.Edges.
type Channel struct {
	Edge     int32
	From, To id.Subtask
}

func (c Channel) String() string { return fmt.Sprintf("e%d %v>%v", c.Edge, c.From, c.To) }

// Plan lays a job out over subtasks. It is a function of the job and the parallelism alone, so every process makes the
// same one.
type Plan struct {
	Job      *Job
	Vertices []Vertex
	Chained  []bool // by edge of the job: inside one vertex
	vertexOf []int  // by operator
}

// Plan validates the job, decides the parallelism of each operator and chains them.
func (j *Job) Plan(par Parallelism) (*Plan, error) {
	if err := j.Validate(); err != nil {
		return nil, err
	}
	width := make([]int32, len(j.Operators))
	for i, o := range j.Operators {
		width[i] = par.of(o)
		if width[i] < 1 {
			return nil, fmt.Errorf("job %s: operator %s has parallelism %d", j.Name, o.UID, width[i])
		}
		if width[i] > j.KeyGroups {
			return nil, fmt.Errorf("job %s: operator %s has parallelism %d, more than the %d key groups", j.Name, o.UID, width[i], j.KeyGroups)
		}
	}
	for _, o := range par.Of {
		if j.Find(o.Operator) < 0 {
			return nil, fmt.Errorf("job %s: parallelism is given for operator %s, which is not in the job", j.Name, o.Operator)
		}
	}
	p := &Plan{Job: j, Chained: make([]bool, len(j.Edges)), vertexOf: make([]int, len(j.Operators))}
	p.chain(width)
	for e, edge := range j.Edges {
		if p.Chained[e] {
			continue
		}
		from, to := j.Operators[edge.From], j.Operators[edge.To]
		if edge.Encode == nil {
			return nil, fmt.Errorf("job %s: records from %s to %s leave their subtask, but their type has no codec: name one with flow.Via", j.Name, from.UID, to.UID)
		}
		if edge.Shipping == Forward && width[edge.From] != width[edge.To] {
			return nil, fmt.Errorf("job %s: %s (parallelism %d) forwards to %s (parallelism %d): rebalance between them", j.Name, from.UID, width[edge.From], to.UID, width[edge.To])
		}
	}
	return p, nil
}

func (par Parallelism) of(o Operator) int32 {
	for _, x := range par.Of {
		if x.Operator == o.UID {
			return x.Parallelism
		}
	}
	if o.Parallelism != 0 {
		return o.Parallelism
	}
	return par.Default
}

// chain puts an operator into the vertex of what feeds it when that is its only input and feeds it forward.
func (p *Plan) chain(width []int32) {
	j := p.Job
	for op := range j.Operators {
		into := -1
		var only, inputs int
		for e := range j.Edges {
			if j.Edges[e].To == op {
				only, inputs = e, inputs+1
			}
		}
		if inputs == 1 {
			edge := &j.Edges[only]
			if edge.Shipping == Forward && width[edge.From] == width[op] {
				into = p.vertexOf[edge.From]
				p.Chained[only] = true
			}
		}
		if into < 0 {
			into = len(p.Vertices)
			p.Vertices = append(p.Vertices, Vertex{ID: id.Vertex(into), Parallelism: width[op]})
		}
		p.Vertices[into].Operators = append(p.Vertices[into].Operators, op)
		p.vertexOf[op] = into
	}
}

// Validate says in words what is wrong with the job.
func (j *Job) Validate() error {
	if j.Err != nil {
		return fmt.Errorf("job %s: %w", j.Name, j.Err)
	}
	if len(j.Sources()) == 0 {
		return fmt.Errorf("job %s: it has no source", j.Name)
	}
	if len(j.Sinks()) == 0 {
		return fmt.Errorf("job %s: it has no sink", j.Name)
	}
	if j.KeyGroups < 1 || j.KeyGroups > keygroup.Max {
		return fmt.Errorf("job %s: %d key groups, allowed are 1 to %d", j.Name, j.KeyGroups, keygroup.Max)
	}
	for i, o := range j.Operators {
		if !id.ValidUID(string(o.UID)) {
			return fmt.Errorf("job %s: %q cannot be the uid of an operator: only a-z, 0-9 and - can be in it", j.Name, o.UID)
		}
		if first := j.Find(o.UID); first != i {
			return fmt.Errorf("job %s: two operators have the uid %s", j.Name, o.UID)
		}
	}
	return j.validateEdges()
}

func (j *Job) validateEdges() error {
	in := make([]int, len(j.Operators))
	out := make([]int, len(j.Operators))
	for _, e := range j.Edges {
		if e.From < 0 || e.From >= len(j.Operators) || e.To < 0 || e.To >= len(j.Operators) {
			return fmt.Errorf("job %s: an edge leads from operator %d to %d, there are only %d", j.Name, e.From, e.To, len(j.Operators))
		}
		// Operators are added after their inputs, so an edge that leads back closes a cycle.
		if e.From >= e.To {
			return fmt.Errorf("job %s: there is a cycle through %s and %s", j.Name, j.Operators[e.From].UID, j.Operators[e.To].UID)
		}
		if e.Port < 0 || e.Port >= j.Operators[e.To].Ports {
			return fmt.Errorf("job %s: %s has no input %d", j.Name, j.Operators[e.To].UID, e.Port)
		}
		in[e.To]++
		out[e.From]++
	}
	for i, o := range j.Operators {
		switch {
		case o.Kind == Source && in[i] > 0:
			return fmt.Errorf("job %s: source %s has an input", j.Name, o.UID)
		case o.Kind != Source && in[i] == 0:
			return fmt.Errorf("job %s: %s has no input", j.Name, o.UID)
		case o.Kind == Sink && out[i] > 0:
			return fmt.Errorf("job %s: sink %s has an output", j.Name, o.UID)
		case o.Kind != Sink && out[i] == 0:
			return fmt.Errorf("job %s: nobody reads what %s emits", j.Name, o.UID)
		case o.Kind == Source && o.Source == nil, o.Kind == Sink && o.Sink == nil:
			return fmt.Errorf("job %s: %s %s has no factory", j.Name, o.Kind, o.UID)
		}
	}
	return nil
}

// Fingerprint identifies the shape of the job: uids, kinds, edges and the number of key groups, not the parallelism. State
// can be restored into a job with the same fingerprint.
func (j *Job) Fingerprint() string {
	h := sha256.New()
	fmt.Fprintf(h, "groups %d\n", j.KeyGroups)
	for _, o := range j.Operators {
		fmt.Fprintf(h, "operator %s %s\n", o.UID, o.Kind)
	}
	for _, e := range j.Edges {
		fmt.Fprintf(h, "edge %s %s %d %s\n", j.Operators[e.From].UID, j.Operators[e.To].UID, e.Port, e.Shipping)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
