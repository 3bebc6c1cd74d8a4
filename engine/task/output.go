package task

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/keygroup"
	"github.com/onefold/onefold/engine/stream"
)

// drawBatch decides the size of a batch: (subtask, edge and receiver, how many before).
const drawBatch = env.KindTask + 2

// maxBatchBytes closes a batch early.
const maxBatchBytes = 64 << 10

// output is the sending end of one edge: a channel to each receiver, each with the batch that is being filled.
type output struct {
	t       *Task
	edge    int
	ship    graph.Shipping
	senders []*exchange.Sender
	open    []*stream.Batch // nil: none
	limit   []int           // records, of the open batch
	made    []uint64        // batches opened
	owner   []int32         // receiver of each key group
	at      int             // receiver of the record at hand
	next    int             // of rebalance
}

func newOutput(t *Task, edge int) *output {
	j := t.spec.Plan.Job
	o := &output{t: t, edge: edge, ship: j.Edges[edge].Shipping}
	if o.ship == graph.Hash {
		to := t.spec.Plan.Vertices[t.spec.Plan.VertexOf(j.Edges[edge].To)]
		for g := range keygroup.Group(j.KeyGroups) {
			o.owner = append(o.owner, keygroup.Owner(g, to.Parallelism, j.KeyGroups))
		}
	}
	return o
}

func (o *output) add(s *exchange.Sender) {
	o.senders = append(o.senders, s)
	o.open = append(o.open, nil)
	o.limit = append(o.limit, 0)
	o.made = append(o.made, 0)
}

// Batch implements graph.Writer.
func (o *output) Batch(h *stream.Head) *stream.Batch {
	switch o.ship {
	case graph.Hash:
		o.at = int(o.owner[keygroup.Of(h.Hash, int32(len(o.owner)))])
	case graph.Rebalance:
		o.at = o.next
		if o.next++; o.next == len(o.senders) {
			o.next = 0
		}
	}
	return o.batch(o.at)
}

func (o *output) batch(i int) *stream.Batch {
	if o.open[i] == nil {
		o.open[i] = o.t.pool.Get()
		o.limit[i] = o.t.spec.Options.Batch
		if n := o.t.spec.Options.DrawBatch; n > 0 {
			s := o.t.spec.Subtask
			o.limit[i] = 1 + int(o.t.p.Draw(drawBatch, uint64(s.Vertex)<<32|uint64(s.Index), uint64(o.edge)<<32|uint64(i), o.made[i])%uint64(n))
		}
		o.made[i]++
	}
	return o.open[i]
}

// Wrote implements graph.Writer.
func (o *output) Wrote(b *stream.Batch) {
	if b.Len() >= o.limit[o.at] || len(b.Data) >= maxBatchBytes {
		o.send(o.at)
	}
}

func (o *output) send(i int) {
	b := o.open[i]
	o.open[i] = nil
	o.t.shipped = true
	o.senders[i].Send(b)
}

func (o *output) room() bool {
	for _, s := range o.senders {
		if !s.Room() {
			return false
		}
	}
	return true
}

// flush sends open batches where there is room, while busy only to idle receivers, and reports whether any is left.
func (o *output) flush(busy bool) (left bool) {
	for i, b := range o.open {
		switch {
		case b == nil || b.Len() == 0:
		case busy && o.senders[i].Idle() || !busy && o.senders[i].Room():
			o.send(i)
		default:
			left = true
		}
	}
	return left
}

// barrier sends a barrier to every receiver, behind what was written before, whether there is room or not.
func (o *output) barrier(m stream.Mark) {
	for i := range o.senders {
		o.batch(i).Barrier(m)
		o.send(i)
	}
}

func (o *output) end() {
	for i := range o.senders {
		o.batch(i).End()
		o.send(i)
	}
}

func (o *output) watermark(w int64, idle bool) {
	for i := range o.senders {
		if idle {
			o.batch(i).Idle()
		} else {
			o.batch(i).Watermark(w)
		}
	}
}

func (o *output) close() {
	for _, s := range o.senders {
		s.Close()
	}
}
