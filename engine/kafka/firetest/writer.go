package firetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// writer writes one transaction after the other, each with records for every partition and an offset of a group, and ends
// every fourth with an abort. It never gives up on the end of a transaction: it asks until the answer is definite.
type writer struct {
	client   *kafka.Client
	loop     env.Loop
	clock    env.Clock
	id       string
	topic    string
	group    string
	lane     id.TopicPartition
	protocol int16
	parts    int32 // to write to

	n         int // of the transaction
	committed int
	aborted   int
	failed    int                // transactions whose producer failed; the next initialisation aborts them
	want      map[int32][]string // committed, by partition, in order
	offset    int64              // committed last
	slowest   time.Duration      // of a transaction
	mended    int                // markers that the cluster dropped
	reasons   map[string]int     // of failures
	stopping  func()             // called at the end of the transaction under way
	err       error
	doing     string
}

// perPart is how many records a transaction writes to each partition.
const perPart = 5

// run writes until stop.
func (w *writer) run() {
	if w.err != nil || w.stopping != nil {
		if w.stopping != nil {
			w.stopping()
		}
		return
	}
	w.n++
	began := w.clock.Now()
	over := func() {
		w.slowest = max(w.slowest, w.clock.Now().Sub(began))
		w.loop.After(5*time.Millisecond, w.run)
	}
	var who kafka.Identity
	w.settle("initialise", func(done func(kafka.Code, error)) {
		// The timeout is far above the time that a broker of a busy machine takes to start: no transaction ends by it.
		w.client.InitProducerID(w.id, 5*time.Minute, w.protocol, func(i kafka.Identity, code kafka.Code, err error) { who = i; done(code, err) })
	}, func(code kafka.Code) {
		if code != kafka.OK {
			w.fail("initialise: %w", code)
			over()
			return
		}
		w.transaction(who, over)
	})
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("transaction %d: "+format, append([]any{w.n}, args...)...)
	}
}

// settle repeats a call that is tried once until its answer is definite.
func (w *writer) settle(what string, call func(done func(kafka.Code, error)), then func(kafka.Code)) {
	w.doing = what
	call(func(code kafka.Code, err error) {
		class := code.Class()
		if err != nil || class == kafka.Retry || class == kafka.FindCoordinator || class == kafka.RefreshLeader {
			w.loop.After(30*time.Millisecond, func() { w.settle(what, call, then) })
			return
		}
		then(code)
	})
}

// transaction writes and ends one.
func (w *writer) transaction(who kafka.Identity, over func()) {
	w.doing = "write"
	p := w.client.NewProducer(kafka.ProducerConfig{Identity: who, BatchBytes: 200, Linger: 5 * time.Millisecond, DeliveryTimeout: 40 * time.Second})
	wrote := make([][]string, w.parts)
	for part := range w.parts {
		for i := range perPart {
			line := fmt.Sprintf("%d.%d", w.n, i)
			wrote[part] = append(wrote[part], line)
			if err := p.Append(w.topic, part, nil, []byte(line), nil, 1); err != nil {
				break // Flush tells
			}
		}
	}
	lost := func(why error) {
		p.Close()
		w.failed++
		w.reasons[reason(why)]++
		w.loop.After(200*time.Millisecond, over)
	}
	p.Flush(func(err error) {
		if err != nil {
			lost(err)
			return
		}
		w.mark(who, func(code kafka.Code) {
			if code != kafka.OK {
				lost(code)
				return
			}
			w.end(p, wrote, over)
		})
	})
}

// mark writes the transaction's number as an offset.
func (w *writer) mark(who kafka.Identity, then func(kafka.Code)) {
	commit := func() {
		w.settle("commit an offset", func(done func(kafka.Code, error)) {
			w.client.TxnOffsetCommit(who, w.group, []kafka.Offset{{Topic: w.lane.Topic, Partition: w.lane.Partition, Offset: int64(w.n)}}, done)
		}, then)
	}
	if who.Protocol >= 5 {
		commit()
		return
	}
	w.settle("add offsets", func(done func(kafka.Code, error)) { w.client.AddOffsetsToTxn(who, w.group, done) }, func(code kafka.Code) {
		if code != kafka.OK {
			then(code)
			return
		}
		commit()
	})
}

func (w *writer) end(p *kafka.Producer, wrote [][]string, over func()) {
	p.Close()
	commit := w.n%4 != 0
	w.settle("end", func(done func(kafka.Code, error)) {
		w.client.EndTxn(p.Identity(), commit, func(_ kafka.Identity, code kafka.Code, err error) { done(code, err) })
	}, func(code kafka.Code) {
		switch {
		case code != kafka.OK:
			w.fail("end with commit %v: %w", commit, code)
		case commit:
			w.committed++
			w.offset = int64(w.n)
			for part, lines := range wrote {
				w.want[int32(part)] = append(w.want[int32(part)], lines...)
			}
		default:
			w.aborted++
		}
		if code != kafka.OK {
			over()
			return
		}
		w.doing = "see it closed"
		w.closed(p.Identity(), commit, w.clock.Now(), over)
	})
}

// patience is how long a marker may be on its way before the writer looks whether it was dropped.
const patience = 5 * time.Second

// closed waits until no partition shows the transaction open. Kafka 4.3 and 4.4 can drop a marker for a partition that has no
// leader at that moment (KAFKA-20734): nobody ends that transaction any more, and the next one of the id would decide it. What
// a user of this client must do about it is done here: the marker is written by hand, with what the partition shows.
func (w *writer) closed(who kafka.Identity, commit bool, since env.Instant, then func()) {
	again := func() { w.loop.After(20*time.Millisecond, func() { w.closed(who, commit, since, then) }) }
	w.client.GroupPartition(w.group, func(offsets id.TopicPartition, err error) {
		var parts []id.TopicPartition
		switch {
		case err == nil:
			parts = append(parts, offsets)
		case !errors.Is(err, kafka.UnknownTopicOrPartition): // kfake keeps offsets in no topic
			again()
			return
		}
		for p := range w.parts {
			parts = append(parts, id.TopicPartition{Topic: w.topic, Partition: p})
		}
		w.client.DescribeProducers(parts, func(all []kafka.PartitionProducers, err error) {
			open, known := openAt(all, who.ProducerID)
			switch {
			case err != nil || !known:
				again()
			case len(open) == 0:
				then()
			case w.clock.Now().Sub(since) < patience:
				again()
			default:
				w.mend(who, commit, open, again)
			}
		})
	})
}

// openMarker is a transaction that a partition shows open.
type openMarker struct {
	id.TopicPartition
	kafka.ActiveProducer
}

func openAt(all []kafka.PartitionProducers, producer int64) (open []openMarker, known bool) {
	for _, p := range all {
		if p.Code != kafka.OK {
			return nil, false
		}
		for _, a := range p.Producers {
			if a.ProducerID == producer && a.OpenFrom >= 0 {
				open = append(open, openMarker{p.TopicPartition, a})
			}
		}
	}
	return open, true
}

// mend writes the markers that were dropped, once the coordinator holds the transaction for complete.
func (w *writer) mend(who kafka.Identity, commit bool, open []openMarker, then func()) {
	w.client.DescribeTransaction(who.TransactionalID, func(t kafka.Transaction, code kafka.Code, err error) {
		if err != nil || code != kafka.OK || t.State != kafka.TxnCompleteCommit && t.State != kafka.TxnCompleteAbort {
			then()
			return
		}
		left := len(open)
		for _, o := range open {
			w.client.WriteTxnMarkers(kafka.MarkerWrite{
				ProducerID: o.ProducerID, ProducerEpoch: int16(o.ProducerEpoch), Commit: commit, CoordinatorEpoch: o.CoordinatorEpoch,
				Partitions: []id.TopicPartition{o.TopicPartition},
			}, func(_ []kafka.PartitionCode, code kafka.Code, err error) {
				if err == nil && code == kafka.OK {
					w.mended++
				}
				if left--; left == 0 {
					then()
				}
			})
		}
	})
}

// reason is the code in an error, or its text.
func reason(err error) string {
	var code kafka.Code
	if errors.As(err, &code) {
		return code.String()
	}
	return err.Error()
}
