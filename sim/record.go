package sim

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/trace"
)

// Entry is one thing that happened. Cause is the number of the entry that led to it; 0 is the outside.
type Entry struct {
	At         env.Instant
	Number     uint32
	Cause      uint32
	Node       int32 // index; -1 is the world itself
	Kind       trace.Kind
	A, B, C, D uint64
	Text       string // of a log line
}

// record is the trace of a world: a hash always, entries when asked.
type record struct {
	hash    uint64
	count   uint32
	current uint32 // the newest entry of the callback that runs
	keep    bool
	entries []Entry
	names   map[uint64]string // of loops
}

func (r *record) name(loop uint64, name string) {
	if !r.keep {
		return
	}
	if r.names == nil {
		r.names = map[uint64]string{}
	}
	r.names[loop] = name
}

func (r *record) fold(v uint64) { r.hash = mix(r.hash^v, k4) }

// add folds an entry, which becomes the cause of what follows.
func (r *record) add(at env.Instant, node int, k trace.Kind, cause uint32, a, b, c, d uint64) {
	r.count++
	x := mix(uint64(at)^k0, a^k1)
	y := mix(uint64(node)<<32^uint64(k)^k2, b^k3)
	x ^= mix(c^k1, d^k2^uint64(cause)<<1)
	r.hash = mix(r.hash^x, k4^y)
	r.current = r.count
	if r.keep {
		r.entries = append(r.entries, Entry{at, r.count, cause, int32(node), k, a, b, c, d, ""})
	}
}

// callback is the entry of a callback that begins.
func (r *record) callback(at env.Instant, l *Loop, it *item) {
	var c, d uint64
	if it.link != nil {
		c, d = it.link.key, uint64(it.link.peer.node.index)
	}
	r.add(at, l.node.index, it.kind, it.cause, l.key, l.runs, c, d)
}

// entry is something told in the callback that runs.
func (r *record) entry(at env.Instant, node int, k trace.Kind, a, b, c, d uint64) {
	r.add(at, node, k, r.current, a, b, c, d)
}

// back makes an entry before the newest one the cause of what follows.
func (r *record) back(current uint32) { r.current = current }

func (r *record) hook(at env.Instant, node int, e hook.Event) {
	r.add(at, node, entryHook, r.current, uint64(e.Point), uint64(e.Generation), uint64(e.Checkpoint), subtaskNumber(e.Subtask))
}

func subtaskNumber(s id.Subtask) uint64 {
	return uint64(uint32(s.Vertex))<<32 | uint64(uint32(s.Index))
}

// log keeps a line of text with the trace. Words are not folded.
func (r *record) log(at env.Instant, node int, text string) {
	if r.keep {
		r.entries = append(r.entries, Entry{At: at, Number: r.count, Cause: r.current, Node: int32(node), Kind: entryLog, Text: text})
	}
}

// TraceHash folds every delivery, timer, draw, hook and entry so far.
func (w *World) TraceHash() uint64 { return w.record.hash }

// Entries is how many entries there were so far.
func (w *World) Entries() uint64 { return uint64(w.record.count) }

// Trace is the entries kept so far, if Options.KeepTrace. The slice must not be changed.
func (w *World) Trace() []Entry { return w.record.entries }

// Log keeps a line with the trace on behalf of the world.
func (w *World) Log(format string, args ...any) {
	if w.record.keep {
		w.record.log(w.now, -1, fmt.Sprintf(format, args...))
	}
}

// Entry records an entry on behalf of the world, a nemesis or what is on it.
func (w *World) Entry(n *Node, k trace.Kind, a, b, c, d uint64) {
	index := -1
	if n != nil {
		index = n.index
	}
	if w.running == nil {
		defer w.record.back(0)
	}
	w.record.entry(w.now, index, k, a, b, c, d)
}

// Causes is the chain of entries that led to the entry of a number: itself, its cause, the cause of that, to the outside.
func (w *World) Causes(number uint32) []Entry {
	var chain []Entry
	for number != 0 {
		i, found := slices.BinarySearchFunc(w.record.entries, number, func(e Entry, n uint32) int { return cmp.Compare(e.Number, n) })
		if !found {
			break
		}
		chain = append(chain, w.record.entries[i])
		number = w.record.entries[i].Cause
	}
	return chain
}

// WriteTrace prints the entries kept, one aligned line each, below a legend. Without all it leaves out the callbacks,
// that is what the world does, and prints what the engine and the faults did.
func (w *World) WriteTrace(out io.Writer, all bool) error {
	b := bufio.NewWriter(out)
	fmt.Fprintf(b, "# seed %d; time in ms, number of the entry, number of its cause, node, what\n", w.o.Seed)
	for i := range w.record.entries {
		e := &w.record.entries[i]
		if all || e.Kind != entryPost && e.Kind != entryTimer && e.Kind != entryMessage {
			fmt.Fprintln(b, w.Line(e))
		}
	}
	return b.Flush()
}

// Line prints one entry.
func (w *World) Line(e *Entry) string {
	node := "-"
	if e.Node >= 0 {
		node = w.nodes[e.Node].name
	}
	milli := env.Instant(time.Millisecond)
	line := fmt.Sprintf("%8d.%06d %8d %8d %-10s ", e.At/milli, e.At%milli, e.Number, e.Cause, node)
	switch e.Kind {
	case entryLog:
		return line + e.Text
	case entryHook:
		s := fmt.Sprintf("%-12s generation=%d checkpoint=%d", "hook "+hook.Point(e.A).String(), e.B, e.C)
		if v := int32(e.D >> 32); v >= 0 {
			s += fmt.Sprintf(" subtask=%d.%d", v, int32(uint32(e.D)))
		}
		return line + s
	}
	line += fmt.Sprintf("%-12s", e.Kind.Name())
	labels := e.Kind.Labels()
	for i, v := range [4]uint64{e.A, e.B, e.C, e.D} {
		if labels[i] != "" {
			line += " " + labels[i] + "=" + w.number(labels[i], v)
		}
	}
	return line
}

func (w *World) number(label string, v uint64) string {
	switch {
	case (label == "from" || label == "to") && v < uint64(len(w.nodes)):
		return w.nodes[v].name
	case label == "loop" && w.record.names[v] != "":
		return w.record.names[v]
	case label == "loop" || label == "link":
		return fmt.Sprintf("%04x", uint16(v))
	}
	return fmt.Sprint(v)
}

var (
	entryHook = trace.NewKind("hook", "", "", "", "")
	entryLog  = trace.NewKind("log", "", "", "", "")
)
