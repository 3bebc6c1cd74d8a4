package sim

import (
	"errors"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/trace"
)

// How a connection ends.
var (
	ErrRefused = errors.New("connection refused")
	ErrReset   = errors.New("connection reset")
	ErrEnded   = errors.New("connection closed by peer")
	ErrTimeout = errors.New("connection timed out")
)

// Port tells apart what one node listens for.
type Port uint8

// The ports in use.
const (
	PortTransport Port = 1 + iota // env.Transport
	PortKafka                     // the simulated brokers
)

type listener struct {
	port   Port
	loop   *Loop
	accept func(*Link) LinkHandler
}

// Listen hands connections that arrive at a port of the node to accept, on loop. A second call replaces the first.
func (n *Node) Listen(port Port, loop *Loop, accept func(*Link) LinkHandler) {
	if loop.mute() {
		return
	}
	inc := loop.inc
	inc.listen = slices.DeleteFunc(inc.listen, func(s listener) bool { return s.port == port })
	inc.listen = append(inc.listen, listener{port, loop, accept})
}

// listener finds who listens at a port of the node, or nil.
func (n *Node) listener(port Port) *listener {
	if !n.Up() {
		return nil
	}
	for i := range n.inc.listen {
		if s := &n.inc.listen[i]; s.port == port && !s.loop.closed {
			return s
		}
	}
	return nil
}

// way is what is wrong on the way from one node to another. A nil one is healthy.
type way struct {
	cuts []func() // one for each cut: told of each message that it holds up
	slow []slowness
}

type slowness struct {
	delay time.Duration
	hit   func()
}

func (p *way) isCut() bool { return p != nil && len(p.cuts) > 0 }

func (p *way) hitCut() {
	if p != nil && len(p.cuts) > 0 && p.cuts[0] != nil {
		p.cuts[0]()
	}
}

func (p *way) slowed() time.Duration {
	var d time.Duration
	for _, s := range p.slow {
		d += s.delay
		if s.hit != nil {
			s.hit()
		}
	}
	return d
}

// wayTo is the way to another node, nil when it was never touched.
func (n *Node) wayTo(to *Node) *way {
	if to.index < 0 || to.index >= len(n.ways) {
		return nil
	}
	return &n.ways[to.index]
}

func (n *Node) way(to *Node) *way {
	for len(n.ways) <= to.index {
		n.ways = append(n.ways, way{})
	}
	return &n.ways[to.index]
}

// Cut cuts the way from one node to another; both ways make a partition. What is sent is held up. Links that cross it
// break at both ends when it stays longer than a drawn bound. Each Cut needs one Mend.
func (w *World) Cut(from, to *Node) { w.cut(from, to, nil) }

func (w *World) cut(from, to *Node, hit func()) {
	p := from.way(to)
	p.cuts = append(p.cuts, hit)
	defer w.record.back(w.record.current)
	w.record.entry(w.now, from.index, entryCut, uint64(to.index), uint64(len(p.cuts)), 0, 0)
	for _, c := range w.net.wires {
		if c.between(from, to) {
			c.startStall()
		}
	}
}

// Mend undoes the oldest Cut.
func (w *World) Mend(from, to *Node) {
	p := from.way(to)
	if len(p.cuts) == 0 {
		return
	}
	p.cuts = p.cuts[1:]
	defer w.record.back(w.record.current)
	w.record.entry(w.now, from.index, entryMend, uint64(to.index), uint64(len(p.cuts)), 0, 0)
	if len(p.cuts) > 0 {
		return
	}
	for _, c := range w.net.wires {
		if c.between(from, to) {
			c.mended()
		}
	}
}

// MendAll undoes all cuts and all slowness of ways.
func (w *World) MendAll() {
	for _, from := range w.nodes {
		for i := range from.ways {
			for len(from.ways[i].cuts) > 0 {
				w.Mend(from, w.nodes[i])
			}
			from.ways[i].slow = nil
		}
	}
}

// SlowWay lets each message from one node to another take d longer, until Quicken.
func (w *World) SlowWay(from, to *Node, d time.Duration) { w.slow(from, to, d, nil) }

func (w *World) slow(from, to *Node, d time.Duration, hit func()) {
	p := from.way(to)
	p.slow = append(p.slow, slowness{d, hit})
}

// Quicken undoes the oldest SlowWay.
func (w *World) Quicken(from, to *Node) {
	if p := from.way(to); len(p.slow) > 0 {
		p.slow = p.slow[1:]
	}
}

// BreakLinks breaks all connections between two nodes now; both sides can dial again at once. It returns how many.
func (w *World) BreakLinks(a, b *Node) int {
	broken := 0
	for _, c := range w.net.wires {
		if c.between(a, b) && !c.over {
			c.dialler.Break(ErrReset)
			broken++
		}
	}
	return broken
}

// network is all connections, in the order in which they were dialled.
type network struct {
	wires []*wire
	dead  int // how many of them are over
}

func (net *network) add(c *wire) {
	if net.dead > 64 && net.dead > len(net.wires)/2 {
		net.wires = slices.DeleteFunc(slices.Clone(net.wires), func(c *wire) bool { return c.over })
		net.dead = 0
	}
	net.wires = append(net.wires, c)
}

// crash ends what a process had open. The peers are told after a drawn time, and of what was under way from it a prefix
// still arrives.
func (net *network) crash(inc *incarnation) {
	for _, c := range net.wires {
		for _, l := range [2]*Link{c.dialler, c.acceptor} {
			if l.loop != nil && l.loop.inc == inc {
				l.abandon()
			}
		}
	}
	inc.node.held = nil
}

// closeLoop closes the connections of a loop.
func (net *network) closeLoop(loop *Loop) {
	for _, c := range net.wires {
		for _, l := range [2]*Link{c.dialler, c.acceptor} {
			if l.loop == loop {
				l.Close()
			}
		}
	}
}

// What happens to the network and to requests, as entries.
var (
	entryCut    = trace.NewKind("cut", "to", "cuts", "", "")
	entryMend   = trace.NewKind("mend", "to", "cuts", "", "")
	entryStruck = trace.NewKind("struck", "request", "effect", "delay", "")
)

// IsCut tells whether the way from one node to another is cut.
func (w *World) IsCut(from, to *Node) bool { return from.wayTo(to).isCut() }
