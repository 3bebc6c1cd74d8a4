package kafka

import (
	"hash/crc32"
	"math/bits"
)

// RangeSum folds records into the count and checksum of a token.Range. The checksum is crc32c over, for each record in
// order, its timestamp as 8 bytes big endian (left out where the topic has LogAppendTime) and its Body. So it depends
// neither on offsets nor on where batches end, and a reader that keeps the records of one (producer id, epoch) folds the
// same value as the writer.
type RangeSum struct {
	CRC           uint32
	Count         int64
	LogAppendTime bool
}

// Add folds one record.
func (s *RangeSum) Add(r *Record) {
	if !s.LogAppendTime {
		s.CRC = sumTimestamp(s.CRC, r.Timestamp)
	}
	s.CRC = crc32.Update(s.CRC, castagnoli, r.Body)
	s.Count++
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
