package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
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

// decidedFor: a commit was decided and visible in a part of its partitions only, for so long.
func decidedFor(d time.Duration) Evidence {
	since := map[string]env.Instant{} // looked up, never walked
	return sampled(fmt.Sprintf("a committed transaction visible in some of its partitions only, for %v", d), func(w *scenarios.World) bool {
		open := w.Cluster.OpenTransactions()
		for _, x := range w.Cluster.Transactions() {
			key := fmt.Sprintf("%s %d %d", x.ID, x.ProducerID, x.Epoch)
			left := 0
			for _, o := range open {
				if o.ProducerID == x.ProducerID && slices.Contains(x.Partitions, o.TopicPartition) {
					left++
				}
			}
			switch {
			case x.State != simbroker.PrepareCommit || left == 0 || left == len(x.Partitions):
				delete(since, key)
			case since[key] == 0:
				since[key] = w.Sim.Now()
			case w.Sim.Now().Sub(since[key]) >= d:
				return true
			}
		}
		return false
	})
}

// hidden: a transaction was committed in a partition while somebody else's older one was open there, and hid it.
func hidden() Evidence {
	type place struct {
		at  id.TopicPartition
		pid int64
	}
	first := map[place]int64{} // looked up, never walked
	told := 0
	parts := map[string][]id.TopicPartition{} // of the last decision, looked up
	return sampled("a committed transaction hidden behind an older open one of somebody else", func(w *scenarios.World) (found bool) {
		open := w.Cluster.OpenTransactions()
		history := w.Cluster.History()
		for ; told < len(history); told++ {
			e := history[told]
			if e.State == simbroker.PrepareCommit {
				parts[e.ID] = e.Partitions
			}
			if e.State != simbroker.CompleteCommit {
				continue
			}
			for _, at := range parts[e.ID] {
				own, known := first[place{at, e.ProducerID}]
				found = found || known && slices.ContainsFunc(open, func(o simbroker.OpenTransaction) bool {
					return o.TopicPartition == at && o.ProducerID != e.ProducerID && o.First < own
				})
			}
		}
		for _, o := range open {
			first[place{o.TopicPartition, o.ProducerID}] = o.First
		}
		return found
	})
}

// undecided: a restore began with completed checkpoints whose transactions were not decided.
var undecided = afterwards("a restore with prepared transactions that nobody had decided", func(r *scenarios.Result) bool {
	completed, confirmed := uint64(0), uint64(0)
	for _, c := range r.World.History.Claims {
		switch c.Kind {
		case checker.CheckpointCompleted:
			completed = max(completed, c.Checkpoint)
		case checker.CheckpointConfirmed:
			confirmed = max(confirmed, c.Checkpoint)
		case checker.GenerationClaimed:
			if completed > confirmed {
				return true
			}
		}
	}
	return false
})

// claimed: the job log tells of something.
func claimed(what string, kind checker.ClaimKind) Evidence {
	return afterwards(what, func(r *scenarios.Result) bool {
		return slices.ContainsFunc(r.World.History.Claims, func(c checker.Claim) bool { return c.Kind == kind })
	})
}

// refusedWrite: a process that had been replaced wrote under its old identity, and was refused.
var refusedWrite = afterwards("a replaced process wrote under its old identity", func(r *scenarios.Result) bool {
	return slices.ContainsFunc(r.World.Cluster.Operations(), func(o simbroker.Operation) bool {
		return o.Kind == simbroker.Write && o.Result == simbroker.OperationFenced
	})
})

// usedAgain: ids ended several transactions each.
var usedAgain = happened("ids that committed several transactions", func(h []simbroker.TxnEvent) bool {
	commits := map[string]int{} // looked up
	for _, e := range h {
		if e.State == simbroker.CompleteCommit {
			if commits[e.ID]++; commits[e.ID] > 2 {
				return true
			}
		}
	}
	return false
})

// rotated: an id went on under another producer id.
var rotated = happened("an id that went on under another producer id", func(h []simbroker.TxnEvent) bool {
	pid := map[string]int64{} // looked up
	for _, e := range h {
		if before, known := pid[e.ID]; known && before != e.ProducerID {
			return true
		}
		pid[e.ID] = e.ProducerID
	}
	return false
})

// gaps: the inputs hold aborted records and markers.
var gaps = afterwards("inputs with aborted records, and a marker at an end", func(r *scenarios.Result) bool {
	aborted, atEnd := false, false
	for _, topic := range r.World.Job.Inputs {
		for p := range int32(r.World.Shape.Partitions) {
			all := r.World.Cluster.ReadAll(topic, p)
			data := 0
			for _, l := range all {
				if !l.Control {
					data++
				}
			}
			aborted = aborted || data > len(r.World.Cluster.ReadCommitted(topic, p))
			atEnd = atEnd || len(all) > 0 && all[len(all)-1].Control
		}
	}
	return aborted && atEnd
})
