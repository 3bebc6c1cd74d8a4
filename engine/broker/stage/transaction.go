package stage

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// InitCode initialises an id until the code is final.
func (t *T) InitCode(transactionalID string, timeout time.Duration, protocol int16) (who kafka.Identity, code kafka.Code) {
	code = t.Settle("init "+transactionalID, func(done func(kafka.Code, error)) {
		t.InitProducerID(transactionalID, timeout, protocol, func(w kafka.Identity, c kafka.Code, err error) { who = w; done(c, err) })
	})
	return who, code
}

// Init initialises an id with a timeout of one minute.
func (t *T) Init(transactionalID string, protocol int16) kafka.Identity {
	who, code := t.InitCode(transactionalID, time.Minute, protocol)
	t.Check(code == kafka.OK, "init %s: %v", transactionalID, code)
	return who
}

// Writer is a fresh identity of the cluster's protocol.
func (t *T) Writer() kafka.Identity { return t.Init(t.Name("txn"), t.Protocol) }

// Plain is an idempotent producer without a transactional id.
func (t *T) Plain() kafka.Identity { return t.Init("", t.Protocol) }

// Join adds partitions where that takes a request.
func (t *T) Join(who kafka.Identity, parts ...id.TopicPartition) {
	if who.Protocol >= 5 {
		return
	}
	code := t.Settle("add partitions", func(done func(kafka.Code, error)) {
		t.AddPartitionsToTxn(who, parts, func(_ []kafka.PartitionCode, c kafka.Code, err error) { done(c, err) })
	})
	t.Check(code == kafka.OK, "add partitions: %v", code)
}

// End ends a transaction until the code is final.
func (t *T) End(who kafka.Identity, commit bool) (next kafka.Identity, code kafka.Code) {
	code = t.Settle("end", func(done func(kafka.Code, error)) {
		t.EndTxn(who, commit, func(n kafka.Identity, c kafka.Code, err error) { next = n; done(c, err) })
	})
	return next, code
}

// Finish is End, which must succeed, and waits until no partition of parts shows the transaction open.
func (t *T) Finish(who kafka.Identity, commit bool, parts ...id.TopicPartition) kafka.Identity {
	next, code := t.End(who, commit)
	t.Check(code == kafka.OK, "end: %v", code)
	t.Closed(who, parts...)
	return next
}

// Closed waits until no partition shows an open transaction of the producer, and the marker can be read: a leader knows of
// it before it is replicated.
func (t *T) Closed(who kafka.Identity, parts ...id.TopicPartition) {
	t.Wait(fmt.Sprintf("partitions %v closed", parts), func() bool {
		open := false
		for _, tp := range parts {
			p, ok := t.Producer(tp, who.ProducerID)
			open = open || ok && p.OpenFrom >= 0 || tp.Topic[0] != '_' && !t.marked(tp, who.ProducerID)
		}
		return !open
	})
}

// marked reports whether the last readable batch of a producer is a marker.
func (t *T) marked(tp id.TopicPartition, pid int64) (marked bool) {
	for it := kafka.ReadBatches(t.Log(tp)); it.Next(); {
		if it.Batch.ProducerID == pid {
			marked = it.Batch.Control
		}
	}
	return marked
}

// Transaction describes an id.
func (t *T) Transaction(transactionalID string) (got kafka.Transaction, code kafka.Code) {
	code = t.Settle("describe transaction", func(done func(kafka.Code, error)) {
		t.DescribeTransaction(transactionalID, func(x kafka.Transaction, c kafka.Code, err error) { got = x; done(c, err) })
	})
	return got, code
}

// Settled waits until an id is not being ended any more.
func (t *T) Settled(transactionalID string) (x kafka.Transaction) {
	t.Wait(transactionalID+" ended", func() bool {
		var code kafka.Code
		x, code = t.Transaction(transactionalID)
		t.Check(code == kafka.OK, "describe %s: %v", transactionalID, code)
		return x.State != kafka.TxnPrepareCommit && x.State != kafka.TxnPrepareAbort
	})
	return x
}

// Producer is what a partition's leader knows of a producer.
func (t *T) Producer(tp id.TopicPartition, pid int64) (kafka.ActiveProducer, bool) {
	var got []kafka.ActiveProducer
	code := t.Settle("describe producers", func(done func(kafka.Code, error)) {
		t.DescribeProducers([]id.TopicPartition{tp}, func(p []kafka.PartitionProducers, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			got = p[0].Producers
			done(p[0].Code, nil)
		})
	})
	t.Check(code == kafka.OK, "describe producers of %s: %v", tp, code)
	for _, p := range got {
		if p.ProducerID == pid {
			return p, true
		}
	}
	return kafka.ActiveProducer{}, false
}

// WriteMarker writes one marker by hand.
func (t *T) WriteMarker(tp id.TopicPartition, p kafka.ActiveProducer, commit bool) kafka.Code {
	return t.Settle("write marker", func(done func(kafka.Code, error)) {
		w := kafka.MarkerWrite{ProducerID: p.ProducerID, ProducerEpoch: int16(p.ProducerEpoch), Commit: commit, CoordinatorEpoch: p.CoordinatorEpoch, Partitions: []id.TopicPartition{tp}}
		t.WriteTxnMarkers(w, func(_ []kafka.PartitionCode, c kafka.Code, err error) { done(c, err) })
	})
}
