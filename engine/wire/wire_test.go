package wire

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"reflect"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// A message that came out otherwise than it went in would let JobManager and TaskManager believe different things.
func TestRoundTrip(t *testing.T) {
	for i, make := range empty {
		if number(make()) != uint8(i) {
			t.Errorf("%T has number %d at place %d", make(), number(make()), i)
		}
		rapid.Check(t, func(t *rapid.T) {
			m := make()
			fill(t, reflect.ValueOf(m).Elem())
			prefix := []byte("before")
			frame := Append(prefix, m)[len(prefix):]
			got, err := Decode(frame)
			if err != nil {
				t.Fatalf("%+v: %v", m, err)
			}
			if d := cmp.Diff(m, got); d != "" {
				t.Fatalf("it came out otherwise:\n%s", d)
			}
			if again := Encode(got); !bytes.Equal(again, frame) {
				t.Fatalf("encoded again it has other bytes")
			}
		})
	}
}

// Several loops may hold what a message shares with them, such as the ranges of a token: to encode it is to read it. The race
// detector tells.
func TestEncodingOnlyReads(t *testing.T) {
	for _, make := range empty {
		rapid.Check(t, func(t *rapid.T) {
			m := make()
			fill(t, reflect.ValueOf(m).Elem())
			other := beside(func() []byte { return Encode(m) })
			if mine := Encode(m); !bytes.Equal(mine, <-other) {
				t.Fatalf("%+v: two encodings", m)
			}
		})
	}
}

// beside runs work beside the test and hands over what comes of it.
func beside(work func() []byte) <-chan []byte {
	done := make(chan []byte, 1)
	go func() { done <- work() }()
	return done
}

// fill draws every field, so that one that a message forgets to code is noticed. Those tagged wire:"-" are not sent.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("wire") != "-" {
				fill(t, v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if rapid.Bool().Draw(t, "present") {
				v.SetBytes(append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")...))
			}
			return
		}
		n := rapid.IntRange(0, 3).Draw(t, "length")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.String:
		v.SetString(rapid.StringN(0, 6, 12).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int16, reflect.Int32, reflect.Int64:
		bits := uint(v.Type().Bits())
		v.SetInt(rapid.Int64Range(-1<<(bits-1), 1<<(bits-1)-1).Draw(t, "int"))
	case reflect.Uint8:
		v.SetUint(rapid.Uint64Range(0, 3).Draw(t, "small")) // kinds and states
	case reflect.Uint32:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "uint32")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint64"))
	default:
		t.Fatalf("no way to fill a %v", v.Type())
	}
}

// Any single damage is noticed: nothing half understood is acted on.
func TestDamageIsNoticed(t *testing.T) {
	frame := Encode(sample())
	for i := range frame {
		for _, flip := range []byte{1, 0x80} {
			bad := bytes.Clone(frame)
			bad[i] ^= flip
			if m, err := Decode(bad); err == nil {
				t.Errorf("byte %d flipped gives %+v", i, m)
			}
		}
		if m, err := Decode(frame[:i]); err == nil {
			t.Errorf("%d bytes of %d give %+v", i, len(frame), m)
		}
	}
	if m, err := Decode(append(bytes.Clone(frame), 0)); err == nil {
		t.Errorf("a byte more gives %+v", m)
	}
}

// A count that promises more than there is must not be believed before it is read.
func TestFalseCountAllocatesNothing(t *testing.T) {
	body := []byte{Version, 13, 1, 1} // a notice
	body = binary.AppendUvarint(body, 1<<40)
	body = append(body, make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if m, err := Decode(seal(body)); err == nil {
		t.Errorf("decoded %+v", m)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100_000 {
		t.Errorf("%d bytes were allocated for a message of %d", n, len(body))
	}
}

func seal(body []byte) []byte {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	frame = binary.BigEndian.AppendUint32(frame, crc32.Checksum(body, castagnoli))
	return append(frame, body...)
}

// FuzzDecode: whatever the bytes are, with a valid frame around them, decoding does not panic, and what it accepts it can
// encode again to something equal.
func FuzzDecode(f *testing.F) {
	for _, make := range empty {
		f.Add(Encode(make())[header:])
	}
	f.Add(Encode(sample())[header:])
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := Decode(seal(body))
		if err != nil {
			return
		}
		again, err := Decode(Encode(m))
		if err != nil || !reflect.DeepEqual(m, again) {
			t.Fatalf("%+v, then %+v, %v", m, again, err)
		}
	})
}

func sample() Message {
	w := int64(-5)
	return &Ack{Generation: 7, Subtask: id.Subtask{Vertex: 1, Index: 2}, Checkpoint: 42, State: checkpoint.SubtaskState{
		Vertex: 1, Index: 2,
		Operators: []checkpoint.OperatorState{{
			Operator: "enrich", Positions: []checkpoint.Position{{Topic: "in", Partition: 3, Position: 1_000_517, Stop: -1}},
			Keyed: []checkpoint.Handle{{Key: "checkpoints/g7/42/v1-2-enrich", Bytes: 9, CRC: 1}}, Plain: []byte{}, Watermark: &w,
		}},
		Tokens: []token.Token{{
			Sink: "out", Checkpoint: 42, TransactionalID: "onefold.j.out.g7.2.0", ProducerID: 9, ProducerEpoch: 1,
			Lane: token.Lane{Partition: 32, Value: 41, Metadata: "m"}, Ranges: []token.Range{{Topic: "t", First: 1, Last: 2, Count: 2}},
		}},
	}}
}

// The bytes of a message are a format: two versions of the engine may meet.
func TestBytesStay(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want string
	}{
		{&Register{TaskManager: env.Addr("tm1"), Nonce: 5, Slots: 2, Followed: 3}, "\x00\x00\x00\t\xa3\xf3#\x83\x02\x00\x03tm1\x05\x04\x03"},
		{&Beat{Generation: 300, Active: true}, "\x00\x00\x00\x05e\xb1Lo\x02\n\xac\x02\x01"},
		{
			&Committed{Generation: 1, Checkpoint: 2, Results: []operator.CommitResult{{State: operator.Refused}}},
			"\x00\x00\x00\x18\xfb\xc8ҵ\x02\x06\x01\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00",
		},
	} {
		if got := string(Encode(c.m)); got != c.want {
			t.Errorf("%T: %q", c.m, got)
		}
	}
}
