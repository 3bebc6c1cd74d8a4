package simbroker

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim"
)

// client is the port of one loop: a connection per broker, made when it is needed.
type client struct {
	c      *Cluster
	node   *sim.Node
	loop   *sim.Loop
	class  broker.Class
	number int
	conns  []*clientConn
	seed   int32 // the broker that stands for the bootstrap; the next one after a refusal
}

func newClient(c *Cluster, n *sim.Node, l *sim.Loop, class broker.Class) *client {
	cl := &client{c: c, node: n, loop: l, class: class, conns: make([]*clientConn, len(c.brokers))}
	cl.seed = int32(c.draw(kindBootstrap, n.Key(), uint64(class), 0) % uint64(len(c.brokers)))
	if len(c.clients)&63 == 63 {
		c.forgetClosed()
	}
	cl.number = c.ports
	c.ports++
	c.clients = append(c.clients, cl)
	return cl
}

// clientConn is a connection; answers come in the order of requests.
type clientConn struct {
	client *client
	to     *Broker
	link   *sim.Link
	asked  []pending
	armed  bool // the timer that looks for overdue answers runs
}

// pending is a request that waits for its answer, or one half of a pair.
type pending struct {
	done  func(kmsg.Response, error)
	both  *pair
	which int
	op    *Operation // its record; nil: none
	due   env.Instant
}

type pair struct {
	resp [2]kmsg.Response
	done func(kmsg.Response, kmsg.Response, error)
}

var errBroken = errors.New("connection broke, outcome unknown")

var _ broker.Requests = (*client)(nil)

// Send implements broker.Requests.
func (c *client) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	k := c.conn(node)
	if k == nil {
		c.loop.Post(func() { done(nil, fmt.Errorf("broker %d: %w", node, broker.ErrNotSent)) })
		return
	}
	if p, isProduce := req.(*kmsg.ProduceRequest); isProduce && p.Acks == 0 { // nothing will be answered
		resp := p.ResponseKind()
		c.loop.Post(func() { done(resp, nil) })
		k.send(c.frame(req), req)
		return
	}
	k.asked = append(k.asked, pending{done: done, due: k.due(req), op: c.begin(req)})
	k.send(c.frame(req), req)
}

// SendBoth implements broker.Requests.
func (c *client) SendBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	k := c.conn(node)
	if k == nil {
		c.loop.Post(func() { done(nil, nil, fmt.Errorf("broker %d: %w", node, broker.ErrNotSent)) })
		return
	}
	p := &pair{done: done}
	due := k.due(second)
	k.asked = append(k.asked, pending{both: p, due: due, op: c.begin(first)}, pending{both: p, which: 1, due: due, op: c.begin(second)})
	f := c.frame(first)
	f.second.req, f.both = c.wire(second), true
	k.send(f, first)
}

func (c *client) frame(req kmsg.Request) *frame {
	f := c.c.frames.New()
	f.first.req = c.wire(req)
	return f
}

func (c *client) wire(req kmsg.Request) kmsg.Request {
	if c.c.cfg.Encode {
		return recode(req)
	}
	return req
}

func (c *client) conn(node int32) *clientConn {
	if node == broker.Bootstrap {
		node = c.seed
	}
	if node < 0 || int(node) >= len(c.conns) {
		return nil
	}
	k := c.conns[node]
	if k == nil {
		k = &clientConn{client: c, to: c.c.brokers[node]}
		k.link = c.c.w.Dial(c.loop, k.to.node.Name(), sim.PortKafka, k)
		c.conns[node] = k
	}
	return k
}

// due is when the answer to a request is overdue.
func (k *clientConn) due(req kmsg.Request) env.Instant {
	d := k.client.c.cfg.ClientTimeout
	if f, isFetch := req.(*kmsg.FetchRequest); isFetch {
		d += time.Duration(f.MaxWaitMillis) * time.Millisecond
	}
	if !k.armed {
		k.armed = true
		k.client.loop.After(d, k.overdue)
	}
	return k.client.c.w.Now().Add(d)
}

// overdue breaks a connection whose oldest answer is overdue.
func (k *clientConn) overdue() {
	now := k.client.c.w.Now()
	switch {
	case k.client.conns[k.to.id] != k || len(k.asked) == 0:
		k.armed = false
	case k.asked[0].due <= now:
		k.armed = false
		k.link.Break(sim.ErrTimeout)
	default:
		k.client.loop.After(k.asked[0].due.Sub(now), k.overdue)
	}
}

// send sends one write and lets a fault strike it.
func (k *clientConn) send(f *frame, original kmsg.Request) {
	w, size := k.client.c.w, requestSize(original)
	effect, delay := w.Intercept(k.client.node.Name(), f.first.req.Key())
	second := sim.NoEffect
	if f.both && effect == sim.NoEffect {
		second, delay = w.Intercept(k.client.node.Name(), f.second.req.Key())
	}
	f.first.strike(effect, delay)
	f.second.strike(second, delay)
	struck := func(e sim.Effect) bool { return effect == e || second == e }
	switch {
	case struck(sim.LoseRequest):
		k.unrecord(f)
		k.link.Break(sim.ErrTimeout)
	case struck(sim.LateRequest):
		k.link.Break(sim.ErrTimeout)
		k.later(f, delay)
	case struck(sim.Repeat):
		k.link.Send(f, size)
		k.later(f, delay)
	default:
		k.link.Send(f, size)
	}
}

// strike marks what the server's end does with the reply.
func (a *asked) strike(e sim.Effect, delay time.Duration) {
	switch e {
	case sim.LoseReply, sim.Repeat:
		a.loseReply = true
	case sim.LateReply:
		a.lateReply = delay
	}
}

// unrecord takes a write that is lost on its way out of the record: its sender does not know, but it had no effect, and a
// model that tries out all that it may have had takes minutes for twenty.
func (k *clientConn) unrecord(f *frame) {
	last := len(k.asked) - 1
	if f.both {
		last--
	}
	for i := last; i < len(k.asked); i++ {
		if o := k.asked[i].op; o != nil && !o.written() {
			k.client.c.drop(o)
		}
		k.asked[i].op = nil
	}
}

// OnLinkMessage implements sim.LinkHandler: the answer to the oldest request.
func (k *clientConn) OnLinkMessage(_ *sim.Link, msg any) {
	p := k.asked[0]
	copy(k.asked, k.asked[1:])
	k.asked[len(k.asked)-1] = pending{}
	k.asked = k.asked[:len(k.asked)-1]
	resp := msg.(kmsg.Response)
	if p.op != nil {
		k.client.c.endOperation(p.op, resp)
	}
	if p.both == nil {
		p.done(resp, nil)
		return
	}
	p.both.resp[p.which] = resp
	if p.which == 1 {
		p.both.done(p.both.resp[0], p.both.resp[1], nil)
	}
}

// OnLinkClose implements sim.LinkHandler. Whether what was sent took effect, nobody knows, unless the connection was
// never made.
func (k *clientConn) OnLinkClose(_ *sim.Link, err error) {
	c := k.client
	c.conns[k.to.id] = nil
	if c.seed == k.to.id {
		c.seed = (c.seed + 1) % int32(len(c.conns))
	}
	cause := errBroken
	if errors.Is(err, sim.ErrRefused) {
		cause = broker.ErrNotSent
	}
	lost := k.asked
	k.asked = nil
	var told *pair
	for _, p := range lost {
		if p.op != nil {
			k.client.c.lostOperation(p.op, errors.Is(cause, broker.ErrNotSent))
		}
		wrapped := fmt.Errorf("broker %d: %w: %w", k.to.id, cause, err)
		switch {
		case p.both == nil:
			p.done(nil, wrapped)
		case p.both != told:
			told = p.both
			told.done(nil, nil, wrapped)
		}
	}
}

// later delivers the same bytes once more after a while, as from a connection that nobody reads any more.
func (k *clientConn) later(f *frame, delay time.Duration) {
	w, to := k.client.c.w, k.to
	again := []kmsg.Request{recode(f.first.req)}
	if f.both {
		again = append(again, recode(f.second.req))
	}
	w.At(w.Now().Add(delay), func() { to.detached(again) })
}
