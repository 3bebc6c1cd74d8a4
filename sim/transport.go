package sim

import "github.com/onefold/onefold/engine/env"

// transport implements env.Transport on links.
type transport struct{ l *Loop }

// Listen implements env.Transport.
func (t *transport) Listen(accept func(env.Conn) env.Handler) {
	t.l.node.Listen(PortTransport, t.l, func(l *Link) LinkHandler {
		c := &conn{link: l}
		if c.h = accept(c); c.h == nil {
			return nil
		}
		return c
	})
}

// Dial implements env.Transport.
func (t *transport) Dial(to env.Addr, h env.Handler) env.Conn {
	c := &conn{h: h}
	c.link = t.l.w.Dial(t.l, string(to), PortTransport, c)
	return c
}

// conn implements env.Conn.
type conn struct {
	link *Link
	h    env.Handler
}

// Peer implements env.Conn.
func (c *conn) Peer() env.Addr { return env.Addr(c.link.peer.node.name) }

// Send implements env.Conn.
func (c *conn) Send(msg []byte) {
	m := c.link.w.messages.New() // a slice in an interface is an allocation, a pointer into a slab is not
	*m = msg
	c.link.Send(m, len(msg))
}

// Close implements env.Conn.
func (c *conn) Close() { c.link.Close() }

// OnLinkMessage implements LinkHandler.
func (c *conn) OnLinkMessage(_ *Link, msg any) { c.h.OnMessage(c, *msg.(*[]byte)) }

// OnLinkClose implements LinkHandler.
func (c *conn) OnLinkClose(_ *Link, err error) { c.h.OnClose(c, err) }
