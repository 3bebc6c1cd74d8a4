package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Version is the first byte of every message.
const Version = 2

const header = 8 // length and crc32c of what follows, both big endian

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the frame of m to b.
func Append(b []byte, m Message) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, Version, number(m))
	c := coder{b: b}
	m.code(&c)
	body := c.b[start+header:]
	binary.BigEndian.PutUint32(c.b[start:], uint32(len(body)))
	binary.BigEndian.PutUint32(c.b[start+4:], crc32.Checksum(body, castagnoli))
	return c.b
}

// Encode is the frame of m.
func Encode(m Message) []byte { return Append(nil, m) }

// Decode is the inverse of Encode. The result shares nothing with frame.
func Decode(frame []byte) (Message, error) {
	if len(frame) < header+2 {
		return nil, fmt.Errorf("%w: %d bytes", ErrMalformed, len(frame))
	}
	body := frame[header:]
	if n := binary.BigEndian.Uint32(frame); uint64(n) != uint64(len(body)) {
		return nil, fmt.Errorf("%w: length says %d, %d bytes follow", ErrMalformed, n, len(body))
	}
	if want, got := binary.BigEndian.Uint32(frame[4:]), crc32.Checksum(body, castagnoli); want != got {
		return nil, fmt.Errorf("%w: crc says %08x, content has %08x", ErrMalformed, want, got)
	}
	return decode(body)
}

func decode(body []byte) (Message, error) {
	if body[0] != Version {
		return nil, fmt.Errorf("%w: version %d, this is version %d", ErrMalformed, body[0], Version)
	}
	if int(body[1]) >= len(empty) {
		return nil, fmt.Errorf("%w: unknown number %d", ErrMalformed, body[1])
	}
	m := empty[body[1]]()
	c := coder{decode: true, b: body[2:]}
	m.code(&c)
	if c.bad || len(c.b) > 0 {
		return nil, fmt.Errorf("%w: the fields of %T do not fit", ErrMalformed, m)
	}
	return m, nil
}
