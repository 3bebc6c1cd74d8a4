package sim

import (
	"errors"
	"time"

	"github.com/onefold/onefold/engine/env"
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

// path is what is wrong on the way from one node to another.
type path struct {
	cuts uint8 // how many partitions cut it
	slow int   // delay factor above 1
}

// network is all links and what is wrong between nodes.
type network struct {
	links []*Link // the dialling ends
	dead  int
}

// Listen hands connections that arrive at a port of the node to accept, on loop. A second call replaces the first.
func (n *Node) Listen(port Port, loop *Loop, accept func(*Link) LinkHandler) {
	if loop.mute() {
		return
	}
	for i := range loop.inc.listen {
		if loop.inc.listen[i].port == port {
			loop.inc.listen[i] = listener{port, loop, accept}
			return
		}
	}
	loop.inc.listen = append(loop.inc.listen, listener{port, loop, accept})
}

// Cut cuts the way from one node to another; both ways make a partition. Links that cross it stall, and break at both
// ends when it stays longer than a drawn bound. Each Cut needs one Mend.
func (w *World) Cut(from, to *Node) {
	p := from.path(to)
	p.cuts++
	w.record.entry(w.now, from.index, entryCut, uint64(to.index), uint64(p.cuts), 0, 0)
	if p.cuts > 1 {
		return
	}
	for _, l := range w.net.links {
		if l.crosses(from, to) {
			l.stall()
		}
	}
}

// Mend undoes one Cut.
func (w *World) Mend(from, to *Node) {
	p := from.path(to)
	if p.cuts == 0 {
		return
	}
	p.cuts--
	w.record.entry(w.now, from.index, entryMend, uint64(to.index), uint64(p.cuts), 0, 0)
	if p.cuts > 0 {
		return
	}
	for _, l := range w.net.links {
		l.release(from, to)
		l.peer.release(from, to)
	}
}

// MendAll undoes all cuts and slow ways.
func (w *World) MendAll() {
	for _, from := range w.nodes {
		for i := range from.paths {
			for from.paths[i].cuts > 0 {
				w.Mend(from, w.nodes[i])
			}
			from.paths[i].slow = 0
		}
	}
}

// SlowPath multiplies the delay of each message from one node to another; 1 is healthy.
func (w *World) SlowPath(from, to *Node, factor int) { from.path(to).slow = factor }

// BreakLinks breaks all connections between two nodes now; both sides can dial again at once. It returns how many.
func (w *World) BreakLinks(a, b *Node) int {
	broken := 0
	for _, l := range w.net.links {
		if (l.crosses(a, b) || l.crosses(b, a)) && !l.over() {
			l.Break(ErrReset)
			broken++
		}
	}
	return broken
}

func (n *Node) path(to *Node) *path {
	for len(n.paths) <= to.index {
		n.paths = append(n.paths, path{})
	}
	return &n.paths[to.index]
}

func (n *Node) cutTo(to *Node) bool { return to.index < len(n.paths) && n.paths[to.index].cuts > 0 }

// delay is how long message number seq of a link is under way.
func (w *World) delay(l *Link, seq uint64, sizeBytes int) time.Duration {
	v := w.Draw(kindDelay, l.key, seq, 0)
	d := Between(v, w.o.DelayMin, w.o.DelayMax)
	if l.node == l.peer.node {
		d /= 8
	}
	if v&63 == 0 {
		d *= 8
	}
	d += time.Duration(sizeBytes) * time.Millisecond / time.Duration(w.o.BytesPerMilli)
	if to := l.peer.node.index; to < len(l.node.paths) && l.node.paths[to].slow > 1 {
		d *= time.Duration(l.node.paths[to].slow)
	}
	return d
}

// crash breaks what the process of a node had open. The peers are told after a drawn time, and of what was under way from
// the node a prefix still arrives.
func (net *network) crash(n *Node) {
	for _, l := range net.links {
		if l.node == n {
			l.abandon()
		}
		if l.peer.node == n {
			l.peer.abandon()
		}
	}
	n.held = nil
}

// closeLoop closes the connections of a loop.
func (net *network) closeLoop(loop *Loop) {
	for _, l := range net.links {
		if l.loop == loop {
			l.Close()
		}
		if l.peer.loop == loop {
			l.peer.Close()
		}
	}
}

func (net *network) add(l *Link) {
	if net.dead > 64 && net.dead > len(net.links)/2 {
		kept := make([]*Link, 0, len(net.links))
		for _, o := range net.links {
			if !o.counted {
				kept = append(kept, o)
			}
		}
		net.links, net.dead = kept, 0
	}
	net.links = append(net.links, l)
}

// What happens to the network and to requests, as entries.
var (
	entryCut    = trace.NewKind("cut", "to", "cuts", "", "")
	entryMend   = trace.NewKind("mend", "to", "cuts", "", "")
	entryStruck = trace.NewKind("struck", "request", "effect", "delay", "")
)

var _ env.Transport = (*transport)(nil)
