package loop

import (
	"errors"
	"fmt"
	"sync"

	"github.com/onefold/onefold/engine/env"
)

// Network joins the processes that run in one operating system process, by address. A message is a post to the other end's
// loop, so order within a connection is the order of posts.
type Network struct {
	mu        sync.Mutex
	listeners map[env.Addr]*transport
}

// NewNetwork makes an empty network.
func NewNetwork() *Network { return &Network{listeners: map[env.Addr]*transport{}} }

// Transport is the network as seen by the process with that address, on one of its loops. When the loop is closed its
// connections break, as those of a dead process do.
func (n *Network) Transport(self env.Addr, l env.Loop) env.Transport {
	t := &transport{network: n, self: self, loop: l, conns: map[*conn]struct{}{}}
	l.OnClose(t.die)
	return t
}

var (
	errClosed  = errors.New("connection closed by the other end")
	errNoOne   = errors.New("connection refused")
	errRefused = errors.New("connection not accepted")
)

type transport struct {
	network *Network
	self    env.Addr
	loop    env.Loop

	// Guarded by network.mu.
	accept func(env.Conn) env.Handler
	conns  map[*conn]struct{}
	dead   bool
}

// conn is one end of a connection. handler belongs to the loop of the end.
type conn struct {
	t       *transport
	peer    env.Addr
	other   *conn
	handler env.Handler
	over    bool // guarded by network.mu: closed here, or the close of the other end has been delivered
}

func (t *transport) Listen(accept func(env.Conn) env.Handler) {
	n := t.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.dead {
		return
	}
	t.accept = accept
	n.listeners[t.self] = t
}

func (t *transport) Dial(to env.Addr, h env.Handler) env.Conn {
	n := t.network
	here := &conn{t: t, peer: to, handler: h}
	n.mu.Lock()
	defer n.mu.Unlock()
	if t.dead {
		here.over = true
		return here
	}
	t.conns[here] = struct{}{}
	l := n.listeners[to]
	if l == nil {
		t.loop.Post(func() { here.end(fmt.Errorf("dial %s: %w: no process listens there", to, errNoOne)) })
		return here
	}
	there := &conn{t: l, peer: t.self, other: here}
	here.other = there
	l.conns[there] = struct{}{}
	l.loop.Post(func() {
		if there.isOver() {
			return
		}
		if there.handler = l.accept(there); there.handler == nil {
			there.hangUp(errRefused)
		}
	})
	return here
}

// die breaks everything when the loop has ended: the other ends learn it, this one is told nothing.
func (t *transport) die() {
	n := t.network
	n.mu.Lock()
	defer n.mu.Unlock()
	t.dead = true
	if n.listeners[t.self] == t {
		delete(n.listeners, t.self)
	}
	for c := range t.conns { // order irrelevant: each end belongs to another connection
		c.hangUpLocked(errClosed)
	}
}

func (c *conn) Peer() env.Addr { return c.peer }

func (c *conn) Send(msg []byte) {
	n := c.t.network
	n.mu.Lock()
	defer n.mu.Unlock()
	if c.over || c.other == nil || c.other.over {
		return
	}
	// Posted under the mutex: a close that comes later is posted later.
	other := c.other
	other.t.loop.Post(func() {
		if !other.isOver() && other.handler != nil {
			other.handler.OnMessage(other, msg)
		}
	})
}

func (c *conn) Close() { c.hangUp(errClosed) }

func (c *conn) isOver() bool {
	c.t.network.mu.Lock()
	defer c.t.network.mu.Unlock()
	return c.over
}

func (c *conn) hangUp(why error) {
	n := c.t.network
	n.mu.Lock()
	defer n.mu.Unlock()
	c.hangUpLocked(why)
}

// hangUpLocked ends this end without a call of its handler and tells the other.
func (c *conn) hangUpLocked(why error) {
	if c.over {
		return
	}
	c.over = true
	delete(c.t.conns, c)
	if other := c.other; other != nil && !other.over {
		other.t.loop.Post(func() { other.end(why) })
	}
}

// end delivers the close of the other end, on this end's loop.
func (c *conn) end(why error) {
	n := c.t.network
	n.mu.Lock()
	if c.over {
		n.mu.Unlock()
		return
	}
	c.over = true
	delete(c.t.conns, c)
	n.mu.Unlock()
	if c.handler != nil {
		c.handler.OnClose(c, why)
	}
}
