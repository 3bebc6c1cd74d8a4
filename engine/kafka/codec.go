package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression of the records of a batch.
type Compression int8

// The codecs, by the number that is in a batch's attributes.
const (
	NoCompression Compression = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var compressionNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

func (c Compression) String() string {
	if c >= 0 && int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return fmt.Sprintf("codec(%d)", int8(c))
}

// maxInflated bounds what one batch may unpack to: a broker's batches are a few megabytes.
const maxInflated = 128 << 20

var errInflated = errors.New("unpacks to too much")

// codec keeps the state of compression between batches. The zero codec is ready.
type codec struct {
	in     bytes.Reader
	out    []byte // of inflate; valid until the next one
	gunzip *gzip.Reader
	unlz4  *lz4.Reader
	unzstd *zstd.Decoder
	gzip   *gzip.Writer
	lz4    *lz4.Writer
	zstd   *zstd.Encoder
	packed bytes.Buffer
}

// inflate unpacks src into a buffer of the codec.
func (c *codec) inflate(how Compression, src []byte) ([]byte, error) {
	c.in.Reset(src)
	switch how {
	case Gzip:
		if c.gunzip == nil {
			c.gunzip = new(gzip.Reader)
		}
		if err := c.gunzip.Reset(&c.in); err != nil {
			return nil, err
		}
		return c.readAll(c.gunzip)
	case Snappy:
		return c.unsnappy(src)
	case LZ4:
		if c.unlz4 == nil {
			c.unlz4 = lz4.NewReader(nil)
		}
		c.unlz4.Reset(&c.in)
		return c.readAll(c.unlz4)
	case Zstd:
		return c.inflateZstd(src)
	}
	return nil, fmt.Errorf("compression %s is not known", how)
}

// readAll reads r into the buffer, which grows with what really comes.
func (c *codec) readAll(r io.Reader) ([]byte, error) {
	out := c.out[:0]
	for {
		if len(out) == cap(out) {
			out = append(out, make([]byte, max(4096, cap(out)))...)[:len(out)]
		}
		n, err := r.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		c.out = out
		if len(out) > maxInflated {
			return nil, errInflated
		}
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// inflateZstd bounds what a frame may claim by what its blocks could hold: 128 KiB per block of at least 3 bytes.
func (c *codec) inflateZstd(src []byte) ([]byte, error) {
	if c.unzstd == nil {
		var err error
		c.unzstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxInflated))
		if err != nil {
			return nil, err
		}
	}
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return nil, err
	}
	if h.HasFCS && h.FrameContentSize > uint64(len(src)/3+1)<<17 {
		return nil, errInflated
	}
	out, err := c.unzstd.DecodeAll(src, c.out[:0])
	if err == nil {
		c.out = out
	}
	return out, err
}

// xerial is how the Java client frames snappy: this magic, two versions, then blocks behind their lengths.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func (c *codec) unsnappy(src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerial) {
		return c.snappyBlock(c.out[:0], src)
	}
	out := c.out[:0]
	src = src[min(len(src), 16):]
	for len(src) > 0 {
		if len(src) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > int64(len(src)) {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = c.snappyBlock(out, src[:n]); err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return out, nil
}

// snappyBlock appends one unpacked block. No element of snappy makes more than 64 bytes of one.
func (c *codec) snappyBlock(out, src []byte) ([]byte, error) {
	n, err := snappy.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if n > 64*len(src) || len(out)+n > maxInflated {
		return nil, errInflated
	}
	at := len(out)
	if cap(out)-at < n {
		out = append(out, make([]byte, n)...)
	}
	out = out[:at+n]
	c.out = out
	block, err := snappy.Decode(out[at:at+n], src)
	if err != nil {
		return nil, err
	}
	return out[:at+len(block)], nil
}

// pack compresses src behind head into dst, whose bytes are lost.
func (c *codec) pack(how Compression, dst, head, src []byte) ([]byte, error) {
	dst = append(dst[:0], head...)
	c.packed.Reset()
	switch how {
	case Gzip:
		if c.gzip == nil {
			c.gzip = gzip.NewWriter(nil)
		}
		c.gzip.Reset(&c.packed)
		if _, err := c.gzip.Write(src); err != nil {
			return nil, err
		}
		if err := c.gzip.Close(); err != nil {
			return nil, err
		}
	case Snappy:
		return append(dst, snappy.Encode(nil, src)...), nil
	case LZ4:
		if c.lz4 == nil {
			c.lz4 = lz4.NewWriter(nil)
			if err := c.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
				return nil, err
			}
		}
		c.lz4.Reset(&c.packed)
		if _, err := c.lz4.Write(src); err != nil {
			return nil, err
		}
		if err := c.lz4.Close(); err != nil {
			return nil, err
		}
	case Zstd:
		if c.zstd == nil {
			var err error
			if c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
				return nil, err
			}
		}
		return c.zstd.EncodeAll(src, dst), nil
	default:
		return nil, fmt.Errorf("compression %s is not known", how)
	}
	return append(dst, c.packed.Bytes()...), nil
}
