package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
)

// frameVersion is the version of the format below.
const frameVersion = 1

// headerSize is the size of a frame's header:
//
//	0 version (1), kind (1), zero (2) | 4 payload length | 8 generation | 16 edge | 20 sending index | 24 receiving index |
//	28 crc32c of all but these four bytes | 32 sequence
//
// all little endian.
const headerSize = 40

type frameKind uint8

const (
	hello  frameKind = 1 + iota // first on a connection: the generation that it is for
	open                        // the sender of a channel is on this connection
	data                        // a batch; sequence counts from 1 per channel
	credit                      // back to the sender: sequence more batches may come
	bye                         // the process stops the tasks of this generation; the connection closes
)

// frame is one message between two exchanges.
type frame struct {
	kind       frameKind
	generation id.Generation
	channel    wireChannel
	sequence   uint64
	payload    []byte
}

// wireChannel names a channel within a job and generation: the edge knows its vertices.
type wireChannel struct{ edge, from, to int32 }

func wireOf(c graph.Channel) wireChannel {
	return wireChannel{c.Edge, c.From.Index, c.To.Index}
}

func (c wireChannel) String() string {
	return fmt.Sprintf("edge %d from %d to %d", c.edge, c.from, c.to)
}

var errFrame = errors.New("broken frame")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (f *frame) append(b []byte) []byte {
	at := len(b)
	b = append(b, frameVersion, byte(f.kind), 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.payload)))
	b = binary.LittleEndian.AppendUint64(b, uint64(f.generation))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.channel.edge))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.channel.from))
	b = binary.LittleEndian.AppendUint32(b, uint32(f.channel.to))
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, f.sequence)
	b = append(b, f.payload...)
	binary.LittleEndian.PutUint32(b[at+28:], checksum(b[at:]))
	return b
}

func checksum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:28], castagnoli), castagnoli, b[32:])
}

// parse reads a frame; its payload is part of b.
func parse(b []byte) (frame, error) {
	if len(b) < headerSize {
		return frame{}, fmt.Errorf("%w: %d bytes", errFrame, len(b))
	}
	if b[0] != frameVersion {
		return frame{}, fmt.Errorf("%w: version %d, known is %d", errFrame, b[0], frameVersion)
	}
	if n := binary.LittleEndian.Uint32(b[4:]); int64(n) != int64(len(b)-headerSize) {
		return frame{}, fmt.Errorf("%w: it says %d bytes and has %d", errFrame, n, len(b)-headerSize)
	}
	if checksum(b) != binary.LittleEndian.Uint32(b[28:]) {
		return frame{}, fmt.Errorf("%w: wrong checksum", errFrame)
	}
	f := frame{
		kind:       frameKind(b[1]),
		generation: id.Generation(binary.LittleEndian.Uint64(b[8:])),
		channel: wireChannel{
			int32(binary.LittleEndian.Uint32(b[16:])), int32(binary.LittleEndian.Uint32(b[20:])), int32(binary.LittleEndian.Uint32(b[24:])),
		},
		sequence: binary.LittleEndian.Uint64(b[32:]),
		payload:  b[headerSize:],
	}
	if f.kind < hello || f.kind > bye {
		return frame{}, fmt.Errorf("%w: unknown kind %d", errFrame, f.kind)
	}
	return f, nil
}
