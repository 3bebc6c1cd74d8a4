package stream

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/keygroup"
)

// If this failed, what is read from a batch would not be what was written, in a batch of its own or in one that came in a
// frame.
func TestBatchReadsAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Pool{Poison: true}
		p.Free(p.Get())
		b := p.Get()
		var want []string
		for range rapid.IntRange(0, 20).Draw(t, "elements") {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0, 1:
				h := Head{
					Timestamp: rapid.Int64().Draw(t, "timestamp"), Hash: keygroup.Hash(rapid.Uint32().Draw(t, "hash")),
					Origin: Origin{rapid.Int32().Draw(t, "source"), rapid.Int32().Draw(t, "partition"), rapid.Int64().Draw(t, "offset")},
				}
				v := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value")
				b.Begin(&h)
				b.Data = append(b.Data, v...)
				if rapid.Bool().Draw(t, "rollback") {
					b.Rollback()
					continue
				}
				if err := b.Commit(); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("record %+v %x", h, v))
			case 2:
				m := Mark{id.Checkpoint(rapid.Uint64().Draw(t, "checkpoint")), BarrierKind(rapid.IntRange(0, 2).Draw(t, "for"))}
				b.Barrier(m)
				want = append(want, fmt.Sprint("barrier ", m))
			case 3:
				w := rapid.Int64().Draw(t, "watermark")
				b.Watermark(w)
				want = append(want, fmt.Sprint("watermark ", w))
			case 4:
				b.End()
				want = append(want, "end")
			case 5:
				b.Idle()
				want = append(want, "idle")
			}
		}
		framed := (&Pool{}).Get()
		if err := framed.Load(b.Data); err != nil {
			t.Fatal(err)
		}
		for _, b := range []*Batch{b, framed} {
			if got := elements(b); strings.Join(got, "\n") != strings.Join(want, "\n") || b.Len() != len(want) {
				t.Fatalf("wrote\n%s\nand read\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
			}
		}
		if cut := rapid.IntRange(0, len(b.Data)).Draw(t, "cut"); cut < len(b.Data) {
			broken := (&Pool{}).Get()
			if err := broken.Load(b.Data[:cut]); err == nil && broken.Len() == len(want) {
				t.Fatalf("a batch cut to %d of %d bytes is whole", cut, len(b.Data))
			}
		}
	})
}

func elements(b *Batch) []string {
	var all []string
	for c := b.Cursor(); c.More(); {
		switch c.Next() {
		case Record:
			var h Head
			c.Head(&h)
			all = append(all, fmt.Sprintf("record %+v %x", h, c.Payload()))
		case Barrier:
			all = append(all, fmt.Sprint("barrier ", c.Mark()))
		case Watermark:
			all = append(all, fmt.Sprint("watermark ", c.Time()))
		case End:
			all = append(all, "end")
		case Idle:
			all = append(all, "idle")
		}
	}
	return all
}

// If this failed, a stage that keeps a batch after giving it back would go unnoticed.
func TestFreedBatchIsPoisonedAndNotFreedTwice(t *testing.T) {
	p := &Pool{Poison: true}
	b := p.Get()
	b.Begin(&Head{})
	b.Data = append(b.Data, "value"...)
	b.Commit()
	c := b.Cursor()
	c.Next()
	kept := c.Payload()
	p.Free(b)
	if !bytes.Equal(kept, bytes.Repeat([]byte{0xDB}, 5)) {
		t.Errorf("kept bytes read %x after the batch was freed", kept)
	}
	mustViolate(t, func() { p.Free(b) })
	mustViolate(t, func() { (&Pool{}).Free(p.Get()) })
}

func mustViolate(t *testing.T, fn func()) {
	t.Helper()
	defer func() {
		if _, ok := recover().(invariant.Violation); !ok {
			t.Error("no invariant was violated")
		}
	}()
	fn()
}

// If this failed, a record would cost an allocation.
func TestFillingAndReadingAllocatesNothing(t *testing.T) {
	p := &Pool{}
	var h Head
	value := make([]byte, 100)
	sum := 0
	round := func() {
		b := p.Get()
		for range 100 {
			b.Begin(&h)
			b.Data = append(b.Data, value...)
			b.Commit()
		}
		for c := b.Cursor(); c.More(); {
			c.Next()
			c.Head(&h)
			sum += len(c.Payload())
		}
		p.Free(b)
	}
	round()
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("%v allocations for 100 records", n)
	}
}

// FuzzLoad looks for bytes that make a batch panic.
func FuzzLoad(f *testing.F) {
	b := (&Pool{}).Get()
	b.Barrier(Mark{7, Final})
	f.Add(b.Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		b := (&Pool{}).Get()
		if b.Load(data) == nil && len(elements(b)) != b.Len() {
			t.Fatalf("%d elements, counted %d", len(elements(b)), b.Len())
		}
	})
}
