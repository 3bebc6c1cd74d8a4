package envtest

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
)

// listen answers connections by noting what happens to them; onMessage may answer.
type listen struct {
	n         *note
	onMessage func(c env.Conn, msg []byte)
}

func (h *listen) OnMessage(c env.Conn, msg []byte) {
	h.n.add("message %s", msg)
	if h.onMessage != nil {
		h.onMessage(c, msg)
	}
}

func (h *listen) OnClose(_ env.Conn, err error) {
	if err == nil {
		h.n.add("closed without a reason")
		return
	}
	h.n.add("closed")
}

// server starts a process that listens and hands each connection the handler.
func (x *run) server(name string, h env.Handler) (*proc.Process, env.Loop) {
	x.Helper()
	p := x.w.Process(name)
	l := p.NewLoop("server")
	x.do(l, func() { p.Transport(l).Listen(func(env.Conn) env.Handler { return h }) })
	return p, l
}

var transportCases = []testCase{
	{"MessagesArriveInOrderBothWays", func(x *run) {
		// Barriers would overtake records.
		var server, client note
		p, _ := x.server("server", &listen{&server, func(c env.Conn, msg []byte) { c.Send(append([]byte("re "), msg...)) }})
		q := x.w.Process("client")
		l := q.NewLoop("l")
		l.Post(func() {
			c := q.Transport(l).Dial(p.Name, &listen{&client, nil})
			for i := range 50 {
				c.Send(fmt.Append(nil, i))
			}
			if c.Peer() != p.Name {
				client.add("peer %s", c.Peer())
			}
			client.add("end of the callback")
		})
		x.wait("answers", func() bool { return client.len() == 51 && server.len() == 50 })
		for i := range 50 {
			if server.all()[i] != fmt.Sprint("message ", i) || client.all()[i+1] != fmt.Sprint("message re ", i) {
				x.Fatalf("server %q\nclient %q", server.all(), client.all())
			}
		}
	}},
	{"ACloseArrivesAfterWhatWasSentBefore", func(x *run) {
		// The last words of a process that leaves in good order would be lost.
		var server, client note
		p, _ := x.server("server", &listen{&server, nil})
		q := x.w.Process("client")
		l := q.NewLoop("l")
		x.do(l, func() {
			c := q.Transport(l).Dial(p.Name, &listen{&client, nil})
			c.Send([]byte("1"))
			c.Send([]byte("2"))
			c.Close()
			c.Send([]byte("3"))
			c.Close()
		})
		x.wait("the close", func() bool { return server.has("closed") })
		x.linger(q, 20*time.Millisecond)
		server.expect(x, "message 1", "message 2", "closed")
		client.expect(x) // no OnClose for a Close of one's own
	}},
	{"NothingComesAfterACloseOfOnesOwn", func(x *run) {
		// A handler that has been forgotten would be called.
		var server, client note
		p, _ := x.server("server", &listen{&server, func(c env.Conn, _ []byte) {
			for range 10 {
				c.Send([]byte("late"))
			}
		}})
		q := x.w.Process("client")
		l := q.NewLoop("l")
		var c env.Conn
		x.do(l, func() {
			c = q.Transport(l).Dial(p.Name, &listen{&client, func(c env.Conn, _ []byte) { c.Close() }})
			c.Send([]byte("go"))
		})
		x.wait("the close", func() bool { return server.has("closed") })
		x.linger(q, 20*time.Millisecond)
		client.expect(x, "message late")
	}},
	{"ADialToNobodyIsRefusedLater", func(x *run) {
		// A TaskManager would wait for ever for a JobManager that is not there.
		var client note
		q := x.w.Process("client")
		l := q.NewLoop("l")
		x.do(l, func() {
			c := q.Transport(l).Dial("nobody", &listen{&client, nil})
			c.Send([]byte("lost"))
			client.add("end of the callback")
		})
		x.wait("the refusal", func() bool { return client.len() >= 2 })
		x.linger(q, 20*time.Millisecond)
		client.expect(x, "end of the callback", "closed")
	}},
	{"ACrashDeliversAPrefixAndOneClose", func(x *run) {
		// A receiver would miss records in the middle of a channel and never know.
		var server, client note
		p, _ := x.server("server", &listen{&server, nil})
		q := x.w.Process("client")
		l := q.NewLoop("l")
		sent := 0
		var pump func()
		var c env.Conn
		pump = func() {
			c.Send(binary.BigEndian.AppendUint32(nil, uint32(sent)))
			sent++
			l.After(20*time.Microsecond, pump)
		}
		l.Post(func() {
			c = q.Transport(l).Dial(p.Name, &listen{&client, nil})
			pump()
		})
		x.wait("some messages", func() bool { return server.len() > 20 })
		x.w.Crash("client")
		x.wait("the close", func() bool { return server.has("closed") })
		x.linger(p, 20*time.Millisecond)
		all := server.all()
		for i, s := range all[:len(all)-1] {
			if s != "message "+string(binary.BigEndian.AppendUint32(nil, uint32(i))) {
				x.Fatalf("message %d is %q", i, s)
			}
		}
		if all[len(all)-1] != "closed" {
			x.Fatalf("the end is %q", all[len(all)-1])
		}
		if client.len() != 0 {
			x.Fatalf("the dead one was told %q", client.all())
		}
	}},
	{"TheDiallerLearnsOfACrashAndMayDialAgain", func(x *run) {
		// Only broken connections and heartbeats carry news of death.
		var server, client note
		p, _ := x.server("server", &listen{&server, nil})
		q := x.w.Process("client")
		l := q.NewLoop("l")
		var c env.Conn
		x.do(l, func() {
			c = q.Transport(l).Dial(p.Name, &listen{&client, nil})
			c.Send([]byte("1"))
		})
		x.wait("the message", func() bool { return server.len() == 1 })
		x.w.Crash("server")
		x.wait("the close", func() bool { return client.len() == 1 })
		x.do(l, func() { c.Send([]byte("2")) })
		x.linger(q, 20*time.Millisecond)
		client.expect(x, "closed")
		server.expect(x, "message 1")

		again, _ := x.server("server", &listen{&server, nil})
		x.do(l, func() { q.Transport(l).Dial(again.Name, &listen{&client, nil}).Send([]byte("3")) })
		x.wait("the message", func() bool { return server.len() == 2 })
		server.expect(x, "message 1", "message 3")
	}},
	{"AClosedLoopClosesItsConnections", func(x *run) {
		// A peer would keep channels to a task of an older generation.
		var server, client note
		p, _ := x.server("server", &listen{&server, nil})
		q := x.w.Process("client")
		l := q.NewLoop("l")
		x.do(l, func() { q.Transport(l).Dial(p.Name, &listen{&client, nil}).Send([]byte("1")) })
		x.wait("the message", func() bool { return server.len() == 1 })
		l.Close()
		x.wait("the close", func() bool { return server.len() == 2 })
		x.linger(p, 20*time.Millisecond)
		server.expect(x, "message 1", "closed")
		client.expect(x)
	}},
	{"ConnectionsAreToldApart", func(x *run) {
		// Answers to one peer would go to another.
		p := x.w.Process("server")
		l := p.NewLoop("l")
		x.do(l, func() {
			p.Transport(l).Listen(func(c env.Conn) env.Handler {
				return &listen{&note{}, func(_ env.Conn, msg []byte) { c.Send(append([]byte("for "), msg...)) }}
			})
		})
		var notes [3]note
		for i := range notes {
			q := x.w.Process(fmt.Sprint("client", i))
			l := q.NewLoop("l")
			l.Post(func() { q.Transport(l).Dial(p.Name, &listen{&notes[i], nil}).Send(fmt.Append(nil, i)) })
		}
		x.wait("answers", func() bool { return notes[0].len() == 1 && notes[1].len() == 1 && notes[2].len() == 1 })
		for i := range notes {
			notes[i].expect(x, fmt.Sprint("message for ", i))
		}
	}},
}
