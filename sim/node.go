package sim

import (
	"strconv"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/trace"
)

// Node is a machine with a disk, on which one process at a time runs.
type Node struct {
	w      *World
	name   string
	key    uint64
	index  int
	boot   func(*proc.Process)
	starts uint64
	inc    *incarnation // nil before the first start
	disk   Disk
	paused bool
	pauses uint64
	slow   int
	slowed func()        // told of each callback that takes longer
	wall   time.Duration // how far the wall clock is ahead
	ways   []way         // to each other node, by index
	held   []heldSend    // sent by a paused process that has not stopped yet
}

// incarnation is one process: what a node runs between a start and a crash.
type incarnation struct {
	node   *Node
	number uint64
	dead   bool
	loops  []*Loop
	names  uint64
	listen []listener
	proc   *proc.Process
	dials  uint64
}

// NewNode adds a node, which is down until Start. boot is run on a loop of the node at each start and makes the process;
// nil makes none.
func (w *World) NewNode(name string, boot func(*proc.Process)) *Node {
	n := &Node{w: w, name: name, key: NameKey(name), index: len(w.nodes), boot: boot, slow: 1}
	w.nodes = append(w.nodes, n)
	return n
}

// Node is the node of that name, or nil.
func (w *World) Node(name string) *Node {
	for _, n := range w.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// Nodes are all nodes in the order in which they were made. The slice must not be changed.
func (w *World) Nodes() []*Node { return w.nodes }

// World is the world that the node is in.
func (n *Node) World() *World { return n.w }

// Name is the node's name, by which others dial it.
func (n *Node) Name() string { return n.name }

// Index numbers the nodes of a world from 0, in the order in which they were made.
func (n *Node) Index() int { return n.index }

// Key names the node in draws.
func (n *Node) Key() uint64 { return n.key }

// Up says whether a process runs, be it paused.
func (n *Node) Up() bool { return n.inc != nil && !n.inc.dead }

// Paused says whether the process is held.
func (n *Node) Paused() bool { return n.paused }

// Incarnation counts the starts; 0 before the first.
func (n *Node) Incarnation() uint64 { return n.starts }

// Process is the process that runs, or nil.
func (n *Node) Process() *proc.Process {
	if !n.Up() {
		return nil
	}
	return n.inc.proc
}

// Disk is the node's disk.
func (n *Node) Disk() *Disk { return &n.disk }

// Start starts a process, if none runs. boot runs later, at this instant.
func (n *Node) Start() {
	if n.Up() {
		return
	}
	n.starts++
	n.inc = &incarnation{node: n, number: n.starts}
	n.inc.proc = n.newProcess(n.inc)
	defer n.w.record.back(n.w.record.current)
	n.w.record.entry(n.w.now, n.index, entryStart, n.starts, 0, 0, 0)
	boot, p := n.boot, n.inc.proc
	if boot != nil {
		n.newLoop("boot").enqueueBoot(func() { boot(p) })
	}
}

func (l *Loop) enqueueBoot(fn func()) {
	l.enqueue(item{fn: fn, loop: l, kind: entryBoot, cause: l.w.record.current})
}

// NewLoop makes a loop of the running process. On a node that is down it makes a closed one.
func (n *Node) NewLoop(name string) *Loop { return n.newLoop(name) }

func (n *Node) newLoop(name string) *Loop {
	inc := n.inc
	if inc == nil {
		inc = &incarnation{node: n, dead: true}
	}
	return inc.newLoop(name)
}

func (inc *incarnation) newLoop(name string) *Loop {
	inc.names++
	l := &Loop{w: inc.node.w, node: inc.node, inc: inc, name: name}
	l.key = mix(inc.node.key^NameKey(name), inc.number<<32^inc.names^k1)
	if inc.dead {
		l.closed = true
		return l
	}
	inc.loops = append(inc.loops, l)
	inc.node.w.record.name(l.key, name)
	if len(inc.loops)&63 == 0 {
		inc.forgetClosed()
	}
	return l
}

func (inc *incarnation) forgetClosed() {
	kept := inc.loops[:0]
	for _, l := range inc.loops {
		if !l.closed {
			kept = append(kept, l)
		}
	}
	clear(inc.loops[len(kept):])
	inc.loops = kept
}

// Crash ends the process at this instant, be it in the middle of one of its callbacks: whatever that still asks of its
// ports has no effect. Loops, timers and memory are lost, the disk keeps what was synced, peers notice later.
func (n *Node) Crash() {
	if !n.Up() {
		return
	}
	inc := n.inc
	inc.dead = true
	n.paused = false
	n.pauses++
	defer n.w.record.back(n.w.record.current)
	n.w.record.entry(n.w.now, n.index, entryCrash, n.starts, 0, 0, 0)
	n.w.net.crash(inc)
	for _, l := range inc.loops {
		l.drop()
	}
	inc.loops = nil
	inc.listen = nil
	n.disk.crash(n.w.Draw(kindDisk, n.key, n.starts, 0))
}

// Restart crashes the process if one runs and starts the next one.
func (n *Node) Restart() {
	n.Crash()
	n.Start()
}

// Pause holds the process: its callbacks run after Resume, or at the instant until if that is not 0. Its peers notice
// nothing. What it still sends in the callback that runs leaves when it is resumed.
func (n *Node) Pause(until env.Instant) {
	if !n.Up() {
		return
	}
	n.paused = true
	n.pauses++
	defer n.w.record.back(n.w.record.current)
	n.w.record.entry(n.w.now, n.index, entryPause, n.starts, uint64(until), 0, 0)
	if until != 0 {
		pause := n.pauses
		n.w.At(until, func() {
			if n.pauses == pause {
				n.Resume()
			}
		})
	}
}

// Resume lets a paused process go on.
func (n *Node) Resume() {
	if !n.paused {
		return
	}
	n.paused = false
	n.pauses++
	defer n.w.record.back(n.w.record.current)
	n.w.record.entry(n.w.now, n.index, entryResume, n.starts, 0, 0, 0)
	n.release()
	if n.Up() && !n.paused {
		for _, l := range n.inc.loops {
			l.arm()
		}
	}
}

// release does what the process would have done when it was held in mid-callback. A hook among that may strike again.
func (n *Node) release() {
	inc, held := n.inc, n.held
	n.held = nil
	for i, h := range held {
		if inc.dead {
			return
		}
		if n.paused {
			n.held = append(held[i:], n.held...)
			return
		}
		if h.send != nil {
			h.send()
		} else {
			h.link.put(h.it, h.sizeBytes)
		}
	}
}

// Slow multiplies the time of each callback by factor; 1 is healthy.
func (n *Node) Slow(factor int) { n.slow, n.slowed = max(factor, 1), nil }

// ShiftWall lets the node's wall clock jump by d. The monotonic clock goes on as before.
func (n *Node) ShiftWall(d time.Duration) { n.wall += d }

// String is the node's name and incarnation.
func (n *Node) String() string { return n.name + "#" + strconv.FormatUint(n.starts, 10) }

// What happens to a node, as entries.
var (
	entryStart  = trace.NewKind("start", "incarnation", "", "", "")
	entryCrash  = trace.NewKind("crash", "incarnation", "", "", "")
	entryPause  = trace.NewKind("pause", "incarnation", "until", "", "")
	entryResume = trace.NewKind("resume", "incarnation", "", "", "")
)
