package exchange

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/sim"
)

// pair is two processes with an exchange each, and the ends of channels between them.
type pair struct {
	t     *testing.T
	w     *sim.World
	procs [2]*proc.Process
	x     [2]*Exchange
}

func newPair(t *testing.T, seed uint64, opt Options) *pair {
	p := &pair{t: t, w: sim.New(sim.Options{Seed: seed, Checks: true})}
	for i := range 2 {
		p.w.NewNode(string(rune('a'+i)), func(q *proc.Process) {
			p.procs[i], p.x[i] = q, New(q, q.NewLoop("main"), opt)
		}).Start()
	}
	p.w.Run(env.Instant(time.Millisecond))
	return p
}

func (p *pair) run(d time.Duration) {
	p.t.Helper()
	p.w.RunFor(d)
	if f := p.w.Failure(); f != nil {
		p.t.Fatalf("%v\n%s", f, f.Stack)
	}
}

func channel(from, to int32) graph.Channel {
	return graph.Channel{Edge: 3, From: id.Subtask{Vertex: 0, Index: from}, To: id.Subtask{Vertex: 1, Index: to}}
}

// tap is one end of a channel with what it was told.
type tap struct {
	end    End
	s      *Sender
	r      *Receiver
	loop   env.Loop
	broken []error
	calls  int
	got    []int64
	most   int // batches that waited at once
}

func (p *pair) tap(node int, g id.Generation, c graph.Channel) *tap {
	k := &tap{loop: p.procs[node].NewLoop("task")}
	k.end = End{
		Loop: k.loop, Pool: &stream.Pool{Poison: true}, Generation: g, Channel: c,
		Changed: func() {
			k.calls++
			if k.r != nil {
				k.most = max(k.most, k.r.Pending())
			}
		},
		Broken: func(err error) { k.broken = append(k.broken, err) },
	}
	return k
}

func (p *pair) output(node, to int, g id.Generation, c graph.Channel) *tap {
	k := p.tap(node, g, c)
	k.s = p.x[node].Output(p.procs[to].Name, k.end)
	return k
}

func (p *pair) input(node int, g id.Generation, c graph.Channel) *tap {
	k := p.tap(node, g, c)
	k.r = p.x[node].Input(k.end)
	k.loop.Post(k.r.Open)
	return k
}

// send sends n batches of one record each, from number first on.
func (k *tap) send(first, n int) {
	k.loop.Post(func() {
		for i := range n {
			b := k.end.Pool.Get()
			b.Begin(&stream.Head{})
			b.Data = binary.BigEndian.AppendUint64(b.Data, uint64(first+i))
			b.Commit()
			k.s.Send(b)
		}
	})
}

// read takes at most n batches.
func (k *tap) read(n int) {
	k.loop.Post(func() {
		for ; n > 0 && k.r.Next() != nil; n-- {
			c := k.r.Next().Cursor()
			for c.More() {
				c.Next()
				k.got = append(k.got, int64(binary.BigEndian.Uint64(c.Payload())))
			}
			k.r.Done()
		}
	})
}

// ways are the three ways in which a channel can be carried.
func ways(t *testing.T, fn func(t *testing.T, p *pair, receiver int)) {
	t.Run("handover", func(t *testing.T) { fn(t, newPair(t, 1, Options{Credits: 3}), 0) })
	t.Run("frames", func(t *testing.T) { fn(t, newPair(t, 1, Options{Credits: 3, Frames: true}), 0) })
	t.Run("network", func(t *testing.T) { fn(t, newPair(t, 1, Options{Credits: 3}), 1) })
}

// If this failed, a receiver that does not read would be sent ever more, or a channel would lose, double or reorder.
func TestUnreadChannelTakesNoMoreThanItsCredits(t *testing.T) {
	ways(t, func(t *testing.T, p *pair, to int) {
		out := p.output(0, to, 1, channel(0, 0))
		out.send(0, 10)
		p.run(5 * time.Millisecond)
		in := p.input(to, 1, channel(0, 0)) // the receiver may come later
		p.run(20 * time.Millisecond)
		if in.most != 3 || in.r.Pending() != 3 || out.s.Room() || out.calls != 0 {
			t.Fatalf("%d batches wait on 3 credits, room is %v", in.r.Pending(), out.s.Room())
		}
		in.read(1)
		p.run(10 * time.Millisecond)
		if in.r.Pending() != 3 || len(in.got) != 1 {
			t.Fatalf("after one was read %d wait", in.r.Pending())
		}
		for range 9 {
			in.read(2)
			p.run(5 * time.Millisecond)
		}
		if fmt.Sprint(in.got) != "[0 1 2 3 4 5 6 7 8 9]" || in.most != 3 {
			t.Fatalf("read %v, at most %d waited", in.got, in.most)
		}
		if !out.s.Room() || !out.s.Idle() || out.calls == 0 {
			t.Fatalf("all was read and the sender has room %v, idle %v, was called %d times", out.s.Room(), out.s.Idle(), out.calls)
		}
	})
}

// If this failed, a sender would run before the receiving task is ready to read.
func TestNothingIsSentBeforeTheReceiverOpens(t *testing.T) {
	ways(t, func(t *testing.T, p *pair, to int) {
		in := p.tap(to, 1, channel(0, 0))
		in.r = p.x[to].Input(in.end)
		out := p.output(0, to, 1, channel(0, 0))
		out.send(0, 2)
		p.run(20 * time.Millisecond)
		if in.r.Pending() != 0 {
			t.Fatalf("%d batches came before the receiver was open", in.r.Pending())
		}
		in.loop.Post(in.r.Open)
		p.run(20 * time.Millisecond)
		if in.r.Pending() != 2 {
			t.Fatalf("%d of 2 batches came", in.r.Pending())
		}
	})
}

// If this failed, records of an older generation would enter a newer one.
func TestOlderGenerationDoesNotGetIn(t *testing.T) {
	ways(t, func(t *testing.T, p *pair, to int) {
		in := p.input(to, 5, channel(0, 0))
		p.run(2 * time.Millisecond)
		old := p.output(0, to, 4, channel(0, 0))
		old.send(100, 2)
		p.run(20 * time.Millisecond)
		now := p.output(0, to, 5, channel(0, 0))
		now.send(0, 2)
		p.run(20 * time.Millisecond)
		in.read(9)
		p.run(5 * time.Millisecond)
		if fmt.Sprint(in.got) != "[0 1]" || len(in.broken) != 0 {
			t.Fatalf("read %v, broken %v", in.got, in.broken)
		}
		if to == 1 && len(old.broken) != 1 {
			t.Fatalf("the older sender was told %v", old.broken)
		}
	})
}

// If this failed, a task would wait for ever for a neighbour whose process died.
func TestBrokenConnectionFailsBothEnds(t *testing.T) {
	p := newPair(t, 1, Options{})
	out, in := p.output(0, 1, 1, channel(0, 0)), p.input(1, 1, channel(0, 0))
	back, here := p.output(1, 0, 1, channel(1, 1)), p.input(0, 1, channel(1, 1))
	out.send(0, 1)
	p.run(10 * time.Millisecond)
	p.w.Node("b").Crash()
	p.run(30 * time.Second)
	if len(out.broken) != 1 || len(here.broken) != 1 {
		t.Fatalf("sender was told %v, receiver %v", out.broken, here.broken)
	}
	_, _ = in, back
}

// If this failed, stopping the tasks of one process would look like its death in another.
func TestClosedEndsDoNotBreakTheOtherSide(t *testing.T) {
	ways(t, func(t *testing.T, p *pair, to int) {
		out, in := p.output(0, to, 1, channel(0, 0)), p.input(to, 1, channel(0, 0))
		out.send(0, 5)
		p.run(10 * time.Millisecond)
		out.loop.Post(out.s.Close)
		p.run(30 * time.Second)
		in.loop.Post(in.r.Close)
		p.run(30 * time.Second)
		if len(in.broken) != 0 || len(out.broken) != 0 {
			t.Fatalf("told %v and %v", in.broken, out.broken)
		}
		if n := len(p.x[0].links) + len(p.x[1].links) + len(p.x[0].senders) + len(p.x[to].receivers); n != 0 {
			t.Fatalf("%d things are left in the exchanges", n)
		}
	})
}

// forger sends frames by hand.
type forger struct{ closed bool }

func (f *forger) OnMessage(env.Conn, []byte) {}
func (f *forger) OnClose(env.Conn, error)    { f.closed = true }

// If this failed, bytes damaged on the way would be taken for records.
func TestDamagedFrameBreaksTheConnection(t *testing.T) {
	p := newPair(t, 1, Options{})
	in := p.input(1, 1, channel(0, 0))
	p.run(time.Millisecond)
	loop := p.procs[0].NewLoop("forger")
	f := &forger{}
	loop.Post(func() {
		c := p.procs[0].Transport(loop).Dial("b", f)
		send := func(f frame) []byte { f.generation = 1; return f.append(nil) }
		c.Send(send(frame{kind: hello}))
		c.Send(send(frame{kind: open, channel: wireOf(channel(0, 0))}))
		bad := send(frame{kind: data, channel: wireOf(channel(0, 0)), sequence: 1, payload: make([]byte, 64)})
		bad[len(bad)-1]++
		c.Send(bad)
	})
	p.run(30 * time.Second)
	if len(in.broken) != 1 || !strings.Contains(in.broken[0].Error(), "wrong checksum") || !f.closed {
		t.Fatalf("told %v, connection closed %v", in.broken, f.closed)
	}
}
