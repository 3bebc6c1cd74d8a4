// Package field reads the fields of records for the oracles: integers and names of inputs, big endian. It is written from the
// description of the records, and shares no code with the jobs that write them.
package field

import (
	"encoding/binary"
	"fmt"

	"github.com/onefold/onefold/checker"
)

// Reader reads big-endian fields one after the other; the first one that is missing makes it fail.
type Reader struct {
	b   []byte
	err error
}

// Of reads b.
func Of(b []byte) *Reader { return &Reader{b: b} }

// Int64 is the next field of eight bytes.
func (r *Reader) Int64() int64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	v := int64(binary.BigEndian.Uint64(r.b))
	r.b = r.b[8:]
	return v
}

// Place is the next input name: topic number, partition, offset. The topics of a history stand with inputs first, in the
// order of the job's description.
func (r *Reader) Place() checker.Source {
	if len(r.b) < 13 {
		r.fail()
		return checker.Source{}
	}
	s := checker.Source{
		Topic:     int16(r.b[0]),
		Partition: int32(binary.BigEndian.Uint32(r.b[1:])),
		Offset:    int64(binary.BigEndian.Uint64(r.b[5:])),
	}
	r.b = r.b[13:]
	return s
}

// End is nil when every field was there and nothing is left.
func (r *Reader) End() error {
	if r.err == nil && len(r.b) > 0 {
		return fmt.Errorf("%d bytes too many", len(r.b))
	}
	return r.err
}

// Err is nil when every field was there.
func (r *Reader) Err() error { return r.err }

func (r *Reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("record too short")
	}
	r.b = nil
}
