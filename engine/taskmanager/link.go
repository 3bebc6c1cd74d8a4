package taskmanager

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/wire"
)

// link is the connection to one JobManager, made again whenever it is lost.
type link struct {
	t     *TaskManager
	addr  env.Addr
	conn  env.Conn // nil while there is none
	heard env.Instant
}

func (l *link) dial() {
	l.heard = l.t.p.Now()
	l.conn = l.t.net.Dial(l.addr, l)
	l.send(&wire.Register{TaskManager: l.t.p.Name, Nonce: l.t.p.Nonce, Slots: l.t.cfg.Slots, Followed: l.t.followed})
}

func (l *link) send(m wire.Message) {
	if l.conn != nil {
		l.conn.Send(wire.Encode(m))
	}
}

// tick gives up a connection over which nothing comes: its other end may be gone without a word.
func (l *link) tick(now env.Instant) {
	if l.conn != nil && now.Sub(l.heard) > l.t.cfg.HeartbeatTimeout {
		l.conn.Close()
		l.lost()
	}
}

func (l *link) lost() {
	l.conn = nil
	l.t.loop.After(l.t.cfg.Reconnect, l.dial)
}

// OnClose implements env.Handler.
func (l *link) OnClose(c env.Conn, _ error) {
	if c == l.conn {
		l.lost()
	}
}

// OnMessage implements env.Handler.
func (l *link) OnMessage(c env.Conn, frame []byte) {
	if c != l.conn {
		return
	}
	m, err := wire.Decode(frame)
	if err != nil {
		l.t.p.Log("taskmanager %s: %v from %s", l.t.p.Name, err, l.addr)
		l.conn.Close()
		l.lost()
		return
	}
	l.heard = l.t.p.Now()
	switch m := m.(type) {
	case *wire.Beat:
		if m.Active {
			l.t.follow(l, m.Generation)
		}
	case *wire.Deploy:
		if l.t.follow(l, m.Generation) {
			l.t.deploy(m)
		}
	case *wire.Trigger:
		if l.t.follow(l, m.Generation) {
			l.t.trigger(m)
		}
	case *wire.Notice:
		if l.t.follow(l, m.Generation) {
			l.t.notice(m)
		}
	case *wire.Freed:
		if l.t.follow(l, m.Generation) {
			l.t.freed(m)
		}
	case *wire.Cancel:
		if l.t.follow(l, m.Generation) {
			l.t.next = nil
			l.t.cancel()
			l.t.ended()
		}
	}
}
