package sim

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// end notes what happens at one end of a link.
type end struct {
	w    *World
	got  []int
	at   []env.Instant
	errs []error
	then func(l *Link, msg int)
}

func (e *end) OnLinkMessage(l *Link, msg any) {
	e.got, e.at = append(e.got, msg.(int)), append(e.at, e.w.now)
	if e.then != nil {
		e.then(l, msg.(int))
	}
}

func (e *end) OnLinkClose(_ *Link, err error) { e.errs = append(e.errs, err) }

// pair is two nodes; b listens and a dials.
type pair struct {
	w      *World
	a, b   *Node
	la, lb *Loop
	ea, eb *end
	link   *Link
}

func newPair(seed uint64) *pair {
	w := New(Options{Seed: seed, KeepTrace: true})
	p := &pair{w: w, a: w.NewNode("a", nil), b: w.NewNode("b", nil), ea: &end{w: w}, eb: &end{w: w}}
	p.a.Start()
	p.b.Start()
	p.la, p.lb = p.a.NewLoop("l"), p.b.NewLoop("l")
	p.b.Listen(PortKafka, p.lb, func(*Link) LinkHandler { return p.eb })
	p.link = w.Dial(p.la, "b", PortKafka, p.ea)
	return p
}

func (p *pair) send(from, to int) {
	p.la.Post(func() {
		for i := from; i < to; i++ {
			p.link.Send(i, 10)
		}
	})
	p.w.RunFor(0)
}

// If this failed, a short partition would be felt as a break, or as nothing.
func TestAShortCutHoldsUp(t *testing.T) {
	p := newPair(1)
	p.send(0, 3)
	p.w.RunFor(100 * time.Millisecond)
	p.w.Cut(p.a, p.b)
	p.send(3, 6)
	p.w.RunFor(time.Second)
	if len(p.eb.got) != 3 {
		t.Fatalf("arrived across a cut: %v", p.eb.got)
	}
	p.w.Mend(p.a, p.b)
	p.w.RunFor(time.Minute)
	if !slices.Equal(p.eb.got, []int{0, 1, 2, 3, 4, 5}) || len(p.eb.errs)+len(p.ea.errs) != 0 {
		t.Fatalf("got %v, closed %v %v", p.eb.got, p.ea.errs, p.eb.errs)
	}
}

// If this failed, nobody would ever notice a partition.
func TestALongCutBreaksBothEnds(t *testing.T) {
	for _, forth := range []bool{true, false} {
		p := newPair(1)
		p.send(0, 3)
		p.w.RunFor(100 * time.Millisecond)
		if forth {
			p.w.Cut(p.a, p.b)
		} else {
			p.w.Cut(p.b, p.a) // the way of the acknowledgements
		}
		p.w.RunFor(30 * time.Second)
		if len(p.ea.errs) != 1 || len(p.eb.errs) != 1 || !errors.Is(p.ea.errs[0], ErrTimeout) {
			t.Fatalf("forth %v: closed %v %v", forth, p.ea.errs, p.eb.errs)
		}
		again := &end{w: p.w}
		p.w.Dial(p.la, "b", PortKafka, again)
		p.w.RunFor(time.Second)
		if len(again.errs) != 0 {
			t.Fatalf("forth %v: a dial across a cut ends at once: %v", forth, again.errs)
		}
		p.w.RunFor(30 * time.Second)
		if len(again.errs) != 1 {
			t.Fatalf("forth %v: a dial across a cut: %v", forth, again.errs)
		}
	}
}

// If this failed, one-way partitions would be two-way ones.
func TestACutOneWayLetsTheOtherWayPass(t *testing.T) {
	p := newPair(1)
	p.eb.then = func(l *Link, msg int) { l.Send(msg, 10) }
	p.w.RunFor(100 * time.Millisecond)
	p.w.Cut(p.b, p.a)
	p.send(0, 3)
	p.w.RunFor(time.Second)
	if len(p.eb.got) != 3 || len(p.ea.got) != 0 {
		t.Fatalf("b got %v, a got %v", p.eb.got, p.ea.got)
	}
	p.w.Mend(p.b, p.a)
	p.w.RunFor(time.Second)
	if len(p.ea.got) != 3 {
		t.Fatalf("a got %v", p.ea.got)
	}
}

// If this failed, slow links would be words in a plan, or would never end.
func TestASlowWayIsSlow(t *testing.T) {
	p := newPair(1)
	p.w.RunFor(100 * time.Millisecond)
	hits := 0
	p.w.slow(p.a, p.b, time.Second, func() { hits++ })
	from := p.w.now
	p.send(0, 2)
	p.w.RunFor(10 * time.Second)
	if hits != 2 || p.eb.at[0].Sub(from) < time.Second || p.eb.at[0].Sub(from) > 2*time.Second {
		t.Fatalf("%d hits, arrived after %v", hits, p.eb.at[0].Sub(from))
	}
	p.w.Quicken(p.a, p.b)
	from = p.w.now
	p.send(2, 3)
	p.w.RunFor(10 * time.Second)
	if p.eb.at[2].Sub(from) > 100*time.Millisecond {
		t.Fatalf("still slow: %v", p.eb.at[2].Sub(from))
	}
}

// If this failed, a lost request could not be made: the sender would wait for ever, or know.
func TestABreakLosesWhatIsUnderWayAndIsToldToBoth(t *testing.T) {
	p := newPair(1)
	p.send(0, 3)
	p.w.RunFor(100 * time.Millisecond)
	p.la.Post(func() {
		p.link.Send(3, 10)
		p.link.Break(ErrReset)
		p.link.Send(4, 10)
	})
	p.w.RunFor(time.Second)
	if len(p.eb.got) != 3 || len(p.ea.errs) != 1 || len(p.eb.errs) != 1 {
		t.Fatalf("got %v, closed %v %v", p.eb.got, p.ea.errs, p.eb.errs)
	}
}

// If this failed, a crash would take its messages along always, or never.
func TestOfWhatADeadNodeSentAPrefixArrives(t *testing.T) {
	seen := [4]int{}
	for seed := range uint64(200) {
		p := newPair(seed)
		p.w.RunFor(100 * time.Millisecond)
		p.la.Post(func() {
			for i := range 3 {
				p.link.Send(i, 10)
			}
			p.a.Crash()
		})
		p.w.RunFor(10 * time.Second)
		for i, v := range p.eb.got {
			if i != v {
				t.Fatalf("seed %d: got %v", seed, p.eb.got)
			}
		}
		if len(p.eb.errs) != 1 {
			t.Fatalf("seed %d: closed %v", seed, p.eb.errs)
		}
		seen[len(p.eb.got)]++
	}
	if seen[0] == 0 || seen[3] == 0 {
		t.Fatalf("how many of three arrived: %v", seen)
	}
}

// If this failed, some order of cuts, pauses and crashes would lose a message without a close, reorder messages, or tell of
// a close twice. Nodes pump numbers to each other while faults of all kinds fall on them; then everything heals.
func TestEveryMessageArrivesOrTheEndIsTold(t *testing.T) {
	closes, whole := 0, 0
	for seed := range uint64(300) {
		s := newStorm(seed)
		s.w.Run(env.Instant(20 * time.Second))
		s.heal()
		s.w.RunFor(2 * time.Minute)
		if f := s.w.Failure(); f != nil {
			t.Fatalf("seed %d: %v\n%s", seed, f, f.Stack)
		}
		for _, st := range s.streams {
			if err := st.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if st.receiver != nil && len(st.receiver.errs) == 0 {
				whole++
			} else {
				closes++
			}
		}
		s.w.Close()
		if n := len(s.w.net.wires) - s.w.net.dead; n > len(s.streams) {
			t.Fatalf("seed %d: %d connections are kept", seed, n)
		}
	}
	if closes < 1000 || whole < 1000 {
		t.Fatalf("%d streams ended, %d went on: the storm is too weak or too strong", closes, whole)
	}
}

// storm is four nodes that dial each other again and again under faults.
type storm struct {
	w       *World
	nodes   []*Node
	streams []*stream
	over    bool
}

// stream is what one connection carried from its dialler.
type stream struct {
	link     *Link
	sender   *end
	receiver *end
	sent     int
	inc      *incarnation
	accepted *incarnation
}

func newStorm(seed uint64) *storm {
	s := &storm{w: New(Options{Seed: seed})}
	for i := range 4 {
		s.nodes = append(s.nodes, s.w.NewNode(fmt.Sprint("n", i), nil))
		s.start(i)
	}
	for k := range 40 {
		s.w.At(env.Instant(time.Duration(s.draw(uint64(k), 0, 15000))*time.Millisecond), func() { s.fault(uint64(k)) })
	}
	return s
}

func (s *storm) draw(a, b, n uint64) uint64 { return s.w.Draw(env.KindScenario, a, b, 0) % n }

func (s *storm) start(i int) {
	n := s.nodes[i]
	n.Start()
	l := n.NewLoop("l")
	inc := n.inc
	n.Listen(PortKafka, l, func(l *Link) LinkHandler {
		for _, st := range s.streams {
			if st.link.peer == l {
				st.receiver, st.accepted = &end{w: s.w}, inc
				return st.receiver
			}
		}
		return nil // the stream is not known: dialled in a callback that has not ended
	})
	var dial func(k uint64)
	dial = func(k uint64) {
		st := &stream{sender: &end{w: s.w}, inc: inc}
		st.link = s.w.Dial(l, s.nodes[s.draw(k, uint64(i)+10, 4)].name, PortKafka, st.sender)
		s.streams = append(s.streams, st)
		s.pump(l, st)
		if k < 15 && !s.over {
			l.After(time.Second, func() { dial(k + 1) })
		}
	}
	l.Post(func() { dial(0) })
}

func (s *storm) pump(l *Loop, st *stream) {
	if st.link.Closed() || st.sent > 100 {
		return
	}
	st.link.Send(st.sent, 10)
	st.sent++
	l.After(Between(s.w.Draw(env.KindScenario, l.key, uint64(st.sent), 1), 0, 400*time.Millisecond), func() { s.pump(l, st) })
}

func (s *storm) fault(k uint64) {
	a, b := int(s.draw(k, 1, 4)), int(s.draw(k, 2, 4))
	for1 := time.Duration(s.draw(k, 3, 8000)) * time.Millisecond
	switch s.draw(k, 4, 5) {
	case 0:
		if s.nodes[a].Up() {
			s.nodes[a].Crash()
			s.w.At(s.w.now.Add(for1), func() { s.start(a) })
		}
	case 1:
		s.nodes[a].Pause(s.w.now.Add(for1))
	case 2:
		s.w.Cut(s.nodes[a], s.nodes[b])
		s.w.At(s.w.now.Add(for1), func() { s.w.Mend(s.nodes[a], s.nodes[b]) })
	case 3:
		s.w.BreakLinks(s.nodes[a], s.nodes[b])
	case 4:
		s.w.SlowWay(s.nodes[a], s.nodes[b], for1/4)
	}
}

func (s *storm) heal() {
	s.over = true
	s.w.MendAll()
	for _, n := range s.nodes {
		n.Resume()
	}
}

func (st *stream) check() error {
	var got []int
	if st.receiver != nil {
		got = st.receiver.got
		if len(st.receiver.errs) > 1 {
			return fmt.Errorf("closed %v", st.receiver.errs)
		}
	}
	if len(st.sender.errs) > 1 {
		return fmt.Errorf("closed %v", st.sender.errs)
	}
	for i, v := range got {
		if i != v {
			return fmt.Errorf("got %v", got)
		}
	}
	if len(got) == st.sent {
		return nil
	}
	if !st.inc.dead && len(st.sender.errs) == 0 {
		return fmt.Errorf("%d of %d arrived and the sender was not told", len(got), st.sent)
	}
	if st.receiver != nil && !st.accepted.dead && len(st.receiver.errs) == 0 {
		return fmt.Errorf("%d of %d arrived and the receiver was not told", len(got), st.sent)
	}
	return nil
}
