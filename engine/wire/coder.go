package wire

import (
	"encoding/binary"
	"errors"
)

// ErrMalformed says that bytes are not a message of this version.
var ErrMalformed = errors.New("malformed control message")

// coder appends fields to b, or takes them from the front of b. What it appends it only reads: other loops may do so, too.
type coder struct {
	decode bool
	b      []byte
	bad    bool // Invariant: once set, b is not read any more
}

// take returns the next n bytes; nil when there are not so many.
func (c *coder) take(n int) []byte {
	if c.bad || n < 0 || n > len(c.b) {
		c.bad = true
		return nil
	}
	out := c.b[:n:n]
	c.b = c.b[n:]
	return out
}

func (c *coder) uint(v *uint64) {
	if !c.decode {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	if c.bad {
		return
	}
	x, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad = true
		return
	}
	*v, c.b = x, c.b[n:]
}

func (c *coder) int(v *int64) {
	if !c.decode {
		c.b = binary.AppendVarint(c.b, *v)
		return
	}
	if c.bad {
		return
	}
	x, n := binary.Varint(c.b)
	if n <= 0 {
		c.bad = true
		return
	}
	*v, c.b = x, c.b[n:]
}

func unsigned[T ~uint8 | ~uint16 | ~uint32 | ~uint64](c *coder, v *T) {
	x := uint64(*v)
	c.uint(&x)
	if c.decode {
		*v = T(x)
		c.bad = c.bad || uint64(*v) != x
	}
}

func signed[T ~int16 | ~int32 | ~int64](c *coder, v *T) {
	x := int64(*v)
	c.int(&x)
	if c.decode {
		*v = T(x)
		c.bad = c.bad || int64(*v) != x
	}
}

func (c *coder) bool(v *bool) {
	x := uint8(0)
	if *v {
		x = 1
	}
	unsigned(c, &x)
	if c.decode {
		*v = x == 1
		c.bad = c.bad || x > 1
	}
}

func (c *coder) count(n int) int {
	x := uint64(n)
	c.uint(&x)
	if c.decode && (c.bad || x > uint64(len(c.b))) { // an element takes a byte at least
		c.bad = true
		return 0
	}
	return int(x)
}

func text[T ~string](c *coder, v *T) {
	n := c.count(len(*v))
	if !c.decode {
		c.b = append(c.b, *v...)
		return
	}
	*v = T(c.take(n))
}

// bytes keeps nil and empty apart.
func (c *coder) bytes(v *[]byte) {
	present := *v != nil
	c.bool(&present)
	if !present {
		if c.decode {
			*v = nil
		}
		return
	}
	n := c.count(len(*v))
	if !c.decode {
		c.b = append(c.b, *v...)
		return
	}
	if b := c.take(n); !c.bad {
		*v = append(make([]byte, 0, n), b...)
	}
}

// list codes a slice; an empty one becomes nil. It grows with what was really there, so a false count allocates nothing.
func list[T any](c *coder, v *[]T, each func(*coder, *T)) {
	n := c.count(len(*v))
	if !c.decode {
		for i := range *v {
			each(c, &(*v)[i])
		}
		return
	}
	*v = nil
	for i := 0; i < n && !c.bad; i++ {
		var t T
		if each(c, &t); !c.bad {
			*v = append(*v, t)
		}
	}
}
