package simbroker

// chunk is a piece of a log's bytes, so that a log grows without being copied.
type chunk struct {
	at   int    // bytes of the log before it
	data []byte // append-only: slices of it are handed out
}

const chunkBytes = 32 << 10

// store appends the bytes of a batch and returns them in their place.
func (l *log) store(b []byte) []byte {
	n := len(l.chunks)
	if n == 0 || cap(l.chunks[n-1].data)-len(l.chunks[n-1].data) < len(b) {
		l.chunks = append(l.chunks, chunk{l.size, make([]byte, 0, max(chunkBytes, len(b)))})
		n++
	}
	c := &l.chunks[n-1]
	at := len(c.data)
	c.data = append(c.data, b...)
	l.size += len(b)
	return c.data[at:]
}

// bytes is one batch.
func (l *log) bytes(b *batch) []byte {
	if b.size == 0 {
		return nil
	}
	c := &l.chunks[b.chunk]
	at := b.at - c.at
	return c.data[at : at+b.size : at+b.size]
}

// span is batches that follow one another; a copy only where they lie in several chunks.
func (l *log) span(b []batch) []byte {
	if len(b) == 0 {
		return nil
	}
	last := &b[len(b)-1]
	from, to := b[0].at, last.at+last.size
	if b[0].chunk == last.chunk && from < to {
		c := &l.chunks[last.chunk]
		return c.data[from-c.at : to-c.at : to-c.at]
	}
	out := make([]byte, 0, to-from)
	for i := range b {
		out = append(out, l.bytes(&b[i])...)
	}
	return out
}
