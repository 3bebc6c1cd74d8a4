// Package place has the name of an input record as it travels in the outputs of a job: topic number, partition, offset. With
// it a checker can say of each output which input it was made from, and of each input whether it is there once.
package place

import (
	"encoding/binary"
	"fmt"
)

// Bytes is the encoded size of a Place.
const Bytes = 13

// Place names an input record. Topic numbers the inputs of the job, from 0.
type Place struct {
	Topic     uint8
	Partition int32
	Offset    int64
}

// Append appends the encoding to dst.
func (p Place) Append(dst []byte) []byte {
	dst = append(dst, p.Topic)
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.Partition))
	return binary.BigEndian.AppendUint64(dst, uint64(p.Offset))
}

// Cut reads a Place off the front of src.
func Cut(src []byte) (Place, []byte, error) {
	if len(src) < Bytes {
		return Place{}, nil, fmt.Errorf("the name of an input record has %d bytes, not %d", Bytes, len(src))
	}
	return Place{
		Topic:     src[0],
		Partition: int32(binary.BigEndian.Uint32(src[1:])),
		Offset:    int64(binary.BigEndian.Uint64(src[5:])),
	}, src[Bytes:], nil
}
