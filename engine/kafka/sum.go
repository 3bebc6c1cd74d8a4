package kafka

import (
	"hash/crc32"
	"math/bits"

	"github.com/onefold/onefold/engine/token"
)

// RangeSum folds records into the count and the checksums of a token.Range. They depend neither on offsets nor on where
// batches end, so a reader that keeps the records of one (producer id, epoch) folds the same values as the writer.
//
// Timestamps have a checksum of their own, since a writer cannot know whether the broker keeps them: what an acknowledgement
// says of it is ambiguous (P10), and message.timestamp.type may change under a transaction. Each batch of the log says it.
type RangeSum struct {
	Bodies    uint32 // crc32c over each record's Body, in order
	Times     uint32 // crc32c over each record's timestamp as 8 bytes big endian
	Count     int64
	Restamped bool // the broker replaced timestamps, of a part of them at least: Times says nothing

	mixed uint32 // crc32c over each record's timestamp and Body: what a token of wire version 1 has; readers only
}

// Add folds one record of a batch.
func (s *RangeSum) Add(b *Batch, r *Record) {
	s.Restamped = s.Restamped || b.LogAppendTime
	s.mixed = crc32.Update(sumTimestamp(s.mixed, r.Timestamp), castagnoli, r.Body)
	s.add(r.Timestamp, r.Body)
}

func (s *RangeSum) add(timestamp int64, body []byte) {
	s.Times = sumTimestamp(s.Times, timestamp)
	s.Bodies = crc32.Update(s.Bodies, castagnoli, body)
	s.Count++
}

// Matches reports whether the records folded are those that a range names.
func (s RangeSum) Matches(r token.Range) bool {
	switch {
	case s.Count != r.Count:
		return false
	case r.CRC != 0 && r.LogAppendTime:
		return s.Bodies == r.CRC
	case r.CRC != 0:
		return s.mixed == r.CRC
	}
	return s.Bodies == r.Bodies && (s.Restamped || s.Times == r.Times)
}

// slicing has the eight tables by which eight bytes are folded at once; handing them to crc32.Update would put them on the
// heap for each record.
var slicing = func() (t [8]crc32.Table) {
	t[0] = *castagnoli
	for i := range 256 {
		for j := 1; j < 8; j++ {
			t[j][i] = t[0][byte(t[j-1][i])] ^ t[j-1][i]>>8
		}
	}
	return t
}()

func sumTimestamp(crc uint32, timestamp int64) uint32 {
	u := bits.ReverseBytes64(uint64(timestamp)) // first byte lowest
	lo, hi := ^crc^uint32(u), uint32(u>>32)
	t := &slicing
	return ^(t[7][byte(lo)] ^ t[6][byte(lo>>8)] ^ t[5][byte(lo>>16)] ^ t[4][lo>>24] ^
		t[3][byte(hi)] ^ t[2][byte(hi>>8)] ^ t[1][byte(hi>>16)] ^ t[0][hi>>24])
}
