package kafka

// buffers keeps batch buffers for the next batches, also of other producers of the same client.
type buffers struct{ free [][]byte }

const (
	keptBuffers   = 64
	keptBufferMax = 2 << 20
)

func (b *buffers) get() []byte {
	if n := len(b.free); n > 0 {
		buf := b.free[n-1]
		b.free = b.free[:n-1]
		return buf
	}
	return nil
}

func (b *buffers) put(buf []byte) {
	if len(b.free) < keptBuffers && cap(buf) <= keptBufferMax {
		b.free = append(b.free, buf)
	}
}
