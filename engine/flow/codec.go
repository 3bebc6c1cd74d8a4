package flow

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/onefold/onefold/engine/state"
)

// Codec turns a value into bytes and back. Append appends to dst and returns it; Decode must not keep src, which is used
// again after the call.
type Codec[T any] = state.Codec[T]

// Ready codecs.
var (
	Int64  Codec[int64]  = integer[int64]{}
	Uint64 Codec[uint64] = integer[uint64]{}
	Int32  Codec[int32]  = integer[int32]{}
	Uint32 Codec[uint32] = integer[uint32]{}
	String Codec[string] = text{}
	Bytes  Codec[[]byte] = raw{}
)

// JSON is a codec for any type that encoding/json can do. It is slow and allocates; hand-written codecs do not.
func JSON[T any]() Codec[T] { return document[T]{} }

// numbered is a codec of keys that are integers: they need no bytes to be hashed and found.
type numbered[K any] interface{ Number(K) uint64 }

type integer[T ~int64 | ~uint64 | ~int32 | ~uint32] struct{}

// Integer is the codec of any type of integer, as eight bytes.
func Integer[T ~int64 | ~uint64 | ~int32 | ~uint32]() Codec[T] { return integer[T]{} }

func (integer[T]) Number(v T) uint64 { return uint64(v) }

func (integer[T]) Append(dst []byte, v T) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v))
}

func (integer[T]) Decode(src []byte) (T, error) {
	if len(src) != 8 {
		return 0, fmt.Errorf("an integer has 8 bytes, not %d", len(src))
	}
	return T(binary.BigEndian.Uint64(src)), nil
}

type text struct{}

func (text) Append(dst []byte, v string) []byte { return append(dst, v...) }

func (text) Decode(src []byte) (string, error) { return string(src), nil }

type raw struct{}

func (raw) Append(dst []byte, v []byte) []byte { return append(dst, v...) }

func (raw) Decode(src []byte) ([]byte, error) { return append([]byte(nil), src...), nil }

type document[T any] struct{}

func (document[T]) Append(dst []byte, v T) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode %T as JSON: %w", v, err))
	}
	return append(dst, b...)
}

func (document[T]) Decode(src []byte) (T, error) {
	var v T
	err := json.Unmarshal(src, &v)
	return v, err
}

// plain is the ready codec of T, or nil.
func plain[T any]() Codec[T] {
	for _, c := range []any{Int64, Uint64, Int32, Uint32, String, Bytes} {
		if c, ok := c.(Codec[T]); ok {
			return c
		}
	}
	return nil
}
