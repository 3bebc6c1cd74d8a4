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
	node *Node
	loop *Loop // nil at the accepting end until it is accepted
	peer *Link
	h    LinkHandler
	port Port
	key  uint64

	// Of the direction from this end to the peer.
	seq    uint64
	lastAt env.Instant
	cutAt  env.Instant // what would arrive later is lost
	held   []heldSend  // waits for a cut to be mended

	closed  bool // no callback comes any more
	told    bool // the end of the connection is on its way to this end
	counted bool // the network knows that the connection is over
	stalls  uint64
}

type heldSend struct {
	link      *Link
	it        item
	sizeBytes int
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
	l := &Link{w: w, node: loop.node, loop: loop, h: h, port: port, cutAt: never}
	target := w.Node(to)
	if target == nil {
		target = w.nowhere()
	}
	r := &Link{w: w, node: target, peer: l, port: port, cutAt: never}
	l.peer = r
	loop.inc.dials++
	l.key = mix(loop.inc.node.key^uint64(port)<<48^loop.inc.dials, target.key^loop.inc.number<<32^k2)
	r.key = mix(l.key, k3)
	if loop.mute() {
		l.closed, r.closed, l.counted = true, true, true
		return l
	}
	w.net.add(l)
	l.send(item{link: r, kind: entryAccept}, 0)
	if l.node.cutTo(target) || target.cutTo(l.node) {
		l.stall()
	}
	return l
}

// nowhere stands for a node that does not exist: nobody listens there.
func (w *World) nowhere() *Node { return w.self.node }

// Node is the node of this end.
func (l *Link) Node() *Node { return l.node }

// Peer is the node of the other end.
func (l *Link) Peer() *Node { return l.peer.node }

// Loop is the loop of this end.
func (l *Link) Loop() *Loop { return l.loop }

// Closed says whether this end got or made its close.
func (l *Link) Closed() bool { return l.closed }

// Send sends a message, which must not be changed afterwards. After a break it does nothing.
func (l *Link) Send(msg any, sizeBytes int) {
	if l.closed || l.loop.mute() {
		return
	}
	l.send(item{link: l.peer, msg: msg, kind: entryMessage}, sizeBytes)
}

// send is what a live process does: if it has been paused in this callback, it is done when it wakes up.
func (l *Link) send(it item, sizeBytes int) {
	it.cause = l.w.record.current
	if l.node.paused {
		l.node.held = append(l.node.held, heldSend{l, it, sizeBytes})
		return
	}
	l.put(it, sizeBytes)
}

func (l *Link) put(it item, sizeBytes int) {
	if l.cutAt != never {
		return
	}
	if len(l.held) > 0 || l.node.cutTo(l.peer.node) {
		l.held = append(l.held, heldSend{l, it, sizeBytes})
		return
	}
	l.transmit(it, sizeBytes)
}

func (l *Link) transmit(it item, sizeBytes int) {
	l.seq++
	l.lastAt = max(l.lastAt, l.w.now.Add(l.w.delay(l, l.seq, sizeBytes)))
	l.w.scheduleCaused(l.lastAt, l.key, it)
}

// Close ends the connection at this end at once; the peer is told after all that was sent before.
func (l *Link) Close() {
	if l.closed {
		return
	}
	l.closed = true
	if !l.loop.inc.dead {
		l.peer.told = true
		l.send(item{link: l.peer, msg: ErrEnded, kind: entryClose}, 0)
	}
	l.count()
}

// Break breaks the connection at this instant: what is under way in both directions is lost, and both ends are told after
// a drawn time each.
func (l *Link) Break(err error) {
	l.cutBoth(l.w.now)
	l.tell(err)
	l.peer.tell(err)
}

func (l *Link) cutBoth(at env.Instant) {
	l.cutAt, l.peer.cutAt = min(l.cutAt, at), min(l.peer.cutAt, at)
	l.held, l.peer.held = nil, nil
}

// tell schedules the notice of a break at this end.
func (l *Link) tell(err error) {
	if l.closed || l.loop == nil {
		l.closed = true
		l.count()
		return
	}
	v := l.w.Draw(kindNotice, l.key, uint64(l.w.now), 0)
	d := Between(v, 50*time.Microsecond, 5*time.Millisecond)
	if v&7 == 0 {
		d *= 64
	}
	at := max(l.w.now.Add(d), l.peer.lastAt)
	l.peer.lastAt = at
	l.w.schedule(at, l.peer.key, item{link: l, msg: err, kind: entryClose})
}

// abandon is what a crash does to an end of the crashed process.
func (l *Link) abandon() {
	if l.loop == nil && l.peer.loop.inc.dead || l.closed && l.peer.closed {
		l.closed = true
		l.count()
		return
	}
	gracefully := l.closed
	l.closed = true
	l.peer.cutAt = min(l.peer.cutAt, l.w.now)
	l.peer.held = nil
	now := l.w.now
	if !gracefully && l.cutAt == never {
		l.held = nil
		v := l.w.Draw(kindCut, l.key, uint64(now), 0)
		if OneIn(v, 2) {
			l.cutAt = now
		} else {
			l.cutAt = l.lastAt
		}
		l.tellPeerOfCrash()
	}
	l.count()
}

func (l *Link) tellPeerOfCrash() {
	if l.loop == nil { // not accepted yet
		l.peer.tell(ErrRefused)
		return
	}
	if l.node.cutTo(l.peer.node) {
		return // the stall ends it
	}
	l.peer.tell(ErrReset)
}

// crosses says whether a message of this connection goes from one node to another, given its dialling end.
func (l *Link) crosses(from, to *Node) bool {
	return l.node == from && l.peer.node == to || l.node == to && l.peer.node == from
}

// stall breaks a connection that stays cut for longer than a drawn bound, in any direction: without acknowledgements
// neither end gets on.
func (l *Link) stall() {
	if l.over() {
		return
	}
	l.stalls++
	stall := l.stalls
	bound := Between(l.w.Draw(kindStall, l.key, uint64(l.w.now), 0), l.w.o.StallMin, l.w.o.StallMax)
	l.w.self.after(bound, func() {
		if l.stalls == stall && !l.over() {
			l.Break(ErrTimeout)
		}
	})
}

// release sends on what was held by a cut that has been mended.
func (l *Link) release(from, to *Node) {
	if l.node == from && l.peer.node == to || l.node == to && l.peer.node == from {
		if !l.node.cutTo(l.peer.node) && !l.peer.node.cutTo(l.node) {
			l.stalls++
			l.peer.stalls++
		}
	}
	if l.node != from || l.peer.node != to {
		return
	}
	held := l.held
	l.held = nil
	for _, h := range held {
		l.transmit(h.it, h.sizeBytes)
	}
}

// over says whether neither end expects anything any more.
func (l *Link) over() bool { return l.closed && l.peer.closed }

// count tells the network of a connection that is over, so that it can be forgotten.
func (l *Link) count() {
	if !l.over() {
		return
	}
	if !l.counted {
		l.counted, l.peer.counted = true, true
		l.w.net.dead++
	}
}
