package simbroker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/sim"
)

// frame is one write of a client: one request, or two that leave together.
type frame struct {
	first, second asked
	both          bool
}

type asked struct {
	req       kmsg.Request
	loseReply bool
	lateReply time.Duration
}

// serverConn is the broker's end of a connection. Its requests are worked on one after the other: the next one is not
// looked at before the answer has left.
type serverConn struct {
	b      *Broker
	link   *sim.Link // nil: nobody waits for the answer
	queue  []asked
	at     asked               // what is worked on while busy
	answer func(kmsg.Response) // reply
	busy   bool
	closed bool
}

// OnLinkMessage implements sim.LinkHandler.
func (s *serverConn) OnLinkMessage(l *sim.Link, msg any) {
	switch m := msg.(type) {
	case *call:
		m.work(s.b, func(code int16) {
			m.code = code
			l.Send(m, 50)
		})
	case *frame:
		s.queue = append(s.queue, m.first)
		if m.both {
			s.queue = append(s.queue, m.second)
		}
		s.next()
	}
}

// OnLinkClose implements sim.LinkHandler. A request that was read already is worked on, and at most one behind it.
func (s *serverConn) OnLinkClose(*sim.Link, error) {
	s.closed = true
	if len(s.queue) > 1 {
		s.queue = s.queue[:1]
	}
}

func (s *serverConn) next() {
	for !s.busy && len(s.queue) > 0 {
		s.at = s.queue[0]
		copy(s.queue, s.queue[1:])
		s.queue[len(s.queue)-1] = asked{}
		s.queue = s.queue[:len(s.queue)-1]
		s.busy = true
		if s.answer == nil {
			s.answer = s.reply
		}
		s.b.handle(s, s.at.req, s.answer)
	}
}

// silence is the answer that is not sent.
var silence kmsg.Response = &kmsg.ProduceResponse{Version: -1}

// reply answers the request that is worked on.
func (s *serverConn) reply(resp kmsg.Response) {
	if d := s.at.lateReply; d > 0 {
		s.at.lateReply = 0
		late := resp
		s.b.loop.After(d, func() { s.reply(late) })
		return
	}
	lose, req := s.at.loseReply, s.at.req
	s.at, s.busy = asked{}, false
	switch {
	case resp == silence:
	case s.link == nil:
		s.b.c.noteLate(req, resp)
	case s.closed:
	case lose || resp == nil:
		s.OnLinkClose(s.link, sim.ErrReset)
		s.link.Break(sim.ErrReset)
	default:
		if s.b.c.cfg.Encode {
			resp = recodeResponse(resp)
		}
		s.link.Send(resp, responseSize(resp))
	}
	s.next()
}

// detached hands requests to a broker on a connection that nobody reads any more: late or repeated ones.
func (b *Broker) detached(reqs []kmsg.Request) {
	if !b.up() {
		return
	}
	b.loop.Post(func() {
		s := &serverConn{b: b}
		for _, req := range reqs {
			s.queue = append(s.queue, asked{req: req})
		}
		s.next()
	})
}

// handle picks the handler of a request. At a version that the release does not offer the connection ends.
func (b *Broker) handle(s *serverConn, req kmsg.Request, reply func(kmsg.Response)) {
	k := req.Key()
	f, isFetch := req.(*kmsg.FetchRequest)
	if k < 0 || int(k) >= len(handlers) || handlers[k] == nil && !isFetch {
		reply(nil)
		return
	}
	if lo, hi := b.profile.versions(k); req.GetVersion() < lo || req.GetVersion() > hi {
		reply(unsupported(req))
		return
	}
	if isFetch {
		b.fetch(s, f, reply)
		return
	}
	handlers[k](b, req, reply)
}

// recode is the request as it comes out of its wire form.
func recode(req kmsg.Request) kmsg.Request {
	b := req.AppendTo(nil)
	out := kmsg.RequestForKey(req.Key())
	out.SetVersion(req.GetVersion())
	if err := out.ReadFrom(b); err != nil {
		panic("simbroker: request does not decode: " + err.Error())
	}
	return out
}

func recodeResponse(resp kmsg.Response) kmsg.Response {
	b := resp.AppendTo(nil)
	out := kmsg.ResponseForKey(resp.Key())
	out.SetVersion(resp.GetVersion())
	if err := out.ReadFrom(b); err != nil {
		panic("simbroker: response does not decode: " + err.Error())
	}
	return out
}

func requestSize(req kmsg.Request) int {
	n := 80
	if p, isProduce := req.(*kmsg.ProduceRequest); isProduce {
		for i := range p.Topics {
			for j := range p.Topics[i].Partitions {
				n += len(p.Topics[i].Partitions[j].Records) + 30
			}
		}
	}
	return n
}

func responseSize(resp kmsg.Response) int {
	n := 80
	if f, isFetch := resp.(*kmsg.FetchResponse); isFetch {
		for i := range f.Topics {
			for j := range f.Topics[i].Partitions {
				n += len(f.Topics[i].Partitions[j].RecordBatches) + 40
			}
		}
	}
	return n
}
