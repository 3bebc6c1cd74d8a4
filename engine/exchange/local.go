package exchange

import "github.com/onefold/onefold/engine/stream"

// local joins two ends of one process. Batches are lent to the receiver and come back to the sender's pool.
type local struct {
	s *Sender
	r *Receiver
}

func (l *local) carry(s *Sender, b *stream.Batch) {
	n := s.sequence
	l.r.end.Loop.Post(func() { l.r.arrived(b, n) })
}

func (l *local) giveBack(_ *Receiver, b *stream.Batch, n int) {
	l.s.end.Loop.Post(func() {
		if b != nil {
			l.s.end.Pool.Free(b)
		}
		l.s.granted(n, l)
	})
}

// framed joins two ends of one process by frames, as if they were apart.
type framed struct {
	s *Sender
	r *Receiver
}

func (l *framed) carry(s *Sender, b *stream.Batch) {
	bytes := s.encode(b)
	l.r.end.Loop.Post(func() {
		f, err := parse(bytes)
		if err != nil {
			l.r.broken(err)
			return
		}
		l.r.framed(f.payload, f.sequence)
	})
}

func (l *framed) giveBack(r *Receiver, b *stream.Batch, n int) {
	if b != nil {
		r.end.Pool.Free(b)
	}
	l.s.end.Loop.Post(func() { l.s.granted(n, l) })
}

// encode makes the frame of a batch and frees the batch.
func (s *Sender) encode(b *stream.Batch) []byte {
	f := frame{kind: data, generation: s.end.Generation, channel: wireOf(s.end.Channel), sequence: s.sequence, payload: b.Data}
	bytes := f.append(make([]byte, 0, headerSize+len(b.Data)))
	s.end.Pool.Free(b)
	return bytes
}
