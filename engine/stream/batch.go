package stream

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/keygroup"
)

// HeaderSize is the size of an element's header, in bytes:
//
//	0 kind (1) and payload length (3) | 4 hash | 8 timestamp | 16 source | 20 partition | 24 offset
//
// all little endian. A barrier has its checkpoint at 24 and its kind at 4; a watermark has its time at 8.
const HeaderSize = 32

// MaxPayload is the largest encoded record, in bytes.
const MaxPayload = 1<<24 - 1

// Batch is elements in one arena. Data is filled through Begin and Commit or the control methods only.
type Batch struct {
	Data  []byte // the arena; a codec appends to it between Begin and Commit
	count int    // elements
	start int    // of the record between Begin and Commit
	pool  *Pool
	freed bool
}

// Len is the number of elements.
func (b *Batch) Len() int { return b.count }

// Begin starts a record: the caller appends its encoded value to Data and calls Commit, which writes the first word of the
// header.
func (b *Batch) Begin(h *Head) {
	b.start = len(b.Data)
	end := b.start + HeaderSize
	if end > cap(b.Data) {
		b.Data = slices.Grow(b.Data, HeaderSize)
	}
	b.Data = b.Data[:end]
	p := b.Data[b.start:end:end]
	binary.LittleEndian.PutUint32(p[4:], uint32(h.Hash))
	binary.LittleEndian.PutUint64(p[8:], uint64(h.Timestamp))
	binary.LittleEndian.PutUint32(p[16:], uint32(h.Origin.Source))
	binary.LittleEndian.PutUint32(p[20:], uint32(h.Origin.Partition))
	binary.LittleEndian.PutUint64(p[24:], uint64(h.Origin.Offset))
}

// Commit ends the record. A record that is too large is taken out again and reported.
func (b *Batch) Commit() error {
	n := len(b.Data) - b.start - HeaderSize
	if n > MaxPayload {
		b.Rollback()
		return fmt.Errorf("encoded record of %d bytes is larger than %d", n, MaxPayload)
	}
	binary.LittleEndian.PutUint32(b.Data[b.start:], uint32(Record)|uint32(n)<<8)
	b.count++
	return nil
}

// Rollback takes out what was appended since Begin.
func (b *Batch) Rollback() { b.Data = b.Data[:b.start] }

// Barrier appends a barrier.
func (b *Batch) Barrier(m Mark) {
	p := b.control(Barrier)
	binary.LittleEndian.PutUint32(p[4:], uint32(m.Kind))
	binary.LittleEndian.PutUint64(p[24:], uint64(m.Checkpoint))
}

// Watermark appends a watermark.
func (b *Batch) Watermark(t int64) {
	binary.LittleEndian.PutUint64(b.control(Watermark)[8:], uint64(t))
}

// End appends the end of input.
func (b *Batch) End() { b.control(End) }

// Idle appends idleness.
func (b *Batch) Idle() { b.control(Idle) }

func (b *Batch) control(k Kind) []byte {
	at := len(b.Data)
	b.Data = append(b.Data, make([]byte, HeaderSize)...)
	b.Data[at] = byte(k)
	b.count++
	return b.Data[at:]
}

// Cursor reads a batch from front to back. The zero Cursor stands before the first element of no batch.
type Cursor struct {
	rest []byte
	head []byte
	body []byte
}

// Cursor reads b from its first element.
func (b *Batch) Cursor() Cursor { return Cursor{rest: b.Data} }

// More reports whether an element follows.
func (c *Cursor) More() bool { return len(c.rest) > 0 }

// Next moves to the next element and returns its kind; 0 at the end.
func (c *Cursor) Next() Kind {
	if len(c.rest) < HeaderSize {
		return 0
	}
	word := binary.LittleEndian.Uint32(c.rest)
	n := HeaderSize + int(word>>8)
	c.head, c.body, c.rest = c.rest[:HeaderSize:HeaderSize], c.rest[HeaderSize:n:n], c.rest[n:]
	return Kind(word)
}

// Head reads the header of a record.
func (c *Cursor) Head(h *Head) {
	p := c.head[:HeaderSize]
	h.Hash = keygroup.Hash(binary.LittleEndian.Uint32(p[4:]))
	h.Timestamp = int64(binary.LittleEndian.Uint64(p[8:]))
	h.Origin.Source = int32(binary.LittleEndian.Uint32(p[16:]))
	h.Origin.Partition = int32(binary.LittleEndian.Uint32(p[20:]))
	h.Origin.Offset = int64(binary.LittleEndian.Uint64(p[24:]))
}

// Hash is the key's hash in the header of a record.
func (c *Cursor) Hash() keygroup.Hash {
	return keygroup.Hash(binary.LittleEndian.Uint32(c.head[4:]))
}

// Payload is the encoded value of a record. It is valid while the batch is.
func (c *Cursor) Payload() []byte { return c.body }

// Mark is the barrier that the cursor stands on.
func (c *Cursor) Mark() Mark {
	return Mark{id.Checkpoint(binary.LittleEndian.Uint64(c.head[24:])), BarrierKind(binary.LittleEndian.Uint32(c.head[4:]))}
}

// Time is the watermark that the cursor stands on.
func (c *Cursor) Time() int64 { return int64(binary.LittleEndian.Uint64(c.head[8:])) }

// Load fills an empty batch with an arena that came in a frame and checks that it is made of whole elements.
func (b *Batch) Load(data []byte) error {
	invariant.Check(len(b.Data) == 0, "batch loaded twice")
	count := 0
	for rest := data; len(rest) > 0; count++ {
		if len(rest) < HeaderSize {
			return fmt.Errorf("batch ends within a header of element %d", count)
		}
		word := binary.LittleEndian.Uint32(rest)
		k := Kind(word)
		if k < Record || k > Idle {
			return fmt.Errorf("element %d has unknown kind %d", count, k)
		}
		n := HeaderSize + int(word>>8)
		if n > len(rest) || k != Record && n != HeaderSize {
			return fmt.Errorf("element %d (%v) has a wrong length %d", count, k, n)
		}
		rest = rest[n:]
	}
	b.Data, b.count = append(b.Data, data...), count
	return nil
}
