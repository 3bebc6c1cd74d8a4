package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A record batch of version 2 is a header of 61 bytes and then its records, each behind its own length:
//
//	 0 base offset (8)      8 length behind byte 12 (4)   12 leader epoch (4)   16 version (1)
//	17 crc32c from 21 (4)  21 attributes (2)              23 last offset delta (4)
//	27 first timestamp (8) 35 largest timestamp (8)       43 producer id (8)    51 producer epoch (2)
//	53 base sequence (4)   57 record count (4)            61 records
const (
	batchHeader  = 61
	lengthAt     = 8
	lengthBase   = 12
	versionAt    = 16
	crcAt        = 17
	attributesAt = 21
	minRecord    = 7 // length, attributes, two deltas, two lengths, header count

	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorrupt is wrapped by every error about bytes that are not what they say.
var ErrCorrupt = errors.New("corrupt record batch")

// Batch is the header of one record batch.
type Batch struct {
	BaseOffset, LastOffset int64
	FirstTimestamp         int64
	MaxTimestamp           int64
	ProducerID             int64 // -1: none
	ProducerEpoch          int16
	BaseSequence           int32
	Count                  int32 // records; compaction may leave none
	Transactional, Control bool
	LogAppendTime          bool // all records have MaxTimestamp
	Compression            Compression
}

// cutBatch splits the first whole batch off src. A broker may end a fetch within a batch; ok is false there.
func cutBatch(src []byte) (batch, rest []byte, ok bool) {
	if len(src) < batchHeader {
		return nil, src, false
	}
	n := int64(lengthBase) + int64(int32(binary.BigEndian.Uint32(src[lengthAt:])))
	if n < batchHeader || n > int64(len(src)) {
		return nil, src, false
	}
	return src[:n], src[n:], true
}

// batchLast is the last offset of a whole batch.
func batchLast(batch []byte) int64 {
	return int64(binary.BigEndian.Uint64(batch)) + int64(int32(binary.BigEndian.Uint32(batch[23:])))
}

// parseBatch reads and checks the header of a whole batch.
func parseBatch(b []byte) (Batch, error) {
	be := binary.BigEndian
	h := Batch{BaseOffset: int64(be.Uint64(b))}
	if v := b[versionAt]; v != 2 {
		return h, fmt.Errorf("%w at offset %d: version %d, only 2 is read", ErrCorrupt, h.BaseOffset, v)
	}
	if got, want := crc32.Checksum(b[attributesAt:], castagnoli), be.Uint32(b[crcAt:]); got != want {
		return h, fmt.Errorf("%w at offset %d: checksum %08x, header says %08x", ErrCorrupt, h.BaseOffset, got, want)
	}
	attr := be.Uint16(b[attributesAt:])
	delta := int32(be.Uint32(b[23:]))
	h.LastOffset = h.BaseOffset + int64(delta)
	h.FirstTimestamp, h.MaxTimestamp = int64(be.Uint64(b[27:])), int64(be.Uint64(b[35:]))
	h.ProducerID, h.ProducerEpoch = int64(be.Uint64(b[43:])), int16(be.Uint16(b[51:]))
	h.BaseSequence, h.Count = int32(be.Uint32(b[53:])), int32(be.Uint32(b[57:]))
	h.Transactional, h.Control = attr&attrTransactional != 0, attr&attrControl != 0
	h.LogAppendTime = attr&attrLogAppendTime != 0
	h.Compression = Compression(attr & attrCodec)
	if h.BaseOffset < 0 || delta < 0 || h.LastOffset < h.BaseOffset || h.Count < 0 || h.Count-1 > delta {
		return h, fmt.Errorf("%w at offset %d: %d records in %d offsets", ErrCorrupt, h.BaseOffset, h.Count, int64(delta)+1)
	}
	return h, nil
}
