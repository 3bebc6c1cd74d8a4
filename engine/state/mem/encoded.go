package mem

import (
	"fmt"
	"reflect"

	"github.com/onefold/onefold/engine/state"
)

// encoded keeps values of types with pointers as bytes: what Get returned may be changed without changing the state.
type encoded[V any] struct {
	inner state.Value[string]
	codec state.Codec[V]
	buf   []byte
}

// Get implements state.Value.
func (e *encoded[V]) Get() (V, bool) {
	s, ok := e.inner.Get()
	if !ok {
		var none V
		return none, false
	}
	v, err := e.codec.Decode([]byte(s))
	if err != nil {
		panic(fmt.Errorf("state does not decode as %T, although it was encoded by the same codec: %w", v, err))
	}
	return v, true
}

// Set implements state.Value.
func (e *encoded[V]) Set(v V) {
	e.buf = e.codec.Append(e.buf[:0], v)
	e.inner.Set(string(e.buf))
}

// Delete implements state.Value.
func (e *encoded[V]) Delete() { e.inner.Delete() }

// verbatim is the codec of what is encoded already.
type verbatim struct{}

func (verbatim) Append(dst []byte, v string) []byte { return append(dst, v...) }
func (verbatim) Decode(src []byte) (string, error)  { return string(src), nil }

// flat reports whether a copy of a V shares nothing that can be changed.
func flat[V any]() bool { return isFlat(reflect.TypeFor[V]()) }

func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	case reflect.Array:
		return isFlat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isFlat(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}
