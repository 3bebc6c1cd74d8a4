package hazard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// droppedMarkers are the hazards of markers that never reach their partition, and of repairing that.
var droppedMarkers = []Hazard{
	{
		Number: 28, Title: "marker dropped, the next transaction decides",
		Story:    "The broker of a partition dies before the marker comes. EndTxn is answered 0, the transaction is complete, the partition stays open, and the id's next transaction decides the old records with its own verdict.",
		Where:    droppingReleases,
		ClosedBy: "open in 4.3 and 4.4 (KAFKA-20734): confirm by DescribeProducers, repair with the same verdict before the id is used again",
		Needs:    Needs{Brokers: 3},
		Show:     droppedMarker,
		Control:  "no-quarantine",
		Engine: []Trial{
			{Plan: "dropped-marker-k44", Profiles: []string{"k43", "k44-tv0", "k44-tv1", "k44"}, Evidence: []Evidence{struck, reached(markerWasDropped), reached(repairWasSent)}},
			{Plan: "dropped-marker-then-crash", Evidence: []Evidence{struck, reached(markerWasDropped), reached(repairWasSent)}},
			{Plan: "hazards/H28-marker-dropped-twice", Evidence: []Evidence{struck, reached(markerWasDropped), reached(repairWasSent)}},
		},
		Real: Real{Feasible: true, Note: "three brokers, one killed"},
		Forms: []Form{{
			Name:  "restart",
			Story: "The broker that coordinates the transaction and leads its partitions dies when EndTxn has been answered, and is started again at once.",
			Needs: Needs{Brokers: 3},
			Show:  droppedAtRestart,
		}},
	},
	{
		Number: 40, Title: "repair aborts what was committed",
		Story:    "A dropped marker is repaired by adding the partition to a transaction and ending it. Whoever initialises the id between the two, or a timeout, writes ABORT over committed records.",
		Where:    droppingReleases,
		ClosedBy: "WriteTxnMarkers instead, or both requests in one write and nobody who initialises beside it; the second witness is asked afterwards",
		Needs:    Needs{Brokers: 3},
		Show:     repairAborts,
		Control:  "repair-by-init",
		Engine: []Trial{
			{Plan: "hazards/H40-repair-cut-short", Evidence: []Evidence{struck, withoutRights, reached(markerWasDropped), reached(repairWasSent), reached("jobmanager: displaced by a newer generation")}},
			{Plan: "crash-in-repair", Evidence: []Evidence{struck, reached(markerWasDropped), reached(repairWasSent)}},
		},
		Real: Real{Feasible: true, Note: "three brokers, one killed twice"},
	},
	{
		Number: 44, Title: "marker of the lane dropped",
		Story:    "The offsets partition of a marker has no leader when the transaction ends: the lane answers 88 for ever, and the next transaction's verdict decides it.",
		Where:    droppingReleases,
		ClosedBy: "Describe beside 88: complete, and still unstable, is dropped; repaired on the offsets partition with the same verdict",
		Needs:    Needs{Brokers: 3, Settings: []Setting{{"offsets.topic.replication.factor", "1"}}},
		Show:     laneDropped,
		Control:  "lane-waits",
		Engine: []Trial{
			{Plan: "hazards/H44-lane-dropped", Profiles: []string{"k43", "k44-tv1", "k44"}, Evidence: []Evidence{struck, reached(repairWasSent), laneMarkerWasDropped}},
		},
		Real: Real{Feasible: true, Note: "three brokers, offsets topic of one replica, one killed"},
	},
}

// droppingReleases are those that drop a marker for a partition without a leader.
var droppingReleases = Places{{From: "k43", To: "k44"}}

// droppedMarker commits while a partition has no leader. Where the marker is dropped, the id's next transaction, which
// aborts, takes the committed records with it.
func droppedMarker(t *Scene) (seen bool, what string) {
	tp, left, is := dropped(t, true, time.Minute)
	if !is {
		t.Settled(left.TransactionalID)
		t.Holds(tp, "0:a 1:b 2:COMMIT")
		return false, "the marker waits for the leader: 0:a 1:b 2:COMMIT"
	}
	t.Write(tp, left, t.Next(2), "c")
	t.Finish(left, false, tp)
	t.Holds(tp, "0:a 1:b 2:c 3:ABORT")
	read := t.Committed(tp)
	t.Check(len(read) == 0, "read %v", read)
	return true, fmt.Sprintf("EndTxn 0 and CompleteCommit, partition open; the next transaction's abort: %s; a reader gets [%s]", t.Dump(tp), strings.Join(read, " "))
}

// droppedAtRestart kills the broker that coordinates a transaction and leads all of its partitions as soon as the commit is
// answered, and starts it again. The markers are under way then: those that are not written yet are due while their partitions
// have no leader.
func droppedAtRestart(t *Scene) (seen bool, what string) {
	for range 10 {
		who := t.Writer()
		on := t.Find(stage.TxnCoordinator(who.TransactionalID))
		parts := led(t, on)
		for _, tp := range parts {
			t.Write(tp, who, 0, "a")
		}
		left, code := t.EndOnce(who, true)
		t.Check(code == kafka.OK, "end: %v", code)
		kill(t, on)
		t.Say("broker %d, which coordinates and leads %d partitions, is killed at the answer, and started again", on, len(parts))
		start(t, on)
		t.Visible(parts[0].Topic, restartParts)
		x := t.Settled(who.TransactionalID)
		t.Check(x.State == kafka.TxnCompleteCommit, "ended as %s", x.State)
		open := slices.Clone(parts)
		t.Within(wedged, func() bool {
			open = slices.DeleteFunc(open, func(tp id.TopicPartition) bool { return t.OpenFrom(tp, who) < 0 })
			return len(open) == 0
		})
		if len(open) == 0 {
			late := slices.IndexFunc(parts, func(tp id.TopicPartition) bool { return len(terms(t, tp)) > 1 })
			if late < 0 {
				continue // every marker was written before the broker died
			}
			t.Holds(parts[late], "0:a 1:COMMIT")
			return false, "the markers wait for the leader: 0:a 1:COMMIT"
		}
		tp := open[0]
		if !t.TV2() {
			left = t.Again(who)
		}
		t.Write(tp, left, 0, "b")
		t.Finish(left, false, tp)
		t.Holds(tp, "0:a 1:b 2:ABORT")
		read := t.Committed(tp)
		return len(read) == 0, fmt.Sprintf("EndTxn 0 and CompleteCommit, a partition open; the next transaction's abort: %s; a reader gets %v", t.Dump(tp), read)
	}
	t.Fail("in 10 tries every marker was written before the broker died")
	return false, ""
}

// terms are the terms of leaders in which what a partition holds was written, each once.
func terms(t *Scene, tp id.TopicPartition) (epochs []int32) {
	const length = 8 + 4 // what precedes the rest of a batch, and tells its length
	for log := t.Log(tp); len(log) > length; {
		var b kmsg.RecordBatch
		err := b.ReadFrom(log)
		t.Check(err == nil, "batch of %s: %v", tp, err)
		if !slices.Contains(epochs, b.PartitionLeaderEpoch) {
			epochs = append(epochs, b.PartitionLeaderEpoch)
		}
		log = log[min(len(log), length+int(b.Length)):]
	}
	return epochs
}

// restartParts is how many partitions the topic of led has.
const restartParts = 30

// led are the partitions of a new topic, each with a single replica, that are on a broker.
func led(t *Scene, on int32) (parts []id.TopicPartition) {
	name := t.TopicOf(restartParts, 1, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"})
	for p := range int32(restartParts) {
		if tp := stage.Part(name, p); t.Find(stage.Leader(tp)) == on {
			parts = append(parts, tp)
		}
	}
	t.Check(len(parts) > 0, "no partition of %s is on broker %d", name, on)
	return parts
}

// repairAborts repairs a dropped marker by adding the partition to a transaction, and somebody initialises the id before its
// end: the committed records are aborted.
func repairAborts(t *Scene) (seen bool, what string) {
	tp, left, is := dropped(t, true, time.Minute)
	if !is {
		t.Settled(left.TransactionalID)
		t.Holds(tp, "0:a 1:b 2:COMMIT")
		return false, "no marker is dropped, so there is nothing to repair"
	}
	add(t, left, tp)
	t.Init(left.TransactionalID, left.Protocol)
	t.Closed(left, tp)
	t.Holds(tp, "0:a 1:b 2:ABORT")
	_, code := t.End(left, true)
	read := t.Committed(tp)

	other, owner, is := dropped(t, true, time.Minute)
	t.Check(is, "the marker of a second transaction was not dropped")
	p, _ := t.Producer(other, owner.ProducerID)
	by := t.WriteMarker(other, p, true)
	t.Check(by == kafka.OK, "write marker: %v", by)
	t.Holds(other, "0:a 1:b 2:COMMIT")
	return len(read) == 0, fmt.Sprintf("dropped commit, AddPartitions, a foreign InitProducerId: %s; the repair's EndTxn: %v. WriteTxnMarkers instead: %s", t.Dump(tp), code, t.Dump(other))
}

// add is the first half of the repair with ordinary rights.
func add(t *Scene, who kafka.Identity, tp id.TopicPartition) {
	code := t.Settle("add partitions", func(done func(kafka.Code, error)) {
		t.AddPartitionsToTxn(who, []id.TopicPartition{tp}, func(_ []kafka.PartitionCode, c kafka.Code, err error) { done(c, err) })
	})
	t.Check(code == kafka.OK, "add partitions: %v", code)
}

// laneDropped commits while the offsets partition of a marker's group has no leader. Where its marker is dropped the lane
// answers 88 for ever, and the id's next transaction on the lane, which aborts, takes the committed value with it.
func laneDropped(t *Scene) (seen bool, what string) {
	who, group, home, on := laneApart(t)
	lane := stage.Part(t.Topic(1), 0)
	t.Seed(group, lane, 5, "seed")
	t.Mark(who, group, lane, 6, "marker")
	kill(t, on)
	t.Wait("the death of the leader of "+home.String(), func() bool {
		now := leader(t, home)
		return now != on && now != unseen
	})
	next, code := t.End(who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	t.Within(wedged, func() bool { return complete(t, who.TransactionalID) })
	done := complete(t, who.TransactionalID)
	start(t, on)
	t.Wait("a leader of "+home.String(), func() bool { return leader(t, home) >= 0 })
	stuck := done && !t.Within(wedged, func() bool {
		o, code := t.Lane(group, lane, true)
		return code == kafka.OK && o.Code == kafka.OK
	})
	if !stuck {
		o := t.StableLane(group, lane)
		t.Check(o.Offset == 6, "lane %+v", o)
		return false, fmt.Sprintf("the marker waits for the leader: lane %d", o.Offset)
	}
	t.Mark(next, group, lane, 7, "next")
	t.Finish(next, false)
	t.Settled(next.TransactionalID)
	o := t.StableLane(group, lane)
	return o.Offset == 5, fmt.Sprintf("EndTxn 0 and CompleteCommit, the lane answers 88 for %v; after the next transaction's abort it reads %d, not 6", wedged, o.Offset)
}

// laneApart is an identity and a group whose offsets partition is led by another broker than the one that coordinates the id.
func laneApart(t *Scene) (who kafka.Identity, group string, home id.TopicPartition, on int32) {
	who, code := t.InitCode(t.Name("txn"), time.Minute, t.Protocol)
	t.Check(code == kafka.OK, "init: %v", code)
	coordinator := t.Find(stage.TxnCoordinator(who.TransactionalID))
	for range 50 {
		group = t.Name("group")
		if on = t.Find(stage.GroupCoordinator(group)); on == coordinator {
			continue
		}
		var err error
		t.Do(func(done func()) {
			t.GroupPartition(group, func(tp id.TopicPartition, e error) { home, err = tp, e; done() })
		})
		t.Check(err == nil, "group partition: %v", err)
		return who, group, home, on
	}
	t.Fail("50 groups have the coordinator of %s", who.TransactionalID)
	return who, group, home, on
}
