package exchange

import (
	"errors"
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/stream"
)

// link is one connection to another process, for one generation. Who sends batches dials: batches flow one way and credits
// the other. It lives on the exchange's loop.
type link struct {
	x          *Exchange
	conn       env.Conn
	peer       env.Addr
	dialled    bool
	generation id.Generation
	greeted    bool // its generation is known
	stopping   bool // the peer said bye
	dead       bool
	senders    []*Sender     // dialled
	opened     []wireChannel // accepted: senders that have announced themselves and have no receiver yet
	receivers  []*Receiver   // accepted
}

var errBroken = errors.New("data connection is broken")

func (l *link) send(f frame) {
	f.generation = l.generation
	l.conn.Send(f.append(make([]byte, 0, headerSize+len(f.payload))))
}

func (l *link) addSender(s *Sender) {
	l.senders = append(l.senders, s)
	l.send(frame{kind: open, channel: wireOf(s.end.Channel)})
}

func (l *link) accepts(r *Receiver) bool {
	return !l.dialled && l.greeted && l.generation == r.end.Generation && slices.Contains(l.opened, wireOf(r.end.Channel))
}

func (l *link) addReceiver(r *Receiver) {
	c := wireOf(r.end.Channel)
	l.opened = slices.DeleteFunc(l.opened, func(o wireChannel) bool { return o == c })
	l.receivers = append(l.receivers, r)
	r.end.Loop.Post(func() { r.attach(l) })
}

func (l *link) removeSender(s *Sender) {
	n := len(l.senders)
	l.senders = slices.DeleteFunc(l.senders, func(o *Sender) bool { return o == s })
	if n > 0 && len(l.senders) == 0 {
		l.stop()
	}
}

func (l *link) removeReceiver(r *Receiver) {
	n := len(l.receivers)
	l.receivers = slices.DeleteFunc(l.receivers, func(o *Receiver) bool { return o == r })
	if n > 0 && len(l.receivers) == 0 {
		l.stop()
	}
}

// stop ends the connection because its tasks were stopped here: no failure for the peer, which is being stopped too.
func (l *link) stop() {
	if l.dead {
		return
	}
	l.send(frame{kind: bye})
	l.conn.Close()
	l.dead = true
	l.x.drop(l)
}

// fail ends the connection because of what came over it.
func (l *link) fail(err error) {
	if l.dead {
		return
	}
	l.conn.Close()
	l.OnClose(l.conn, err)
}

// OnClose implements env.Handler.
func (l *link) OnClose(_ env.Conn, err error) {
	if l.dead {
		return
	}
	l.dead = true
	l.x.drop(l)
	if l.stopping {
		return
	}
	err = fmt.Errorf("%w: with %s: %w", errBroken, l.peer, err)
	for _, s := range l.senders {
		s.end.Loop.Post(func() { s.broken(err) })
	}
	for _, r := range l.receivers {
		r.end.Loop.Post(func() { r.broken(err) })
	}
}

// OnMessage implements env.Handler.
func (l *link) OnMessage(_ env.Conn, msg []byte) {
	if l.dead {
		return
	}
	f, err := parse(msg)
	if err != nil {
		l.fail(err)
		return
	}
	switch {
	case !l.greeted && f.kind == hello:
		l.greet(f.generation)
	case !l.greeted || f.generation != l.generation:
		l.fail(fmt.Errorf("%w: generation %d on a connection of %d", errFrame, f.generation, l.generation))
	case f.kind == open:
		l.open(f.channel)
	case f.kind == data:
		l.data(f)
	case f.kind == credit:
		l.credit(f)
	case f.kind == bye:
		l.stopping = true
	default:
		l.fail(fmt.Errorf("%w: kind %d out of place", errFrame, f.kind))
	}
}

// greet takes the generation of a connection. One older than what runs here is a zombie's.
func (l *link) greet(g id.Generation) {
	if g < l.x.newest {
		l.fail(fmt.Errorf("generation %d is older than %d", g, l.x.newest))
		return
	}
	l.generation, l.greeted = g, true
}

func (l *link) open(c wireChannel) {
	l.opened = append(l.opened, c)
	for i, r := range l.x.receivers {
		if l.accepts(r) {
			l.x.receivers = slices.Delete(l.x.receivers, i, i+1)
			l.addReceiver(r)
			return
		}
	}
}

func (l *link) data(f frame) {
	for _, r := range l.receivers {
		if wireOf(r.end.Channel) == f.channel {
			r.end.Loop.Post(func() { r.framed(f.payload, f.sequence) })
			return
		}
	}
	// The receiver was closed while the batch was under way.
}

func (l *link) credit(f frame) {
	for _, s := range l.senders {
		if wireOf(s.end.Channel) == f.channel {
			s.end.Loop.Post(func() { s.granted(int(f.sequence), l) })
			return
		}
	}
}

// carry implements outbound, on the sender's loop.
func (l *link) carry(s *Sender, b *stream.Batch) {
	bytes := s.encode(b)
	l.x.loop.Post(func() {
		if !l.dead {
			l.conn.Send(bytes)
		}
	})
}

// giveBack implements inbound, on the receiver's loop.
func (l *link) giveBack(r *Receiver, b *stream.Batch, n int) {
	if b != nil {
		r.end.Pool.Free(b)
	}
	l.x.loop.Post(func() {
		if !l.dead {
			l.send(frame{kind: credit, channel: wireOf(r.end.Channel), sequence: uint64(n)})
		}
	})
}
