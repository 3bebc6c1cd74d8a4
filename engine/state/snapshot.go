package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/onefold/onefold/engine/keygroup"
)

// MaxName is the longest name of a table, in bytes.
const MaxName = 255

// Version is the version of the format that Encode writes.
const Version = 1

var magic = [4]byte{'O', 'F', 'S', 'T'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC is the checksum that handles of snapshots carry: crc32c.
func CRC(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// ErrCorrupt says that an object is not a snapshot, or not whole.
var ErrCorrupt = errors.New("snapshot is corrupt")

// Encode writes all entries of f, by table, group and key:
//
//	magic, version (1 byte), number of key groups (4), number of tables (2)
//	per table: name length (1), name; per entry: group (2), key length (4), value length (4), key, value; 0xFFFF
//	crc32c of all before (4)
//
// all big endian.
func Encode(f Frozen, groups int32) []byte {
	names := f.Tables()
	b := append([]byte(nil), magic[:]...)
	b = append(b, Version)
	b = binary.BigEndian.AppendUint32(b, uint32(groups))
	b = binary.BigEndian.AppendUint16(b, uint16(len(names)))
	for _, name := range names {
		b = append(b, byte(len(name)))
		b = append(b, name...)
		f.Each(name, func(e Entry) {
			b = binary.BigEndian.AppendUint16(b, uint16(e.Group))
			b = binary.BigEndian.AppendUint32(b, uint32(len(e.Key)))
			b = binary.BigEndian.AppendUint32(b, uint32(len(e.Value)))
			b = append(b, e.Key...)
			b = append(b, e.Value...)
		})
		b = binary.BigEndian.AppendUint16(b, math.MaxUint16)
	}
	return binary.BigEndian.AppendUint32(b, CRC(b))
}

// Decode visits the entries whose group lies in r. The checksum is verified before the first visit. An entry's bytes are
// part of b.
func Decode(b []byte, groups int32, r keygroup.Range, visit func(Entry) error) error {
	if len(b) < 15 || [4]byte(b) != magic {
		return fmt.Errorf("%w: it does not begin as one", ErrCorrupt)
	}
	if CRC(b[:len(b)-4]) != binary.BigEndian.Uint32(b[len(b)-4:]) {
		return fmt.Errorf("%w: wrong checksum", ErrCorrupt)
	}
	if b[4] != Version {
		return fmt.Errorf("snapshot has version %d, known is %d", b[4], Version)
	}
	if n := int32(binary.BigEndian.Uint32(b[5:])); n != groups {
		return fmt.Errorf("snapshot is of a job with %d key groups, this one has %d", n, groups)
	}
	tables := int(binary.BigEndian.Uint16(b[9:]))
	d := reader{rest: b[11 : len(b)-4]}
	for range tables {
		e := Entry{Table: string(d.take(int(d.byte())))}
		for {
			g := d.uint16()
			if g == math.MaxUint16 || d.short {
				break
			}
			e.Group = keygroup.Group(g)
			keyLen, valueLen := int(d.uint32()), int(d.uint32())
			e.Key, e.Value = d.take(keyLen), d.take(valueLen)
			if d.short {
				break
			}
			if r.Contains(e.Group) {
				if err := visit(e); err != nil {
					return err
				}
			}
		}
	}
	if d.short || len(d.rest) != 0 {
		return fmt.Errorf("%w: entries and length do not agree", ErrCorrupt)
	}
	return nil
}

// reader takes values off the front and notes when there are too few bytes.
type reader struct {
	rest  []byte
	short bool
}

func (d *reader) take(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.short, d.rest = true, nil
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *reader) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *reader) uint16() uint16 {
	if b := d.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (d *reader) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}
