package task

import (
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/stream"
)

var blockedWithRecords = probe.New("task: channel blocked with records behind it")

// input is the receiving end of one channel.
type input struct {
	recv    *exchange.Receiver
	edge    int
	payload func([]byte)
	state   state.Backend // of the operator that the edge enters; nil for none
	reading bool          // cur stands in the receiver's oldest batch
	cur     stream.Cursor
	ended   bool
}

// gate reads the input channels of a task, in turn, and keeps blocked ones unread.
type gate struct {
	t       *Task
	inputs  []*input
	aligner Aligner
	marks   *watermarks
	next    int // input to look at first
	ended   int
	hashes  []keygroup.Hash // of the records of one batch
}

func newGate(t *Task) *gate { return &gate{t: t} }

func (g *gate) add(edge int, r *exchange.Receiver) {
	g.inputs = append(g.inputs, &input{recv: r, edge: edge})
}

// bind joins the inputs with the chain that was composed, and lets senders begin.
func (g *gate) bind() {
	g.aligner = g.t.spec.Options.NewAligner(len(g.inputs))
	g.marks = newWatermarks(len(g.inputs))
	for k, e := range g.t.spec.Plan.Entering(int(g.t.spec.Subtask.Vertex)) {
		for _, in := range g.inputs {
			if in.edge == e {
				in.payload = g.t.group.Payloads[k]
				in.state = g.t.chain.State[g.t.spec.Plan.Job.Edges[e].To]
			}
		}
	}
	for _, in := range g.inputs {
		in.recv.Open()
	}
}

// read processes at most budget records; again says that there is more to read at once.
func (g *gate) read(budget int) (n int, again bool) {
	t := g.t
	for n < budget {
		if len(t.barriers) > 0 || !t.room() {
			return n, false // a sink or an output wakes the task
		}
		i := g.pick()
		if i < 0 {
			return n, false
		}
		n += g.drain(i, budget-n)
		if t.chain.Failed() || t.phase != running {
			return n, false
		}
	}
	return n, true
}

// pick chooses the next input that has something and may be read; -1 if there is none.
func (g *gate) pick() int {
	for k := range g.inputs {
		i := g.next + k
		if i >= len(g.inputs) {
			i -= len(g.inputs)
		}
		in := g.inputs[i]
		if g.aligner.Blocked(i) {
			if in.cur.More() || in.recv.Pending() > 1 {
				g.t.p.Reached(blockedWithRecords)
			}
			continue
		}
		if in.reading || in.recv.Next() != nil {
			if g.next = i + 1; g.next == len(g.inputs) {
				g.next = 0
			}
			return i
		}
	}
	return -1
}

// drain reads one input to the end of its batch, at most budget records, while there is room.
func (g *gate) drain(i, budget int) (n int) {
	t, in := g.t, g.inputs[i]
	if !in.reading {
		in.reading, in.cur = true, in.recv.Next().Cursor()
		g.warm(in)
	}
	for n < budget {
		if !in.cur.More() {
			in.reading, in.cur = false, stream.Cursor{}
			in.recv.Done()
			return n
		}
		switch k := in.cur.Next(); k {
		case stream.Record:
			in.cur.Head(&t.chain.Head)
			in.payload(in.cur.Payload())
			n++
			if t.chain.Failed() || !t.room() {
				return n
			}
		case stream.Barrier:
			g.barrier(i, in.cur.Mark())
			return n
		case stream.Watermark:
			g.mark(g.marks.advance(i, in.cur.Time()))
		case stream.Idle:
			g.mark(g.marks.idle(i))
		case stream.End:
			g.end(in)
		default:
			invariant.Check(false, "edge %d brings an element of kind %v", in.edge, k)
		}
	}
	return n
}

// warm tells the state which keys the batch at hand will ask for.
func (g *gate) warm(in *input) {
	if in.state == nil {
		return
	}
	g.hashes = g.hashes[:0]
	for c := in.cur; c.More(); {
		if c.Next() == stream.Record {
			g.hashes = append(g.hashes, c.Hash())
		}
	}
	in.state.Warm(g.hashes)
}

func (g *gate) barrier(i int, m stream.Mark) {
	t := g.t
	a := g.aligner.Step(i, m)
	if t.spec.Options.Check {
		g.aligner.Check()
	}
	if a.Subsumed != 0 {
		t.decline(a.Subsumed, "barrier of a newer checkpoint came before all of this one's")
	}
	if a.Aligned {
		t.entry(entryAligned, uint64(m.Checkpoint), uint64(len(g.inputs)))
		t.barriers = append(t.barriers, m)
		t.takeBarriers()
	}
}

func (g *gate) mark(m merged) {
	if m.changed {
		for _, o := range g.t.outputs {
			o.watermark(m.time, m.idle)
		}
	}
}

// end counts inputs that are used up. The task forwards the end with the last of them, and goes on with barriers.
func (g *gate) end(in *input) {
	invariant.Check(!in.ended, "input ends twice")
	in.ended = true
	if g.ended++; g.ended == len(g.inputs) {
		g.t.entry(entryEnded, 0, 0)
		g.t.endOutputs()
	}
}

func (g *gate) close() {
	for _, in := range g.inputs {
		in.recv.Close()
	}
}
