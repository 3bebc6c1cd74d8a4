package hazard

import (
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/sim/simbroker"
)

// What several of the scripts do.

// wedged is for how long an id or a lane must stay as it is to count as stuck. Real brokers repeat what they repeat within
// milliseconds.
const wedged = 4 * time.Second

// brief is the timeout of a transaction that a script lets pass. What the script does before that is done by then, on real
// brokers of a busy machine, too.
const brief = 5 * time.Second

// once calls once and takes the answer as it is, where the verbs of the stage would repeat.
func once(t *Scene, call func(done func(kafka.Code, error))) (code kafka.Code, err error) {
	t.Do(func(done func()) { call(func(c kafka.Code, e error) { code, err = c, e; done() }) })
	return code, err
}

// initOnce initialises an id once.
func initOnce(t *Scene, who kafka.Identity) kafka.Code {
	code, err := once(t, func(done func(kafka.Code, error)) {
		t.InitProducerID(who.TransactionalID, time.Minute, who.Protocol, func(_ kafka.Identity, c kafka.Code, err error) { done(c, err) })
	})
	t.Check(err == nil, "init %s: %v", who.TransactionalID, err)
	return code
}

// concurrent reports whether an id answers "concurrent transactions" for as long as it takes to count as stuck.
func concurrent(t *Scene, who kafka.Identity) bool {
	return !t.Within(wedged, func() bool { return initOnce(t, who) != kafka.ConcurrentTransactions })
}

// unseen is what leader says where no broker answered.
const unseen = -2

// leader is the leader of a partition as a broker that is up sees it now; -1: none.
func leader(t *Scene, tp id.TopicPartition) int32 {
	m, ok := t.View(broker.Bootstrap, tp.Topic)
	if !ok || len(m.Topics) != 1 || int(tp.Partition) >= len(m.Topics[0].Partitions) {
		return unseen
	}
	return m.Topics[0].Partitions[tp.Partition].Leader
}

// strike has something done to a broker.
func strike(t *Scene, what string, broker int32, do func(stage.Breaker, int) error) {
	b, ok := t.Backend.(stage.Breaker)
	t.Check(ok, "%s cannot kill brokers", t.Backend.Name())
	err := do(b, int(broker))
	t.Check(err == nil, "%s broker %d: %v", what, broker, err)
}

// kill kills a broker.
func kill(t *Scene, broker int32) { strike(t, "kill", broker, stage.Breaker.KillBroker) }

// start starts a broker that was killed.
func start(t *Scene, broker int32) { strike(t, "start", broker, stage.Breaker.StartBroker) }

// pause holds a broker: its connections stay, and nothing is answered.
func pause(t *Scene, broker int32) { strike(t, "hold", broker, stage.Breaker.PauseBroker) }

// resume lets a broker that is held go on.
func resume(t *Scene, broker int32) { strike(t, "let go", broker, stage.Breaker.ResumeBroker) }

// lonely is a partition with a single replica, on another broker than the one that coordinates an id.
func lonely(t *Scene, who kafka.Identity) (tp id.TopicPartition, on int32) {
	coordinator := t.Find(stage.TxnCoordinator(who.TransactionalID))
	name := t.TopicOf(3, 1)
	for p := range int32(3) {
		tp = stage.Part(name, p)
		if on = t.Find(stage.Leader(tp)); on != coordinator {
			return tp, on
		}
	}
	t.Fail("every partition of %s is on broker %d, which coordinates %s", name, coordinator, who.TransactionalID)
	return tp, -1
}

// leaderless waits until a partition whose only broker was killed has no leader.
func leaderless(t *Scene, tp id.TopicPartition) {
	t.Wait("the death of the leader of "+tp.String(), func() bool { return leader(t, tp) == -1 })
}

// dropped brings about what a marker that is dropped leaves behind: a transaction that is complete at its coordinator and
// open on a partition. The writer's records a and b are the first of the partition. commit is the transaction's verdict;
// left is the identity that its coordinator shows afterwards. It is false where the marker waits for the leader.
func dropped(t *Scene, commit bool, timeout time.Duration) (tp id.TopicPartition, left kafka.Identity, is bool) {
	who, code := t.InitCode(t.Name("txn"), timeout, t.Protocol)
	t.Check(code == kafka.OK, "init: %v", code)
	tp, on := lonely(t, who)
	t.Write(tp, who, 0, "a", "b")
	kill(t, on)
	leaderless(t, tp)
	left, code = t.End(who, commit)
	t.Check(code == kafka.OK, "end: %v", code)
	t.Within(wedged, func() bool { return complete(t, who.TransactionalID) })
	is = complete(t, who.TransactionalID)
	start(t, on)
	t.Wait("the leader's return", func() bool { return leader(t, tp) == on })
	if is {
		is = !t.Within(wedged, func() bool { return t.OpenFrom(tp, who) < 0 })
	}
	return tp, left, is
}

// complete reports whether the last transaction of an id has ended at its coordinator.
func complete(t *Scene, transactionalID string) bool {
	x, code := t.Transaction(transactionalID)
	t.Check(code == kafka.OK, "describe %s: %v", transactionalID, code)
	return x.State == kafka.TxnCompleteCommit || x.State == kafka.TxnCompleteAbort
}

// witness asks the second witness, as the engine does: one fetch of committed records at the first offset of a range.
func (t *Scene) witness(tp id.TopicPartition, producer, first int64) sink.Witness {
	f, code := t.Fetch(tp, first, kafka.ReadCommitted, 1)
	a := sink.WitnessAnswer{LastStable: f.LastStable, OutOfRange: code == kafka.OffsetOutOfRange}
	t.Check(code == kafka.OK || a.OutOfRange, "fetch: %v", code)
	a.Listed = slices.Contains(f.Aborted, kafka.AbortedTxn{ProducerID: producer, First: first})
	for it := kafka.ReadBatches(f.Records); it.Next(); {
		for !it.Batch.Control && it.Batch.ProducerID == producer && it.NextRecord() {
			a.RecordAt = a.RecordAt || it.Record.Offset == first
		}
	}
	return sink.ReadWitness(first, a)
}

// Probes that trials ask for.
const (
	markerWasDropped = "simbroker: marker dropped"
	repairWasSent    = "sink: repair of a dropped marker"
	witnessWasAsked  = "sink: second witness used"
)

// said: a line of what JobManagers and outsiders tell has all of these words.
func said(words ...string) Evidence {
	return afterwards("said: "+strings.Join(words, ", "), func(r *scenarios.Result) bool {
		return slices.ContainsFunc(r.Events, func(line string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
		})
	})
}

// offersNewEndTxn: the brokers offer what their transaction.version does not allow.
var offersNewEndTxn = afterwards("EndTxn v5 is offered at transaction.version 0", func(r *scenarios.Result) bool {
	p := r.World.Cluster.Profile()
	return r.World.Cluster.TransactionVersion() == 0 && p.Max(endTxnKey) >= endTxnVersion
})

// bothProtocols: a transaction was ended in the old protocol, which leaves the epoch, and a later one in the new, which moves it.
var bothProtocols = happened("transactions were ended in the old protocol, and then in the new", func(history []simbroker.TxnEvent) bool {
	open, old := map[string]int16{}, false
	for _, e := range history {
		switch {
		case e.State == simbroker.Ongoing:
			open[e.ID] = e.Epoch
		case e.State == simbroker.CompleteCommit && e.Epoch == open[e.ID]:
			old = true
		case e.State == simbroker.CompleteCommit && old:
			return true
		}
	}
	return false
})

// withoutRights: the engine may not write markers by hand.
var withoutRights = afterwards("markers by hand are refused", func(r *scenarios.Result) bool { return r.World.Shape.NoRights > 0 })

// laneMarkerWasDropped: the marker that was dropped was one of an offsets partition.
var laneMarkerWasDropped = happened("a marker of an offsets partition was dropped", func(history []simbroker.TxnEvent) bool {
	return slices.ContainsFunc(history, func(e simbroker.TxnEvent) bool {
		return slices.ContainsFunc(e.Dropped, func(tp id.TopicPartition) bool { return tp.Topic == "__consumer_offsets" })
	})
})

// endsBelowMinimum: a transaction was being ended while one of its partitions had fewer replicas in sync than it needs.
var endsBelowMinimum = sampled("a decided transaction waits for a partition below its minimum", func(w *scenarios.World) bool {
	return slices.ContainsFunc(w.Cluster.Transactions(), func(x simbroker.TxnStatus) bool {
		return x.State.Prepared() && slices.ContainsFunc(x.Partitions, func(tp id.TopicPartition) bool {
			inSync := 0
			for _, r := range w.Cluster.Replicas(tp.Topic, tp.Partition) {
				if r.InSync {
					inSync++
				}
			}
			return inSync < w.Shape.MinISR
		})
	})
})
