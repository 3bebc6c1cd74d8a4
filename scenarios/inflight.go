package scenarios

import (
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/sink"
)

// writers knows which node writes for which subtask, to tell whose transactions are open: a strike on a node with nothing
// open and nothing asked proves little.
type writers struct {
	w     *World
	nodes []string // by subtask: who opened its writers last
	gen   []id.Generation
}

func (x *writers) attach(w *World) {
	x.w = w
	w.Sim.ReportInFlight(x.open)
}

func (x *writers) passed(node string, e hook.Event) {
	if e.Point != hook.R7WritersOpen || e.Subtask.Index < 0 {
		return
	}
	for int(e.Subtask.Index) >= len(x.nodes) {
		x.nodes, x.gen = append(x.nodes, ""), append(x.gen, 0)
	}
	x.nodes[e.Subtask.Index], x.gen[e.Subtask.Index] = node, e.Generation
}

// open reports whether a transaction of the node's present writers has records and no end.
func (x *writers) open(node string) bool {
	mine := false
	for _, n := range x.nodes {
		mine = mine || n == node
	}
	if !mine {
		return false
	}
	for _, t := range x.w.Cluster.Transactions() {
		n, ok := sink.ParseName(t.ID)
		if !ok || n.Salvage || t.State.Complete() || len(t.Partitions) == 0 || int(n.Subtask) >= len(x.nodes) {
			continue
		}
		if x.nodes[n.Subtask] == node && x.gen[n.Subtask] == n.Generation {
			return true
		}
	}
	return false
}
