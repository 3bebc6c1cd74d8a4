package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/sim/simbroker"
)

// afterwards is evidence that the result of a run tells.
func afterwards(what string, tells func(r *scenarios.Result) bool) Evidence {
	return Evidence{what, func(*scenarios.World) func(*scenarios.Result) bool { return tells }}
}

// struck: every fault of the plan hit something in flight.
var struck = afterwards("every fault struck", func(r *scenarios.Result) bool {
	for _, o := range r.Outcomes {
		if !o.Struck {
			return false
		}
	}
	return true
})

// reached: a probe was reached.
func reached(probe string) Evidence {
	return afterwards(probe, func(r *scenarios.Result) bool {
		names := scenarios.Probes()
		return slices.ContainsFunc(r.Probes, func(p int) bool { return names[p] == probe })
	})
}

// lateAnswer: a late or repeated request of a kind was answered with one of the codes, while a transaction of its id was open.
func lateAnswer(request string, codes ...kafka.Code) Evidence {
	return answered(fmt.Sprintf("a late %s answered %v, with the next transaction of its id open", request, codes), request, true, codes)
}

// lateAnywhen is lateAnswer whatever was open.
func lateAnywhen(request string, codes ...kafka.Code) Evidence {
	return answered(fmt.Sprintf("a late %s answered %v", request, codes), request, false, codes)
}

func answered(what, request string, open bool, codes []kafka.Code) Evidence {
	return afterwards(what, func(r *scenarios.Result) bool {
		return slices.ContainsFunc(r.World.Cluster.Late(), func(a simbroker.LateAnswer) bool {
			return kmsg.NameForKey(a.Key) == request && slices.Contains(codes, kafka.Code(a.Code)) && (a.Open || !open)
		})
	})
}

// sampled: at some moment of the run, looked at often, something held.
func sampled(what string, holds func(w *scenarios.World) bool) Evidence {
	return Evidence{what, func(w *scenarios.World) func(*scenarios.Result) bool {
		seen := false
		var look func()
		look = func() {
			if seen = seen || holds(w); !seen {
				w.Sim.At(w.Sim.Now().Add(20*time.Millisecond), look)
			}
		}
		w.Sim.At(env.Instant(0), look)
		return func(*scenarios.Result) bool { return seen }
	}}
}

// happened: the transaction log tells of something.
func happened(what string, tells func(history []simbroker.TxnEvent) bool) Evidence {
	return afterwards(what, func(r *scenarios.Result) bool { return tells(r.World.Cluster.History()) })
}
