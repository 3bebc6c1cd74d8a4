package hazard

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// seals are the hazards of what is written after the end of an epoch.
var seals = []Hazard{{
	Number: 31, Title: "prepared is not sealed",
	Story:    "Until the marker is on a partition whatever the identity produces joins the transaction, even after EndTxn was answered.",
	Where:    everywhere,
	ClosedBy: "nothing leaves after the barrier's flush: the producer is closed before the token is made",
	Show:     lateJoins,
	Cure:     closedBeforeEnd,
	Control:  "unsealed",
	Engine: []Trial{
		{Plan: "hazards/H31-late-batches", Profiles: []string{"k39", "k41", "k44-tv1", "k44"}, Evidence: []Evidence{struck, lateAnywhen("Produce", kafka.OK, kafka.InvalidProducerEpoch, kafka.InvalidTxnState, kafka.TransactionAbortable)}},
	},
	Real: Real{Feasible: true, Note: "one broker"},
}}

// lateJoins sends a batch right behind EndTxn: until the marker is on the partition whatever the identity writes belongs to
// the transaction, although its commit was answered.
func lateJoins(t *Scene) (seen bool, what string) {
	const rounds = 20
	last := ""
	for range rounds {
		who := t.Writer()
		tp := partitionOf(t, t.Find(stage.TxnCoordinator(who.TransactionalID)))
		t.Write(tp, who, 0, "a")
		ended, produced := endAndProduce(t, who, tp, "late")
		if ended != kafka.OK {
			t.Settled(who.TransactionalID)
			continue
		}
		t.Closed(who, tp)
		last = fmt.Sprintf("EndTxn: %v, Produce behind it: %v, log %s", ended, produced, t.Dump(tp))
		if produced == kafka.OK && t.Dump(tp) == "0:a 1:late 2:COMMIT" {
			return true, "EndTxn: 0, Produce behind it: 0, log 0:a 1:late 2:COMMIT"
		}
	}
	return false, fmt.Sprintf("not in %d rounds; the last: %s", rounds, last)
}

// partitionOf is a fresh partition that a broker leads.
func partitionOf(t *Scene, node int32) id.TopicPartition {
	m, _ := t.View(broker.Bootstrap)
	n := int32(max(1, len(m.Brokers)))
	for range 20 {
		name := t.TopicOf(n, 1)
		for p := range n {
			if tp := stage.Part(name, p); leader(t, tp) == node {
				return tp
			}
		}
	}
	t.Fail("broker %d leads no partition of 20 topics", node)
	return id.TopicPartition{}
}

// endAndProduce writes a commit and a batch, the second of the transaction, as two frames in one write to the broker that
// coordinates the id and leads the partition.
func endAndProduce(t *Scene, who kafka.Identity, tp id.TopicPartition, value string) (ended, produced kafka.Code) {
	end := kmsg.NewPtrEndTxnRequest()
	end.Version = min(who.Protocol, t.Features.Max(endTxnKey))
	end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = who.TransactionalID, who.ProducerID, who.ProducerEpoch, true
	batch, err := kafka.BuildBatch(who, 1, kafka.NoCompression, []kafka.Record{{Key: []byte("k"), Value: []byte(value), Timestamp: 1_700_000_000_000}})
	t.Check(err == nil, "batch: %v", err)
	write := kmsg.NewPtrProduceRequest()
	write.Version = min(produceVersion, t.Features.Max(produceKey))
	if who.Protocol < 5 {
		write.Version = min(produceVersion-1, write.Version)
	}
	write.TransactionID, write.Acks, write.TimeoutMillis = kmsg.StringPtr(who.TransactionalID), -1, 10_000
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = tp.Topic
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = tp.Partition, batch
	topic.Partitions = append(topic.Partitions, part)
	write.Topics = append(write.Topics, topic)
	a, b := t.both(t.Find(stage.TxnCoordinator(who.TransactionalID)), end, write)
	return kafka.Code(a.(*kmsg.EndTxnResponse).ErrorCode), kafka.Code(b.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)
}

// closedBeforeEnd flushes and closes a producer before its transaction is ended: its log has what it told of, and no more.
func closedBeforeEnd(t *Scene) string {
	name := t.Topic(1)
	tp := stage.Part(name, 0)
	who := t.Writer()
	p := t.NewProducer(kafka.ProducerConfig{Identity: who})
	for _, v := range []string{"a", "b"} {
		err := p.Append(name, 0, []byte("k"), []byte(v), nil, 1_700_000_000_000)
		t.Check(err == nil, "append: %v", err)
	}
	var err error
	t.Do(func(done func()) { p.Flush(func(e error) { err = e; done() }) })
	t.Check(err == nil, "flush: %v", err)
	ranges := p.Ranges()
	p.Close()
	t.Finish(who, true, tp)
	t.Holds(tp, "0:a 1:b 2:COMMIT")
	t.Check(len(ranges) == 1 && ranges[0].First == 0 && ranges[0].Last == 1, "ranges %+v", ranges)
	return "flushed, closed, ended: the log holds exactly the range of the token"
}
