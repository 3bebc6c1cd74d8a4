package simbroker

import (
	"encoding/binary"
	"hash/crc32"
)

// The layout of a record batch of magic 2. Everything from attributes on is covered by the checksum.
const (
	atBaseOffset  = 0
	atLength      = 8
	atLeaderEpoch = 12
	atMagic       = 16
	atCRC         = 17
	atAttributes  = 21
	atLastDelta   = 23
	atFirstTime   = 27
	atMaxTime     = 35
	atProducerID  = 43
	atEpoch       = 51
	atSequence    = 53
	atCount       = 57
	batchHeader   = 61

	// markerCoordinator is where the coordinator epoch lies in the record of a marker.
	markerCoordinator = 12

	attrCompression = 0x07
	attrAppendTime  = 0x08
	attrTxn         = 0x10
	attrControl     = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// header is what a broker reads of a batch.
type header struct {
	attributes int16
	count      int32
	firstTime  int64
	maxTime    int64
	producerID int64
	epoch      int16
	sequence   int32
}

func (h *header) txn() bool     { return h.attributes&attrTxn != 0 }
func (h *header) control() bool { return h.attributes&attrControl != 0 }

// lastSequence is the sequence of the last record; sequences wrap to 0 after the largest int32.
func (h *header) lastSequence() int32 { return sequenceAdd(h.sequence, h.count-1) }

func sequenceAdd(s, n int32) int32 { return int32((int64(s) + int64(n)) & 0x7fffffff) }

// parseBatch reads the one batch that a producer sends for a partition, as a broker does before it appends it. It returns
// a Kafka error code.
func parseBatch(b []byte) (header, int16) {
	var h header
	if len(b) < batchHeader {
		return h, corruptMessage
	}
	if b[atMagic] != 2 {
		return h, unsupportedFormat
	}
	if size := int(int32(binary.BigEndian.Uint32(b[atLength:]))); size+12 != len(b) {
		if size > 0 && size+12 < len(b) {
			return h, invalidRecord // a second batch
		}
		return h, corruptMessage
	}
	if crc32.Checksum(b[atAttributes:], castagnoli) != binary.BigEndian.Uint32(b[atCRC:]) {
		return h, corruptMessage
	}
	h = readHeader(b)
	switch lastDelta := int32(binary.BigEndian.Uint32(b[atLastDelta:])); {
	case h.control(), h.count <= 0, lastDelta != h.count-1, h.attributes&attrCompression > 4:
		return h, invalidRecord
	case h.txn() && h.producerID < 0, h.producerID >= 0 && (h.epoch < 0 || h.sequence < 0):
		return h, invalidRecord
	}
	if h.attributes&attrCompression == 0 && !walkRecords(b[batchHeader:], h.count) {
		return h, invalidRecord
	}
	return h, ok
}

func readHeader(b []byte) header {
	return header{
		attributes: int16(binary.BigEndian.Uint16(b[atAttributes:])),
		count:      int32(binary.BigEndian.Uint32(b[atCount:])),
		firstTime:  int64(binary.BigEndian.Uint64(b[atFirstTime:])),
		maxTime:    int64(binary.BigEndian.Uint64(b[atMaxTime:])),
		producerID: int64(binary.BigEndian.Uint64(b[atProducerID:])),
		epoch:      int16(binary.BigEndian.Uint16(b[atEpoch:])),
		sequence:   int32(binary.BigEndian.Uint32(b[atSequence:])),
	}
}

// walkRecords checks that exactly count records with offsets 0, 1, ... fill b.
func walkRecords(b []byte, count int32) bool {
	for i := range count {
		size, n := binary.Varint(b)
		if n <= 0 || size < 1 || int64(len(b)-n) < size {
			return false
		}
		r := b[n : n+int(size)]
		b = b[n+int(size):]
		if !walkRecord(r, int64(i)) {
			return false
		}
	}
	return len(b) == 0
}

func walkRecord(r []byte, delta int64) bool {
	r = r[1:] // attributes
	_, n := binary.Varint(r)
	if n <= 0 {
		return false
	}
	r = r[n:]
	if d, n := binary.Varint(r); n <= 0 || d != delta {
		return false
	} else {
		r = r[n:]
	}
	for range 2 { // key, value
		if r = skipBytes(r); r == nil {
			return false
		}
	}
	headers, n := binary.Varint(r)
	if n <= 0 || headers < 0 {
		return false
	}
	r = r[n:]
	for range headers * 2 {
		if r = skipBytes(r); r == nil {
			return false
		}
	}
	return len(r) == 0
}

// skipBytes steps over a length and so many bytes; nil if they are not there.
func skipBytes(r []byte) []byte {
	size, n := binary.Varint(r)
	if n <= 0 || int64(len(r)-n) < size {
		return nil
	}
	if size < 0 {
		size = 0
	}
	return r[n+int(size):]
}

// seal writes length and checksum of a batch that starts at b[0].
func seal(b []byte) {
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[atCRC:], crc32.Checksum(b[atAttributes:], castagnoli))
}

func appendHeader(dst []byte, h header) []byte {
	dst = append(dst, make([]byte, batchHeader)...)
	b := dst[len(dst)-batchHeader:]
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], 0xffffffff)
	b[atMagic] = 2
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(h.attributes))
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(h.count-1))
	binary.BigEndian.PutUint64(b[atFirstTime:], uint64(h.firstTime))
	binary.BigEndian.PutUint64(b[atMaxTime:], uint64(h.maxTime))
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(h.producerID))
	binary.BigEndian.PutUint16(b[atEpoch:], uint16(h.epoch))
	binary.BigEndian.PutUint32(b[atSequence:], uint32(h.sequence))
	binary.BigEndian.PutUint32(b[atCount:], uint32(h.count))
	return dst
}

// appendMarkerBatch appends the control batch with one end-transaction marker.
func appendMarkerBatch(dst []byte, producerID int64, epoch int16, commit bool, coordinatorEpoch int32, now int64) []byte {
	at := len(dst)
	dst = appendHeader(dst, header{
		attributes: attrTxn | attrControl, count: 1, firstTime: now, maxTime: now,
		producerID: producerID, epoch: epoch, sequence: -1,
	})
	var verdict byte
	if commit {
		verdict = 1
	}
	e := uint32(coordinatorEpoch)
	dst = append(dst, 16<<1, 0, 0, 0, // length, attributes, time delta, offset delta
		4<<1, 0, 0, 0, verdict, // key: version, type
		6<<1, 0, 0, byte(e>>24), byte(e>>16), byte(e>>8), byte(e), // value: version, coordinator epoch
		0) // headers
	seal(dst[at:])
	return dst
}

// appendPlainBatch appends an uncompressed batch of records; they have their time from Record.
func appendPlainBatch(dst []byte, h header, records []Record) []byte {
	at := len(dst)
	h.count = int32(len(records))
	h.firstTime = records[0].Time
	h.maxTime = h.firstTime
	for i := range records {
		h.maxTime = max(h.maxTime, records[i].Time)
	}
	dst = appendHeader(dst, h)
	var space [512]byte
	scratch := space[:0]
	for i := range records {
		scratch = records[i].appendTo(scratch[:0], h.firstTime, int64(i))
		dst = binary.AppendVarint(dst, int64(len(scratch)))
		dst = append(dst, scratch...)
	}
	seal(dst[at:])
	return dst
}
