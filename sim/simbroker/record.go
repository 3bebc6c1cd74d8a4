package simbroker

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Record is one record as a generator writes it or the truth shows it. A nil key or value is null.
type Record struct {
	Key, Value []byte
	Headers    []Header
	Time       int64 // milliseconds since 1970
}

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Logged is one record of a partition's log, in the broker's truth.
type Logged struct {
	Offset     int64
	Record     Record
	ProducerID int64 // -1: none
	Epoch      int16
	Sequence   int32
	Txn        bool
	Control    bool // an end-transaction marker; Commit is its verdict
	Commit     bool
}

func (r *Record) appendTo(dst []byte, firstTime, delta int64) []byte {
	dst = append(dst, 0)
	dst = binary.AppendVarint(dst, r.Time-firstTime)
	dst = binary.AppendVarint(dst, delta)
	dst = appendBytes(dst, r.Key)
	dst = appendBytes(dst, r.Value)
	dst = binary.AppendVarint(dst, int64(len(r.Headers)))
	for i := range r.Headers {
		dst = binary.AppendVarint(dst, int64(len(r.Headers[i].Key)))
		dst = append(dst, r.Headers[i].Key...)
		dst = appendBytes(dst, r.Headers[i].Value)
	}
	return dst
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

// readRecords appends the records of a stored batch to out. Bytes are shared with the log where it is not compressed.
func readRecords(out []Logged, b []byte) []Logged {
	h := readHeader(b)
	base := int64(binary.BigEndian.Uint64(b[atBaseOffset:]))
	body, err := decompress(h.attributes&attrCompression, b[batchHeader:])
	if err != nil {
		panic(fmt.Sprintf("simbroker: batch at %d does not decompress: %v", base, err))
	}
	for i := range h.count {
		size, n := binary.Varint(body)
		r := body[n+1 : n+int(size)]
		body = body[n+int(size):]
		l := Logged{ProducerID: h.producerID, Epoch: h.epoch, Sequence: h.sequence, Txn: h.txn(), Control: h.control()}
		if h.sequence >= 0 {
			l.Sequence = sequenceAdd(h.sequence, i)
		}
		delta, n := binary.Varint(r)
		r = r[n:]
		l.Record.Time = h.firstTime + delta
		if h.attributes&attrAppendTime != 0 {
			l.Record.Time = h.maxTime
		}
		at, n := binary.Varint(r)
		r = r[n:]
		l.Offset = base + at
		l.Record.Key, r = takeBytes(r)
		l.Record.Value, r = takeBytes(r)
		headers, n := binary.Varint(r)
		r = r[n:]
		for range headers {
			var h Header
			var key []byte
			key, r = takeBytes(r)
			h.Key = string(key)
			h.Value, r = takeBytes(r)
			l.Record.Headers = append(l.Record.Headers, h)
		}
		if l.Control {
			l.Commit = len(l.Record.Key) == 4 && l.Record.Key[3] == 1
		}
		out = append(out, l)
	}
	return out
}

func takeBytes(r []byte) (b, rest []byte) {
	size, n := binary.Varint(r)
	r = r[n:]
	if size < 0 {
		return nil, r
	}
	return r[:size:size], r[size:]
}

// decompress undoes what the low bits of a batch's attributes say.
func decompress(codec int16, b []byte) ([]byte, error) {
	switch codec {
	case 0:
		return b, nil
	case 1:
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case 2:
		return unsnappy(b)
	case 3:
		return io.ReadAll(lz4.NewReader(bytes.NewReader(b)))
	case 4:
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(b, nil)
	}
	return nil, fmt.Errorf("unknown codec %d", codec)
}

// unsnappy reads plain snappy and the framed form of the Java client.
func unsnappy(b []byte) ([]byte, error) {
	magic := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}
	if !bytes.HasPrefix(b, magic) {
		return s2.Decode(nil, b)
	}
	var out []byte
	for b = b[16:]; len(b) >= 4; {
		size := int(binary.BigEndian.Uint32(b))
		if size > len(b)-4 {
			return nil, io.ErrUnexpectedEOF
		}
		part, err := s2.Decode(nil, b[4:4+size])
		if err != nil {
			return nil, err
		}
		out, b = append(out, part...), b[4+size:]
	}
	return out, nil
}
