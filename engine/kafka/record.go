package kafka

import "encoding/binary"

// Record is one record of a batch, where it lies.
type Record struct {
	Key, Value []byte // nil: null
	Headers    []byte // varint count and headers; nil for none
	Timestamp  int64
	Offset     int64
	// Body is what lies from the length of the key to the end: the part that no batch boundary changes.
	Body []byte
}

// readRecord reads the record at b[i] of a batch and returns the index behind it; -1 when it is malformed.
func readRecord(b []byte, i int, batch *Batch, r *Record) int {
	size, at := varint(b, i)
	if at < 0 || size < minRecord-1 || size > int64(len(b)-at) {
		return -1
	}
	end := at + int(size)
	rec := b[at:end:end]
	timestamp, at := varint(rec, 1)
	offset, at := varint(rec, at)
	if at < 0 || offset < 0 || offset > batch.LastOffset-batch.BaseOffset {
		return -1
	}
	r.Body = rec[at:]
	r.Key, at = readBytes(rec, at)
	r.Value, at = readBytes(rec, at)
	if at < 0 || at >= len(rec) {
		return -1
	}
	if at == len(rec)-1 && rec[at] == 0 {
		r.Headers = nil
	} else if r.Headers = rec[at:]; !validHeaders(r.Headers) {
		return -1
	}
	r.Offset = batch.BaseOffset + offset
	r.Timestamp = batch.FirstTimestamp + timestamp
	if batch.LogAppendTime {
		r.Timestamp = batch.MaxTimestamp
	}
	return end
}

// readBytes reads a length and so many bytes; a negative length is nil.
func readBytes(b []byte, i int) ([]byte, int) {
	if uint(i) < uint(len(b)) && b[i]&0x81 == 0 { // a length of one byte, not negative: most keys and small values
		at := i + 1
		if end := at + int(b[i]>>1); end <= len(b) {
			return b[at:end:end], end
		}
		return nil, -1
	}
	n, at := varint(b, i)
	if n < 0 || at < 0 {
		return nil, at
	}
	if n > int64(len(b)-at) {
		return nil, -1
	}
	end := at + int(n)
	return b[at:end:end], end
}

func validHeaders(b []byte) bool {
	count, at := varint(b, 0)
	if count <= 0 || count > int64(len(b)) {
		return false
	}
	for ; count > 0 && at >= 0; count-- {
		var key []byte
		if key, at = readBytes(b, at); key == nil {
			return false
		}
		_, at = readBytes(b, at)
	}
	return at == len(b)
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil: null
}

// ParseHeaders reads headers as they lie in a record; nil for none. Bytes that come from a Record are well-formed.
func ParseHeaders(b []byte) []Header {
	if len(b) == 0 || !validHeaders(b) {
		return nil
	}
	count, at := varint(b, 0)
	headers := make([]Header, count)
	for i := range headers {
		var key []byte
		key, at = readBytes(b, at)
		headers[i].Key = string(key)
		headers[i].Value, at = readBytes(b, at)
	}
	return headers
}

// AppendHeaders appends headers as they lie in a record; nothing for none.
func AppendHeaders(b []byte, headers []Header) []byte {
	if len(headers) == 0 {
		return b
	}
	b = appendVarint(b, int64(len(headers)))
	for _, h := range headers {
		b = appendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendBytes(b, h.Value)
	}
	return b
}

func appendBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, 1) // -1
	}
	return append(appendVarint(b, int64(len(v))), v...)
}

// markerVerdict reads the key of a control record: version, type.
func markerVerdict(key []byte) (commit, ok bool) {
	if len(key) < 4 {
		return false, false
	}
	switch binary.BigEndian.Uint16(key[2:]) {
	case 0:
		return false, true
	case 1:
		return true, true
	}
	return false, false
}
