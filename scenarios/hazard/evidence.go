package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/sim"
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
	return sampling(what, func() func(*scenarios.World) bool { return holds })
}

// sampling is sampled with something to remember: begin is called for each run.
func sampling(what string, begin func() func(w *scenarios.World) bool) Evidence {
	return Evidence{what, func(w *scenarios.World) func(*scenarios.Result) bool {
		seen, holds := false, begin()
		var look func()
		look = func() {
			if seen = holds(w); !seen {
				w.Sim.At(w.Sim.Now().Add(20*time.Millisecond), look)
			}
		}
		w.Sim.At(env.Instant(0), look)
		return func(*scenarios.Result) bool { return seen }
	}}
}

// told: some process of the engine was given an answer.
func told(what string, is func(req kmsg.Request, resp kmsg.Response) bool) Evidence {
	return Evidence{what, func(w *scenarios.World) func(*scenarios.Result) bool {
		seen, port := false, w.Sim.BrokerPort
		w.Sim.BrokerPort = func(n *sim.Node, l env.Loop, c broker.Class) broker.Requests {
			return listener{port(n, l, c), func(req kmsg.Request, resp kmsg.Response) { seen = seen || is(req, resp) }}
		}
		return func(*scenarios.Result) bool { return seen }
	}}
}

// listener hears the answers that pass a port.
type listener struct {
	broker.Requests
	heard func(kmsg.Request, kmsg.Response)
}

// Send implements broker.Requests.
func (l listener) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	l.Requests.Send(node, req, func(resp kmsg.Response, err error) {
		if err == nil {
			l.heard(req, resp)
		}
		done(resp, err)
	})
}

// oldModeCommit: a commit in the old protocol was answered when the cluster was at transaction.version 2 already.
var oldModeCommit = Evidence{"a commit of the old protocol answered 0 by a cluster that was raised to TV2", func(w *scenarios.World) func(*scenarios.Result) bool {
	return told("", func(_ kmsg.Request, resp kmsg.Response) bool {
		r, is := resp.(*kmsg.EndTxnResponse)
		return is && r.Version < 5 && r.ErrorCode == 0 && w.Cluster.TransactionVersion() == 2
	}).Watch(w)
}}

// truncated: acknowledged records, or markers, of an output topic are gone.
var truncated = afterwards("records or markers of the outputs gone", func(r *scenarios.Result) bool {
	return slices.ContainsFunc(r.World.Cluster.Truncations(), func(t simbroker.Truncation) bool {
		return slices.Contains(r.World.Job.Outputs, t.Topic)
	})
})

// shared: several writers had transactions open in one partition, each under a producer id of its own.
var shared = sampled("several subtasks writing to one partition at once, each under its own producer id", func(w *scenarios.World) bool {
	open := w.Cluster.OpenTransactions()
	for i, a := range open {
		for _, b := range open[i+1:] {
			if a.TopicPartition == b.TopicPartition && a.ProducerID != b.ProducerID && slices.Contains(w.Job.Outputs, a.Topic) {
				return true
			}
		}
	}
	return false
})

// happened: the transaction log tells of something.
func happened(what string, tells func(history []simbroker.TxnEvent) bool) Evidence {
	return afterwards(what, func(r *scenarios.Result) bool { return tells(r.World.Cluster.History()) })
}

// decidedFor: a commit was decided and visible in a part of its partitions only, for so long.
func decidedFor(d time.Duration) Evidence {
	what := fmt.Sprintf("a committed transaction visible in some of its partitions only, for %v", d)
	return sampling(what, func() func(*scenarios.World) bool {
		since := map[string]env.Instant{} // looked up, never walked
		return func(w *scenarios.World) bool { return partly(w, since, d) }
	})
}

// partly reports whether a decided transaction has been visible in a part of its partitions for so long.
func partly(w *scenarios.World, since map[string]env.Instant, d time.Duration) bool {
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
}

// hidden: a transaction was committed in a partition while somebody else's older one was open there, and hid it.
var hidden = sampling("a committed transaction hidden behind an older open one of somebody else", func() func(w *scenarios.World) bool {
	type place struct {
		at  id.TopicPartition
		pid int64
	}
	first := map[place]int64{}                // looked up, never walked
	parts := map[string][]id.TopicPartition{} // of the last decision, looked up
	known := 0
	return func(w *scenarios.World) (found bool) {
		open := w.Cluster.OpenTransactions()
		history := w.Cluster.History()
		for ; known < len(history); known++ {
			e := history[known]
			if e.State == simbroker.PrepareCommit {
				parts[e.ID] = e.Partitions
			}
			if e.State != simbroker.CompleteCommit {
				continue
			}
			for _, at := range parts[e.ID] {
				own, seen := first[place{at, e.ProducerID}]
				found = found || seen && slices.ContainsFunc(open, func(o simbroker.OpenTransaction) bool {
					return o.TopicPartition == at && o.ProducerID != e.ProducerID && o.First < own
				})
			}
		}
		for _, o := range open {
			first[place{o.TopicPartition, o.ProducerID}] = o.First
		}
		return found
	}
})

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

// writtenTwice: the output topics hold records more often than readers see them.
var writtenTwice = afterwards("records in the output topics twice, one copy aborted", func(r *scenarios.Result) bool {
	for _, topic := range r.World.Job.Outputs {
		for p := range int32(r.World.Shape.Partitions) {
			copies := map[string]int{} // looked up
			for _, l := range r.World.Cluster.ReadAll(topic, p) {
				if !l.Control {
					if copies[string(l.Record.Key)+string(l.Record.Value)]++; copies[string(l.Record.Key)+string(l.Record.Value)] > 1 {
						return true
					}
				}
			}
		}
	}
	return false
})

// commitUnderWay: a commit that was sent before a restore took effect, or was answered, after that had begun.
var commitUnderWay = Evidence{"a commit of a dead process arriving during a restore or after it", func(w *scenarios.World) func(*scenarios.Result) bool {
	var begun env.Instant
	w.Sim.OnHook(func(_ string, e hook.Event) {
		if e.Point == hook.R0Claimed {
			begun = w.Sim.Now()
		}
	})
	return func(r *scenarios.Result) bool {
		return slices.ContainsFunc(r.World.Cluster.Late(), func(a simbroker.LateAnswer) bool {
			return kmsg.NameForKey(a.Key) == "EndTxn" && begun > 0 && a.At > begun
		})
	}
}}

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
