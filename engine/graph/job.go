// Package graph is a job as data: operators with their uids and factories, the edges between them, and the plan that lays
// them out over subtasks.
//
// Types of values are gone here: an operator composes its part of a chain from closures that the typed API of package flow
// made. A Job is immutable once built and may be planned and run any number of times, in any world: everything with state
// is made per subtask, by the factories.
package graph

import (
	"fmt"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/operator"
)

// Kind is what an operator does. It is part of the fingerprint.
type Kind string

// The kinds.
const (
	Source    Kind = "source"
	Transform Kind = "transform" // stateless: map, filter, flat map
	Union     Kind = "union"     // several inputs of one type become one
	Keyed     Kind = "keyed"     // one or two inputs by key, with state
	Sink      Kind = "sink"
)

// Shipping is how records cross an edge.
type Shipping string

// The ways to ship.
const (
	Forward   Shipping = "forward"   // subtask i to subtask i
	Hash      Shipping = "hash"      // by key group
	Rebalance Shipping = "rebalance" // round robin
)

// SourceFactory makes the two halves of a source.
type SourceFactory interface {
	New() operator.Source
	Enumerator() operator.Enumerator
}

// SinkFactory makes sinks, one per subtask.
type SinkFactory interface {
	New() operator.Sink
}

// Compose makes one operator's part of a chain in one subtask. out is what follows: a func(T), or for a sink a
// func(*operator.Record). The result has one input per port: a func(T), or for a source a func(*operator.Record).
type Compose func(c *Chain, self int, out any) ([]any, error)

// Operator is one node of the job graph.
type Operator struct {
	UID         id.Operator
	Kind        Kind
	Parallelism int32 // 0: whatever the plan says
	Ports       int   // inputs; 0 for a source
	Source      SourceFactory
	Sink        SinkFactory
	Compose     Compose
	// Fork makes one input of several: what follows an operator with more than one outgoing edge.
	Fork func(outs []any) any
}

// Edge leads from one operator to a port of another; both are indexes into Job.Operators.
type Edge struct {
	From, To int
	Port     int
	Shipping Shipping
	// Encode makes the end of the sending chain, a func(T), that writes to w. Nil: T has no codec, the edge can only be
	// chained.
	Encode func(c *Chain, w Writer) any
	// Decode makes the start of the receiving chain: a payload becomes a value for next, a func(T).
	Decode func(c *Chain, next any) func(payload []byte)
}

// Job is a job graph. It is built by package flow and not changed afterwards.
type Job struct {
	Name      string
	Guarantee operator.Guarantee
	KeyGroups int32
	Operators []Operator // in the order in which they were added: inputs first
	Edges     []Edge
	Err       error // the first mistake made while building
}

// NewJob makes an empty job.
func NewJob(name string) *Job {
	return &Job{Name: name, KeyGroups: keygroup.Default}
}

// Add appends an operator and returns its index. An empty uid is derived from kind and index.
func (j *Job) Add(o Operator) int {
	if o.UID == "" {
		o.UID = id.Operator(fmt.Sprintf("%s-%d", o.Kind, len(j.Operators)))
	}
	j.Operators = append(j.Operators, o)
	return len(j.Operators) - 1
}

// Connect appends an edge.
func (j *Job) Connect(e Edge) { j.Edges = append(j.Edges, e) }

// Fault notes a mistake; the first one is what Validate reports.
func (j *Job) Fault(format string, args ...any) {
	if j.Err == nil {
		j.Err = fmt.Errorf(format, args...)
	}
}

// Find is the index of the operator with this uid, or -1.
func (j *Job) Find(uid id.Operator) int {
	for i := range j.Operators {
		if j.Operators[i].UID == uid {
			return i
		}
	}
	return -1
}

// Sources are the uids of all sources, in the job's order.
func (j *Job) Sources() []id.Operator { return j.of(Source) }

// Sinks are the uids of all sinks, in the job's order.
func (j *Job) Sinks() []id.Operator { return j.of(Sink) }

func (j *Job) of(k Kind) []id.Operator {
	var uids []id.Operator
	for i := range j.Operators {
		if j.Operators[i].Kind == k {
			uids = append(uids, j.Operators[i].UID)
		}
	}
	return uids
}
