package exchange

import (
	"bytes"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/id"
)

// If this failed, a frame would be read as another than was written, or a damaged one would be read at all.
func TestFramesSurviveAndDamageIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frame{
			kind:       frameKind(rapid.IntRange(int(hello), int(bye)).Draw(t, "kind")),
			generation: id.Generation(rapid.Uint64().Draw(t, "generation")),
			channel:    wireChannel{rapid.Int32().Draw(t, "edge"), rapid.Int32().Draw(t, "from"), rapid.Int32().Draw(t, "to")},
			sequence:   rapid.Uint64().Draw(t, "sequence"),
			payload:    rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "payload"),
		}
		b := f.append(nil)
		got, err := parse(b)
		if err != nil || !bytes.Equal(got.payload, f.payload) {
			t.Fatalf("%v %v", got, err)
		}
		got.payload, f.payload = nil, nil
		if !reflect.DeepEqual(got, f) {
			t.Fatalf("%+v became %+v", f, got)
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		bad := bytes.Clone(b)
		bad[at] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))
		if f, err := parse(bad); err == nil {
			t.Fatalf("byte %d was changed and the frame reads as %+v", at, f)
		}
		if _, err := parse(b[:at]); err == nil {
			t.Fatalf("a frame cut to %d bytes is read", at)
		}
	})
}

// FuzzParse looks for bytes that make the reader panic.
func FuzzParse(f *testing.F) {
	f.Add((&frame{kind: data, payload: []byte("x")}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if f, err := parse(b); err == nil && !bytes.Equal(f.append(nil), b) && b[2] == 0 && b[3] == 0 {
			t.Fatalf("%+v does not print as it was read", f)
		}
	})
}
