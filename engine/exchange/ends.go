package exchange

import (
	"fmt"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/stream"
)

// End is what both ends of a channel are told when they are made. Callbacks run on Loop.
type End struct {
	Loop       env.Loop // the task's
	Pool       *stream.Pool
	Generation id.Generation
	Channel    graph.Channel
	// Changed: a sender has room again, a receiver has a batch.
	Changed func()
	// Broken: the connection that carries the channel broke. The task must fail.
	Broken func(error)
}

// Sender is the sending end of a channel. It is used on its task's loop.
type Sender struct {
	end      End
	ex       *Exchange
	out      outbound // nil until the receiver grants
	credits  int
	queue    []*stream.Batch
	sequence uint64
	closed   bool
}

// outbound carries batches from a sender to its receiver.
type outbound interface {
	carry(s *Sender, b *stream.Batch)
}

// Room reports whether a batch that is sent now leaves now. A sender without room still takes batches: whoever stops when
// there is no room adds the rest of one record and a barrier at most.
func (s *Sender) Room() bool { return s.credits > len(s.queue) }

// Idle reports whether everything that was sent has been read: the receiver waits for more.
func (s *Sender) Idle() bool { return s.credits >= s.ex.opt.Credits && len(s.queue) == 0 }

// Send hands the batch over.
func (s *Sender) Send(b *stream.Batch) {
	if b.Len() == 0 { // asked first: arguments of a check are made on the heap
		invariant.Check(false, "empty batch sent over %v", s.end.Channel)
	}
	s.queue = append(s.queue, b)
	s.flush()
}

func (s *Sender) flush() {
	n := min(s.credits, len(s.queue))
	for _, b := range s.queue[:n] {
		s.credits--
		s.sequence++
		s.out.carry(s, b)
	}
	s.queue = s.queue[:copy(s.queue, s.queue[n:])]
}

// granted runs on the sender's loop. The grant brings the way to the receiver with it, since no other message is sure to
// come before it.
func (s *Sender) granted(n int, out outbound) {
	if s.closed {
		return
	}
	had := s.Room()
	s.out = out
	s.credits += n
	if s.credits > s.ex.opt.Credits {
		invariant.Check(false, "channel %v has %d credits, more than %d", s.end.Channel, s.credits, s.ex.opt.Credits)
	}
	s.flush()
	if !had && s.Room() {
		s.end.Changed()
	}
}

func (s *Sender) broken(err error) {
	if !s.closed {
		s.end.Broken(fmt.Errorf("channel %v: %w", s.end.Channel, err))
	}
}

// Close ends the use of the channel. What was sent may or may not arrive.
func (s *Sender) Close() {
	if !s.closed {
		s.closed = true
		s.ex.loop.Post(func() { s.ex.removeSender(s) })
	}
}

// Receiver is the receiving end of a channel. It is used on its task's loop.
type Receiver struct {
	end      End
	ex       *Exchange
	in       inbound // nil until the sender is known
	opened   bool
	granted  bool
	queue    []*stream.Batch
	sequence uint64
	closed   bool
}

// inbound brings credits, and batches that were lent, back to the sender. b is nil at the first grant.
type inbound interface {
	giveBack(r *Receiver, b *stream.Batch, n int)
}

// Open lets the sender begin.
func (r *Receiver) Open() {
	r.opened = true
	r.grant()
}

// Next is the oldest batch that has not been given back, or nil.
func (r *Receiver) Next() *stream.Batch {
	if len(r.queue) == 0 {
		return nil
	}
	return r.queue[0]
}

// Pending is the number of batches that have not been given back.
func (r *Receiver) Pending() int { return len(r.queue) }

// Done gives the oldest batch back: it was read to its end. One more may come for it.
func (r *Receiver) Done() {
	b := r.queue[0]
	r.queue = r.queue[:copy(r.queue, r.queue[1:])]
	r.in.giveBack(r, b, 1)
}

func (r *Receiver) attach(in inbound) {
	if r.closed {
		return
	}
	invariant.Check(r.in == nil, "channel %v has two senders", r.end.Channel)
	r.in = in
	r.grant()
}

func (r *Receiver) grant() {
	if r.opened && r.in != nil && !r.granted {
		r.granted = true
		r.in.giveBack(r, nil, r.ex.opt.Credits)
	}
}

func (r *Receiver) arrived(b *stream.Batch, sequence uint64) {
	if r.closed {
		return
	}
	if sequence != r.sequence+1 {
		invariant.Check(false, "channel %v: batch %d after %d", r.end.Channel, sequence, r.sequence)
	}
	r.sequence = sequence
	r.queue = append(r.queue, b)
	if len(r.queue) > r.ex.opt.Credits {
		invariant.Check(false, "channel %v: %d batches on %d credits", r.end.Channel, len(r.queue), r.ex.opt.Credits)
	}
	r.end.Changed()
}

// framed takes a batch that came as bytes.
func (r *Receiver) framed(payload []byte, sequence uint64) {
	if r.closed {
		return
	}
	b := r.end.Pool.Get()
	if err := b.Load(payload); err != nil {
		r.end.Pool.Free(b)
		r.broken(err)
		return
	}
	r.arrived(b, sequence)
}

func (r *Receiver) broken(err error) {
	if !r.closed {
		r.end.Broken(fmt.Errorf("channel %v: %w", r.end.Channel, err))
	}
}

// Close ends the use of the channel.
func (r *Receiver) Close() {
	if !r.closed {
		r.closed = true
		r.ex.loop.Post(func() { r.ex.removeReceiver(r) })
	}
}
