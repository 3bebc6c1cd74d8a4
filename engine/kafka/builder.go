package kafka

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// builder collects records in a flat buffer whose first bytes are kept for the header.
type builder struct {
	buf            []byte
	count          int32
	first, largest int64 // timestamps
}

// reset starts a batch in buf, whose bytes are lost.
func (b *builder) reset(buf []byte) {
	if cap(buf) < batchHeader {
		buf = make([]byte, batchHeader, 1024)
	}
	b.buf, b.count = buf[:batchHeader], 0
}

// append copies one record and returns its body.
func (b *builder) append(key, value, headers []byte, timestamp int64) []byte {
	if b.count == 0 {
		b.first, b.largest = timestamp, timestamp
	}
	b.largest = max(b.largest, timestamp)
	delta := timestamp - b.first
	size := 1 + varintLen(delta) + varintLen(int64(b.count)) + bytesLen(key) + bytesLen(value) + max(1, len(headers))
	buf := b.buf
	if cap(buf)-len(buf) < size+5 {
		buf = slices.Grow(buf, size+5)
	}
	buf = appendVarint(buf, int64(size))
	buf = append(buf, 0)
	buf = appendVarint(buf, delta)
	buf = appendVarint(buf, int64(b.count))
	body := len(buf)
	buf = appendBytes(buf, key)
	buf = appendBytes(buf, value)
	if len(headers) == 0 {
		buf = append(buf, 0)
	} else {
		buf = append(buf, headers...)
	}
	b.buf = buf
	b.count++
	return buf[body:]
}

func bytesLen(b []byte) int {
	if b == nil {
		return 1
	}
	return varintLen(int64(len(b))) + len(b)
}

// sealBatch fills in the header of a batch whose records, compressed or not, are in place.
func sealBatch(buf []byte, b *builder, who Identity, sequence int32, c Compression) {
	attr := uint16(c)
	if who.TransactionalID != "" {
		attr |= attrTransactional
	}
	be := binary.BigEndian
	be.PutUint64(buf, 0)
	be.PutUint32(buf[lengthAt:], uint32(len(buf)-lengthBase))
	be.PutUint32(buf[12:], ^uint32(0))
	buf[versionAt] = 2
	be.PutUint16(buf[attributesAt:], attr)
	be.PutUint32(buf[23:], uint32(b.count-1))
	be.PutUint64(buf[27:], uint64(b.first))
	be.PutUint64(buf[35:], uint64(b.largest))
	be.PutUint64(buf[43:], uint64(who.ProducerID))
	be.PutUint16(buf[51:], uint16(who.ProducerEpoch))
	be.PutUint32(buf[53:], uint32(sequence))
	be.PutUint32(buf[57:], uint32(b.count))
	be.PutUint32(buf[crcAt:], crc32.Checksum(buf[attributesAt:], castagnoli))
}
