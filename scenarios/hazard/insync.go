package hazard

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// inSync are the hazards of replication.
var inSync = []Hazard{{
	Number: 36, Title: "partition below its minimum at the end",
	Story:     "A partition has fewer replicas in sync than min.insync.replicas when its transaction ends. EndTxn is answered 0, the marker cannot be written, and InitProducerId answers 51 until the replica is back.",
	Where:     everywhere,
	ClosedBy:  "a deadline, and the partition by its name: DescribeTransactions shows it",
	Needs:     Needs{Brokers: 3},
	Show:      belowMinimum,
	Cure:      partitionNamed,
	NoControl: "waiting is right; what is wrong is to wait without a word, which no verdict sees",
	Engine: []Trial{
		{Plan: "hazards/H36-below-minimum", Profiles: []string{"k39", "k41", "k44"}, Evidence: []Evidence{struck, reached("simbroker: too few replicas in sync for a write"), endsBelowMinimum}},
	},
	Real: Real{Feasible: true, Note: "three brokers, one killed"},
}}

// underMinimum ends a transaction while a partition has fewer replicas in sync than its minimum, and calls look then.
func underMinimum(t *Scene, look func(tp id.TopicPartition, who kafka.Identity)) {
	who := t.Writer()
	coordinator := t.Find(stage.TxnCoordinator(who.TransactionalID))
	tp, follower := pairOf(t, coordinator, 2)
	t.Write(tp, who, 0, "a")
	kill(t, follower)
	t.Wait("the ISR to shrink", func() bool { return len(isr(t, tp)) == 1 })
	_, code := t.End(who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	look(tp, who)
	start(t, follower)
	t.Wait("the ISR to grow", func() bool { return len(isr(t, tp)) == 2 })
	t.Settled(who.TransactionalID)
	t.Closed(who, tp)
	read := t.Committed(tp)
	t.Check(len(read) == 1, "in the end a reader gets %v of %s", read, t.Dump(tp))
}

// belowMinimum asks whether the id can be used meanwhile.
func belowMinimum(t *Scene) (seen bool, what string) {
	underMinimum(t, func(_ id.TopicPartition, who kafka.Identity) {
		seen = concurrent(t, who)
		what = fmt.Sprintf("EndTxn 0, then %s and InitProducerId 51 for %v: %v; finished when the replica was back", t.State(who.TransactionalID), wedged, seen)
	})
	return seen, what
}

// partitionNamed asks the coordinator which partition is waited for.
func partitionNamed(t *Scene) (what string) {
	underMinimum(t, func(tp id.TopicPartition, who kafka.Identity) {
		x, code := t.Transaction(who.TransactionalID)
		t.Check(code == kafka.OK && x.State == kafka.TxnPrepareCommit && slices.Equal(x.Partitions, []id.TopicPartition{tp}), "described as %v %+v", code, x)
		what = fmt.Sprintf("DescribeTransactions: %s, waiting for one partition, by its name", x.State)
	})
	return what
}

// pairs is how many partitions pairOf makes.
const pairs = 6

// pairOf is a partition with two replicas, neither of which is on a certain broker, and with so many needed for a write.
func pairOf(t *Scene, not int32, minISR int, configs ...kafka.ConfigEntry) (tp id.TopicPartition, follower int32) {
	configs = append(configs, kafka.ConfigEntry{Name: "min.insync.replicas", Value: strconv.Itoa(minISR)}, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"})
	name := t.TopicOf(pairs, 2, configs...)
	m, _ := t.View(broker.Bootstrap, name)
	for _, p := range m.Topics[0].Partitions {
		if len(p.Replicas) == 2 && !slices.Contains(p.Replicas, not) {
			i := slices.IndexFunc(p.Replicas, func(r int32) bool { return r != p.Leader })
			return stage.Part(name, p.Number), p.Replicas[i]
		}
	}
	t.Fail("each partition of %s has a replica on broker %d", name, not)
	return tp, -1
}

// isr is the in-sync replicas of a partition.
func isr(t *Scene, tp id.TopicPartition) []int32 {
	m, ok := t.View(broker.Bootstrap, tp.Topic)
	if !ok || len(m.Topics) != 1 || int(tp.Partition) >= len(m.Topics[0].Partitions) {
		return nil
	}
	return m.Topics[0].Partitions[tp.Partition].ISR
}
