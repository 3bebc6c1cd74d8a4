package flow

import (
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/state/mem"
	"github.com/onefold/onefold/engine/stream"
)

// Setup is handed to the setup of a keyed operator, to make its state. It is used up when setup returns.
type Setup struct {
	backend *mem.Backend
	err     error
}

// Value is one value per key. Get reports whether the key has one. What a value points to must not be changed after Set.
type Value[V any] = state.Value[V]

// NewValue makes a table of values. The name is unique within the operator and ties what is stored to the table.
func NewValue[V any](s *Setup, name string, codec Codec[V]) Value[V] {
	v, err := mem.NewValue(s.backend, name, codec)
	if err != nil && s.err == nil {
		s.err = err
	}
	return v
}

// Context is what a keyed function sees besides its record: key, time and where to emit. It is valid during the call.
type Context[K, R any] struct {
	chain *graph.Chain
	self  int
	key   K
	next  func(R)
}

// Key is the key of the record at hand; state is read and written at it.
func (x *Context[K, R]) Key() K { return x.key }

// Timestamp is the event time of the record at hand, in Unix milliseconds.
func (x *Context[K, R]) Timestamp() int64 { return x.chain.Head.Timestamp }

// Origin is the input record that the record at hand comes from.
func (x *Context[K, R]) Origin() stream.Origin { return x.chain.Head.Origin }

// Emit passes a record on, with the event time of the record at hand.
func (x *Context[K, R]) Emit(r R) {
	c := x.chain
	if c.Failed() {
		return
	}
	c.At = graph.Engine
	x.next(r)
	c.At = x.self
}

// EmitAt passes a record on with an event time of its own.
func (x *Context[K, R]) EmitAt(timestamp int64, r R) {
	before := x.chain.Head.Timestamp
	x.chain.Head.Timestamp = timestamp
	x.Emit(r)
	x.chain.Head.Timestamp = before
}

// begin makes the state and the context of a keyed operator. The user's setup runs next, so the operator is named.
func begin[K, R any](c *graph.Chain, self int, codec Codec[K], next func(R)) (*Setup, *Context[K, R]) {
	_, numeric := codec.(numbered[K])
	b := mem.New(c.KeyGroups, numeric)
	c.State[self] = b
	c.At = self
	return &Setup{backend: b}, &Context[K, R]{chain: c, self: self, next: next}
}

// keyed is one input of a keyed operator: it selects the key and calls the user.
func keyed[K, T, R any](x *Context[K, R], k Keyed[K, T], fn func(*Context[K, R], T) error) func(T) {
	c, self, backend := x.chain, x.self, x.chain.State[x.self].(*mem.Backend)
	number, isNumber := k.codec.(numbered[K])
	var buf []byte
	return func(v T) {
		c.At = self
		x.key = k.key(v)
		if isNumber {
			backend.SelectUint64(c.Head.Hash, number.Number(x.key))
		} else {
			buf = k.codec.Append(buf[:0], x.key)
			backend.SelectBytes(c.Head.Hash, buf)
		}
		err := fn(x, v)
		c.At = graph.Engine
		if err != nil {
			c.Fail(self, err)
		}
	}
}

// hasher hashes keys on the sending side.
func hasher[K, T any](k Keyed[K, T]) func(*graph.Chain) func(T) keygroup.Hash {
	return func(*graph.Chain) func(T) keygroup.Hash {
		if number, ok := k.codec.(numbered[K]); ok {
			return func(v T) keygroup.Hash { return keygroup.OfUint64(number.Number(k.key(v))) }
		}
		var buf []byte
		return func(v T) keygroup.Hash {
			buf = k.codec.Append(buf[:0], k.key(v))
			return keygroup.OfBytes(buf)
		}
	}
}
