package simbroker

import "github.com/onefold/onefold/sim"

// call is a request of one broker to another. work runs there, answered runs here: with the code that work answered, or
// with 13 when the connection broke and nobody knows.
type call struct {
	work     func(to *Broker, answer func(int16))
	answered func(int16)
	code     int16
}

// peer is the connection to another broker.
type peer struct {
	b     *Broker
	to    *Broker
	link  *sim.Link
	calls []*call // sent and not answered
}

// call asks another broker, or the same one, which is asked on its loop, too.
func (b *Broker) call(to *Broker, work func(to *Broker, answer func(int16)), answered func(int16)) {
	if to == b {
		b.loop.Post(func() {
			work(b, func(code int16) { b.loop.Post(func() { answered(code) }) })
		})
		return
	}
	p := b.peers[to.id]
	if p.link == nil || p.link.Closed() {
		p.link = b.c.w.Dial(b.loop, to.node.Name(), sim.PortKafka, p)
	}
	k := &call{work: work, answered: answered}
	p.calls = append(p.calls, k)
	p.link.Send(k, 100)
}

// OnLinkMessage implements sim.LinkHandler: a call came back.
func (p *peer) OnLinkMessage(_ *sim.Link, msg any) {
	k := msg.(*call)
	for i := range p.calls {
		if p.calls[i] == k {
			p.calls = append(p.calls[:i], p.calls[i+1:]...)
			break
		}
	}
	k.answered(k.code)
}

// OnLinkClose implements sim.LinkHandler.
func (p *peer) OnLinkClose(*sim.Link, error) {
	lost := p.calls
	p.calls, p.link = nil, nil
	for _, k := range lost {
		k.answered(networkException)
	}
}
