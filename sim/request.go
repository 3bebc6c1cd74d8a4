package sim

import (
	"time"
)

// Effect is what a fault does to one request.
type Effect uint8

// The effects. A request is two messages, and each can go wrong by itself.
const (
	NoEffect    Effect = iota
	LoseRequest        // it never arrives; the connection breaks, so its sender does not know that
	LoseReply          // it takes effect, then the connection breaks before the reply arrives
	LateRequest        // it arrives Delay later, perhaps after its sender gave up or died
	LateReply          // it takes effect, and its reply leaves Delay later
	Repeat             // it arrives twice, the second time Delay later; the first reply is lost
)

// RequestFault strikes requests of one kind from one node.
type RequestFault struct {
	Key    int16  // Kafka's API key; -1 is any
	Node   string // the client; empty is any
	Effect Effect
	Delay  time.Duration // of LateRequest, LateReply and Repeat
	Count  int           // how many requests it strikes
	// Struck is called for each request that it strikes; nil is allowed.
	Struck func()
}

type rules struct{ list []*RequestFault }

// FaultRequests adds a fault and returns a function that takes it away again.
func (w *World) FaultRequests(f RequestFault) (cancel func()) {
	rule := &f
	w.rules.list = append(w.rules.list, rule)
	return func() { rule.Count = 0 }
}

// Intercept is asked by the client side of a broker port for each request that it sends, and says what goes wrong with
// it. The oldest fault that matches strikes; what a process that is dead or held would send is not struck.
func (w *World) Intercept(node string, apiKey int16) (Effect, time.Duration) {
	if r := w.running; r != nil && (r.inc.dead || r.node.paused) {
		return NoEffect, 0
	}
	for i, f := range w.rules.list {
		if f.Count <= 0 || f.Key >= 0 && f.Key != apiKey || f.Node != "" && f.Node != node {
			continue
		}
		f.Count--
		if f.Struck != nil {
			f.Struck()
		}
		if f.Count == 0 {
			w.rules.list = append(w.rules.list[:i:i], w.rules.list[i+1:]...)
		}
		w.record.entry(w.now, w.indexOf(node), entryStruck, uint64(apiKey), uint64(f.Effect), uint64(f.Delay), 0)
		return f.Effect, f.Delay
	}
	return NoEffect, 0
}

func (w *World) indexOf(node string) int {
	if n := w.Node(node); n != nil {
		return n.index
	}
	return -1
}
