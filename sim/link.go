package sim

import (
	"math"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// Link is one end of a connection between two processes. It delivers a prefix of what was sent, in order, and then
// breaks. It belongs to the loop that dialled it, or that listened.
type Link struct {
	w    *World
	wire *wire
	node *Node
	loop *Loop // nil at the accepting end until the connection has arrived
	peer *Link
	h    LinkHandler

	// Of the direction from this end to the peer.
	key    uint64
	seq    uint64
	lastAt env.Instant
	cutAt  env.Instant // what would arrive later is lost
	held   []heldSend  // waits for a cut to be mended

	closed bool // no callback comes any more
	ended  bool // the peer's notice of a Close has left
}

// wire is what both ends of a link share.
type wire struct {
	dialler, acceptor *Link
	port              Port
	stall             *Timer // breaks the link when it has been cut for too long
	over              bool   // neither end expects anything any more
}

// heldSend is what a process or a link has yet to send: an item on a link, or anything else.
type heldSend struct {
	link      *Link
	it        item
	sizeBytes int
	send      func()
}

// LinkHandler receives what happens to an end of a link, on its loop. OnLinkClose comes once, last; it is not called for
// a Close of one's own.
type LinkHandler interface {
	OnLinkMessage(l *Link, msg any)
	OnLinkClose(l *Link, err error)
}

const never = env.Instant(math.MaxInt64)

// Dial connects a loop with a port of another node, or of its own. It returns at once; a connection that cannot be made is
// closed later.
func (w *World) Dial(loop *Loop, to string, port Port, h LinkHandler) *Link {
	target := w.Node(to)
	if target == nil {
		target = w.self.node // nobody listens there
	}
	c := &wire{port: port}
	loop.inc.dials++
	number := loop.inc.number<<32 | loop.inc.dials
	c.dialler = &Link{w: w, wire: c, node: loop.node, loop: loop, h: h, cutAt: never}
	c.dialler.key = mix(loop.node.key^uint64(port)<<56^number, target.key^k2)
	c.acceptor = &Link{w: w, wire: c, node: target, peer: c.dialler, cutAt: never, key: mix(c.dialler.key^k0, k3)}
	c.dialler.peer = c.acceptor
	if loop.mute() {
		c.dialler.closed, c.acceptor.closed, c.over = true, true, true
		return c.dialler
	}
	w.net.add(c)
	c.dialler.send(item{link: c.acceptor, kind: entryAccept}, 0)
	if c.cut() {
		c.startStall()
	}
	return c.dialler
}

// Node is the node of this end.
func (l *Link) Node() *Node { return l.node }

// Peer is the node of the other end.
func (l *Link) Peer() *Node { return l.peer.node }

// Loop is the loop of this end.
func (l *Link) Loop() *Loop { return l.loop }

// Key names the link's direction from this end in draws.
func (l *Link) Key() uint64 { return l.key }

// Closed says whether this end got or made its close.
func (l *Link) Closed() bool { return l.closed }

// Send sends a message, which must not be changed afterwards. After a break it does nothing.
func (l *Link) Send(msg any, sizeBytes int) {
	if l.closed || l.loop.mute() {
		return
	}
	l.send(item{link: l.peer, msg: msg, kind: entryMessage}, sizeBytes)
}

// Close ends the connection at this end at once; the peer is told after all that was sent before.
func (l *Link) Close() {
	if l.closed || l.loop.mute() {
		return
	}
	l.closed = true
	l.send(item{link: l.peer, msg: ErrEnded, kind: entryClose}, 0)
	l.wire.settle()
}

// Break breaks the connection at this instant: what is under way in both directions is lost, and both ends are told after
// a drawn time each.
func (l *Link) Break(err error) {
	now := l.w.now
	for _, e := range [2]*Link{l, l.peer} {
		e.cutAt, e.held = min(e.cutAt, now), nil
	}
	l.tell(err)
	l.peer.tell(err)
}

// send is what a process does. If it has been paused earlier in this callback, the message leaves when it wakes up.
func (l *Link) send(it item, sizeBytes int) {
	it.cause = l.w.record.current
	if l.node.paused {
		l.node.held = append(l.node.held, heldSend{link: l, it: it, sizeBytes: sizeBytes})
		return
	}
	l.put(it, sizeBytes)
}

func (l *Link) put(it item, sizeBytes int) {
	if it.kind == entryClose {
		l.ended = true
	}
	if l.cutAt != never {
		return
	}
	p := l.node.wayTo(l.peer.node)
	if len(l.held) > 0 || p.isCut() || it.kind == entryAccept && l.wire.cut() {
		l.held = append(l.held, heldSend{link: l, it: it, sizeBytes: sizeBytes})
		p.hitCut()
		return
	}
	l.transmit(it, sizeBytes)
}

func (l *Link) transmit(it item, sizeBytes int) {
	l.seq++
	l.lastAt = max(l.lastAt, l.w.now.Add(l.delay(sizeBytes)))
	l.w.scheduleCaused(l.lastAt, l.key, it)
}

// delay is how long the message just numbered is under way.
func (l *Link) delay(sizeBytes int) time.Duration {
	o := &l.w.o
	v := l.w.Draw(kindDelay, l.key, l.seq, 0)
	d := Between(v, o.DelayMin, o.DelayMax)
	if l.node == l.peer.node {
		d /= 8
	}
	if v&63 == 0 {
		d *= 8
	}
	d += time.Duration(sizeBytes) * time.Millisecond / time.Duration(o.BytesPerMilli)
	if p := l.node.wayTo(l.peer.node); p != nil && len(p.slow) > 0 {
		d += p.slowed()
	}
	return d
}

// flush sends what was held, if it can pass now.
func (l *Link) flush() {
	if len(l.held) == 0 || l.node.wayTo(l.peer.node).isCut() || l.held[0].it.kind == entryAccept && l.wire.cut() {
		return
	}
	held := l.held
	l.held = nil
	for _, h := range held {
		l.transmit(h.it, h.sizeBytes)
	}
}

// tell schedules the notice of a break at this end.
func (l *Link) tell(err error) {
	if l.closed || l.loop == nil || l.loop.inc.dead {
		l.closed = true
		l.wire.settle()
		return
	}
	v := l.w.Draw(kindNotice, l.key, uint64(l.w.now), 0)
	d := Between(v, 50*time.Microsecond, 5*time.Millisecond)
	if v&7 == 0 {
		d *= 64
	}
	at := max(l.w.now.Add(d), min(l.peer.cutAt, l.peer.lastAt))
	l.w.schedule(at, l.peer.key, item{link: l, msg: err, kind: entryClose})
}

// abandon is what the crash of its process does to an end.
func (l *Link) abandon() {
	now := l.w.now
	if l.closed && l.ended { // closed before: the peer's notice is under way
		return
	}
	l.closed = true
	l.peer.cutAt, l.peer.held = min(l.peer.cutAt, now), nil
	if l.cutAt != never { // broken before: the peer has been told
		l.wire.settle()
		return
	}
	l.held = nil
	l.cutAt = now
	if OneIn(l.w.Draw(kindCut, l.key, uint64(now), 0), 2) {
		l.cutAt = max(now, l.lastAt)
	}
	if l.node.wayTo(l.peer.node).isCut() && !l.peer.closed {
		l.held = []heldSend{{link: l, it: item{link: l.peer, msg: ErrReset, kind: entryClose, cause: l.w.record.current}}}
		return
	}
	l.peer.tell(ErrReset)
	l.wire.settle()
}

// cut says whether the way is cut in either direction.
func (c *wire) cut() bool {
	a, b := c.dialler.node, c.acceptor.node
	return a.wayTo(b).isCut() || b.wayTo(a).isCut()
}

// startStall breaks a connection that stays cut, in any direction, for longer than a drawn bound: without
// acknowledgements neither end gets on.
func (c *wire) startStall() {
	if c.over || c.stall != nil {
		return
	}
	l := c.dialler
	bound := Between(l.w.Draw(kindStall, l.key, uint64(l.w.now), 0), l.w.o.StallMin, l.w.o.StallMax)
	c.stall = l.w.self.alarm(bound, func() {
		c.stall = nil
		if !c.over {
			l.Break(ErrTimeout)
		}
	})
}

// mended is told when a way between the ends may pass again.
func (c *wire) mended() {
	if c.stall != nil && !c.cut() {
		c.stall.Stop()
		c.stall = nil
	}
	c.dialler.flush()
	c.acceptor.flush()
}

func (c *wire) between(a, b *Node) bool {
	return c.dialler.node == a && c.acceptor.node == b || c.dialler.node == b && c.acceptor.node == a
}

// settle lets the network forget a connection that is over.
func (c *wire) settle() {
	if c.over || !c.dialler.closed || !c.acceptor.closed || len(c.dialler.held)+len(c.acceptor.held) > 0 {
		return
	}
	c.over = true
	c.dialler.w.net.dead++
	if c.stall != nil {
		c.stall.Stop()
		c.stall = nil
	}
}
