// Package flow is what the author of a job imports: typed streams, keyed state, sources and sinks.
//
//	job := flow.New("totals")
//	payments := flow.From(job, "payments", in, decodePayment).Via(paymentCodec)
//	byAccount := flow.KeyBy(payments, func(p Payment) uint64 { return p.Account }, flow.Uint64)
//	totals := flow.Process(byAccount, "totals", func(op *flow.Setup) func(*flow.Context[uint64, Total], Payment) error {
//		sum := flow.NewValue(op, "sum", flow.Int64)
//		return func(ctx *flow.Context[uint64, Total], p Payment) error {
//			s, _ := sum.Get()
//			s += p.Amount
//			sum.Set(s)
//			ctx.Emit(Total{ctx.Key(), s})
//			return nil
//		}
//	})
//	flow.To(totals, "out", out, encodeTotal)
//
// What New returns is a value: nothing runs before a JobManager plans it, and the same value runs in the simulator and in
// production. User functions are plain and synchronous. They use no clock, no goroutine, no randomness and no variable
// shared with another operator; what they need to remember is keyed state. An error or a panic fails the task with the
// operator's uid and the input record that led to it; the job restarts from the newest checkpoint.
package flow

import (
	"fmt"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/operator"
)

// New begins a job. Guarantee and KeyGroups of the result may be set before it runs; exactly-once and 128 are the
// defaults.
func New(name string) *graph.Job { return graph.NewJob(name) }

// Stream is the records that an operator emits.
type Stream[T any] struct {
	job   *graph.Job
	op    int
	codec Codec[T]
	ship  graph.Shipping
}

// Via names the codec by which records of this stream leave their subtask: over KeyBy, Rebalance, Union or a change of
// parallelism. Integers, strings and bytes need none.
func (s Stream[T]) Via(c Codec[T]) Stream[T] {
	s.codec = c
	return s
}

// Option configures an operator.
type Option func(*graph.Operator)

// UID names an operator, so that its failures and metrics can be told. By default it is made of its kind and place.
func UID(uid string) Option { return func(o *graph.Operator) { o.UID = id.Operator(uid) } }

// Parallelism fixes the number of subtasks of an operator.
func Parallelism(n int) Option { return func(o *graph.Operator) { o.Parallelism = int32(n) } }

// From reads a source. decode turns a record of it into a value; the record's bytes are valid during the call only, so a
// value must copy what it keeps.
func From[T any](job *graph.Job, uid string, source graph.SourceFactory, decode func(*operator.Record) (T, error), opts ...Option) Stream[T] {
	return add[T](job, opts, graph.Operator{
		UID: id.Operator(uid), Kind: graph.Source, Source: source,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			return []any{reader(c, self, decode, out.(func(T)))}, nil
		},
	})
}

// To writes a stream to a sink. encode fills r: it appends the key to r.Key and the value to r.Value, which come empty with
// room from the record before, and may set the rest. An empty key is null, a nil value is null (a tombstone). Timestamp
// comes set to the event time, Partition to -1: by hash of the key.
func To[T any](s Stream[T], uid string, sink graph.SinkFactory, encode func(v T, r *operator.Record) error, opts ...Option) {
	to := add[T](s.job, opts, graph.Operator{
		UID: id.Operator(uid), Kind: graph.Sink, Ports: 1, Sink: sink,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			return []any{writer(c, self, encode, out.(func(*operator.Record)))}, nil
		},
	})
	connect(to.job, s, to.op, 0, nil)
}

// Map turns each record into one of another type.
func Map[T, R any](s Stream[T], fn func(T) (R, error), opts ...Option) Stream[R] {
	to := add[R](s.job, opts, graph.Operator{
		Kind: graph.Transform, Ports: 1,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			next := out.(func(R))
			return []any{func(v T) {
				c.At = self
				r, err := fn(v)
				c.At = graph.Engine
				if err != nil {
					c.Fail(self, err)
					return
				}
				next(r)
			}}, nil
		},
	})
	connect(to.job, s, to.op, 0, nil)
	return to
}

// Filter keeps the records for which keep is true.
func Filter[T any](s Stream[T], keep func(T) bool, opts ...Option) Stream[T] {
	to := add[T](s.job, opts, graph.Operator{
		Kind: graph.Transform, Ports: 1,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			next := out.(func(T))
			return []any{func(v T) {
				c.At = self
				ok := keep(v)
				c.At = graph.Engine
				if ok {
					next(v)
				}
			}}, nil
		},
	})
	connect(to.job, s, to.op, 0, nil)
	to.codec = s.codec
	return to
}

// FlatMap turns each record into any number of others. emit is valid during the call only.
func FlatMap[T, R any](s Stream[T], fn func(v T, emit func(R)) error, opts ...Option) Stream[R] {
	to := add[R](s.job, opts, graph.Operator{
		Kind: graph.Transform, Ports: 1,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			emit := emitter(c, self, out.(func(R)))
			return []any{func(v T) {
				c.At = self
				err := fn(v, emit)
				c.At = graph.Engine
				if err != nil {
					c.Fail(self, err)
				}
			}}, nil
		},
	})
	connect(to.job, s, to.op, 0, nil)
	return to
}

// Union merges streams of one type. Order is kept within each input only.
func Union[T any](first Stream[T], more ...Stream[T]) Stream[T] {
	to := add[T](first.job, nil, graph.Operator{
		Kind: graph.Union, Ports: 1,
		Compose: func(_ *graph.Chain, _ int, out any) ([]any, error) { return []any{out}, nil },
	})
	connect(to.job, first, to.op, 0, nil)
	for _, s := range more {
		connect(to.job, s, to.op, 0, nil)
	}
	to.codec = first.codec
	return to
}

// Rebalance deals the records out over all subtasks of what follows, round robin. Order is given up.
func Rebalance[T any](s Stream[T]) Stream[T] {
	s.ship = graph.Rebalance
	return s
}

// Keyed is a stream partitioned by key: all records of one key meet in one subtask, in their order.
type Keyed[K, T any] struct {
	s     Stream[T]
	key   func(T) K
	codec Codec[K]
}

// KeyBy partitions a stream. key is a pure function: it is called on both sides of the edge. Integer keys are fastest.
func KeyBy[T, K any](s Stream[T], key func(T) K, codec Codec[K]) Keyed[K, T] {
	return Keyed[K, T]{s, key, codec}
}

// Connected is two keyed streams that share keys and state.
type Connected[K, A, B any] struct {
	a Keyed[K, A]
	b Keyed[K, B]
}

// Connect brings two keyed streams together.
func Connect[K, A, B any](a Keyed[K, A], b Keyed[K, B]) Connected[K, A, B] {
	return Connected[K, A, B]{a, b}
}

// Process runs a function with state on each record of a keyed stream. setup runs once per subtask: it makes the state
// that the function uses and returns the function. The uid ties the state to the operator over restarts.
func Process[K, T, R any](k Keyed[K, T], uid string, setup func(*Setup) func(*Context[K, R], T) error, opts ...Option) Stream[R] {
	to := add[R](k.s.job, opts, graph.Operator{
		UID: id.Operator(uid), Kind: graph.Keyed, Ports: 1,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			s, ctx := begin(c, self, k.codec, out.(func(R)))
			fn := setup(s)
			c.At = graph.Engine
			return []any{keyed(ctx, k, fn)}, s.err
		},
	})
	connect(to.job, k.s, to.op, 0, hasher(k))
	return to
}

// ProcessBoth runs a pair of functions on two keyed streams; they share the state that setup makes.
func ProcessBoth[K, A, B, R any](p Connected[K, A, B], uid string,
	setup func(*Setup) (func(*Context[K, R], A) error, func(*Context[K, R], B) error), opts ...Option,
) Stream[R] {
	p.b.codec = p.a.codec
	to := add[R](p.a.s.job, opts, graph.Operator{
		UID: id.Operator(uid), Kind: graph.Keyed, Ports: 2,
		Compose: func(c *graph.Chain, self int, out any) ([]any, error) {
			s, ctx := begin(c, self, p.a.codec, out.(func(R)))
			a, b := setup(s)
			c.At = graph.Engine
			return []any{keyed(ctx, p.a, a), keyed(ctx, p.b, b)}, s.err
		},
	})
	connect(to.job, p.a.s, to.op, 0, hasher(p.a))
	connect(to.job, p.b.s, to.op, 1, hasher(p.b))
	return to
}

// add puts an operator that emits T into the job.
func add[T any](job *graph.Job, opts []Option, o graph.Operator) Stream[T] {
	o.Fork = fork[T]
	for _, opt := range opts {
		opt(&o)
	}
	return Stream[T]{job: job, op: job.Add(o), codec: plain[T](), ship: graph.Forward}
}

// connect makes an edge. hash is nil except for keyed edges.
func connect[T any](job *graph.Job, s Stream[T], to, port int, hash func(c *graph.Chain) func(T) keygroup.Hash) {
	if s.job != job {
		job.Fault("%s reads streams of two jobs", job.Operators[to].UID)
		return
	}
	e := graph.Edge{From: s.op, To: to, Port: port, Shipping: s.ship}
	if hash != nil {
		e.Shipping = graph.Hash
	}
	if s.codec != nil {
		codec, from := s.codec, s.op
		e.Encode = func(c *graph.Chain, w graph.Writer) any { return outlet(c, from, codec, hash, w) }
		e.Decode = func(c *graph.Chain, next any) func([]byte) { return inlet(c, to, codec, next.(func(T))) }
	}
	job.Connect(e)
}

func fork[T any](outs []any) any {
	nexts := make([]func(T), len(outs))
	for i, o := range outs {
		nexts[i] = o.(func(T))
	}
	return func(v T) {
		for _, next := range nexts {
			next(v)
		}
	}
}

func typeName[T any]() string { return fmt.Sprintf("%T", *new(T)) }
