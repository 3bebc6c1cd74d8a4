package flow

import (
	"fmt"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/stream"
)

// reader is the start of a source's chain.
func reader[T any](c *graph.Chain, self int, decode func(*operator.Record) (T, error), next func(T)) func(*operator.Record) {
	return func(r *operator.Record) {
		c.Head = stream.Head{
			Timestamp: r.Timestamp,
			Origin:    stream.Origin{Source: int32(self), Partition: r.Partition, Offset: r.Offset},
		}
		c.At = self
		v, err := decode(r)
		c.At = graph.Engine
		if err != nil {
			c.Fail(self, fmt.Errorf("decode: %w", err))
			return
		}
		next(v)
	}
}

// writer is the end of a chain at a sink. The record and its buffers are used again for the next one.
func writer[T any](c *graph.Chain, self int, encode func(T, *operator.Record) error, write func(*operator.Record)) func(T) {
	r := &operator.Record{}
	key, value := []byte(nil), []byte{}
	return func(v T) {
		if c.Failed() {
			return
		}
		// Each field by itself: the whole record at once costs as much as encoding it.
		r.Key, r.Value, r.Headers = key[:0], value[:0], nil
		r.Timestamp, r.Topic, r.Partition, r.Offset = c.Head.Timestamp, "", -1, 0
		c.At = self
		err := encode(v, r)
		c.At = graph.Engine
		if err != nil {
			c.Fail(self, fmt.Errorf("encode: %w", err))
			return
		}
		key, value = keep(key, r.Key), keep(value, r.Value)
		if len(r.Key) == 0 {
			r.Key = nil
		}
		write(r)
	}
}

// keep is the buffer to use for the next record: a larger one when this record did not fit. What the author returned is
// never kept, since it may be memory of the author's own value.
func keep(ours, used []byte) []byte {
	if cap(ours) == 0 || len(used) > cap(ours) {
		return make([]byte, 0, max(64, 2*len(used)))
	}
	return ours
}

// emitter is what a function that emits in a loop is given: the operator is named again after what follows has run.
func emitter[R any](c *graph.Chain, self int, next func(R)) func(R) {
	return func(r R) {
		if c.Failed() {
			return
		}
		c.At = graph.Engine
		next(r)
		c.At = self
	}
}

// outlet is the end of a chain at an edge that leaves the subtask.
func outlet[T any](c *graph.Chain, self int, codec Codec[T], hash func(*graph.Chain) func(T) keygroup.Hash, w graph.Writer) func(T) {
	of := func(T) keygroup.Hash { return 0 }
	if hash != nil {
		of = hash(c)
	}
	var h stream.Head
	return func(v T) {
		if c.Failed() {
			return
		}
		h = c.Head
		c.At = self
		h.Hash = of(v)
		c.At = graph.Engine
		b := w.Batch(&h)
		b.Begin(&h)
		c.At = self
		b.Data = codec.Append(b.Data, v)
		c.At = graph.Engine
		if err := b.Commit(); err != nil {
			c.Fail(self, err)
			return
		}
		w.Wrote(b)
	}
}

// inlet is the start of a chain at an edge that enters the subtask. The head was set from the batch.
func inlet[T any](c *graph.Chain, self int, codec Codec[T], next func(T)) func([]byte) {
	return func(payload []byte) {
		c.At = self
		v, err := codec.Decode(payload)
		c.At = graph.Engine
		if err != nil {
			c.Fail(self, fmt.Errorf("decode %s: %w", typeName[T](), err))
			return
		}
		next(v)
	}
}
