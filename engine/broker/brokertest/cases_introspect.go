package brokertest

import (
	"slices"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

func describeFollows(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	x, code := t.transaction(who.TransactionalID)
	t.check(code == kafka.OK && x.State == kafka.TxnEmpty && x.ProducerID == who.ProducerID && x.ProducerEpoch == who.ProducerEpoch, "idle: %v %+v", code, x)
	t.write(tp, who, 0, "a")
	x, code = t.transaction(who.TransactionalID)
	t.check(code == kafka.OK && x.State == kafka.TxnOngoing && x.ProducerEpoch == who.ProducerEpoch && slices.Equal(x.Partitions, []id.TopicPartition{tp}) && x.StartUnixMs > 0,
		"open: %v %+v", code, x)
	next := t.finish(who, true, tp)
	x = t.settled(who.TransactionalID)
	t.check(x.State == kafka.TxnCompleteCommit && x.ProducerEpoch == next.ProducerEpoch && len(x.Partitions) == 0, "committed: %+v", x)
	if next.Protocol < 5 {
		t.write(tp, next, 1, "b")
	} else {
		t.write(tp, next, 0, "b")
	}
	t.finish(next, false, tp)
	x = t.settled(who.TransactionalID)
	t.check(x.State == kafka.TxnCompleteAbort, "aborted: %+v", x)
}

func describeOffsets(t *T) {
	group, lane, data, who := t.laneAndWriter()
	t.write(data, who, 0, "a")
	t.mark(who, group, lane, 6, "meta")
	var home id.TopicPartition
	var err error
	t.do(func(done func()) {
		t.GroupPartition(group, func(tp id.TopicPartition, e error) { home, err = tp, e; done() })
	})
	t.check(err == nil, "group partition: %v", err)
	x, code := t.transaction(who.TransactionalID)
	t.check(code == kafka.OK && slices.Contains(x.Partitions, home) && slices.Contains(x.Partitions, data), "group at %v: %v %+v", home, code, x)
	p, ok := t.producer(home, who.ProducerID)
	t.check(ok && p.OpenFrom >= 0, "the offsets partition shows %+v", p)
	t.finish(who, true, data, home)
}

func describeUnknown(t *T) {
	_, code := t.transaction(t.name("unknown"))
	t.check(code == kafka.TransactionalIDNotFound, "%v", code)
}

func listFinds(t *T) {
	tp := part(t.topic(1), 0)
	idle, open := t.writer(), t.writer()
	t.write(tp, open, 0, "a")
	m, _ := t.view(-1)
	found := map[string]int{}
	for _, node := range m.Brokers {
		var list []kafka.ListedTransaction
		code := t.settle("list transactions", func(done func(kafka.Code, error)) {
			t.ListTransactions(node, func(l []kafka.ListedTransaction, c kafka.Code, err error) { list = l; done(c, err) })
		})
		t.check(code == kafka.OK, "list of node %d: %v", node, code)
		for _, x := range list {
			switch x.TransactionalID {
			case idle.TransactionalID:
				found[x.TransactionalID]++
				t.check(x.State == kafka.TxnEmpty && x.ProducerID == idle.ProducerID, "idle: %+v", x)
			case open.TransactionalID:
				found[x.TransactionalID]++
				t.check(x.State == kafka.TxnOngoing && x.ProducerID == open.ProducerID, "open: %+v", x)
			}
		}
	}
	t.check(found[idle.TransactionalID] == 1 && found[open.TransactionalID] == 1, "found %v on %d brokers", found, len(m.Brokers))
	t.finish(open, false, tp)
}

func producersShowOpen(t *T) {
	name := t.topic(2)
	tp, other := part(name, 0), part(name, 1)
	who := t.writer()
	t.write(tp, t.plain(), 0, "x")
	t.write(tp, who, 0, "a", "b")
	p, ok := t.producer(tp, who.ProducerID)
	t.check(ok && p.OpenFrom == 1 && p.ProducerEpoch == int32(who.ProducerEpoch) && p.LastSequence == 1, "open: %v %+v", ok, p)
	_, ok = t.producer(other, who.ProducerID)
	t.check(!ok, "an untouched partition knows the producer")
	t.finish(who, true, tp)
	p, ok = t.producer(tp, who.ProducerID)
	t.check(!ok || p.OpenFrom == -1, "ended: %+v", p)
}

func markerEpoch(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	next := t.finish(who, true, tp)
	f, _ := t.fetchCode(tp, 1, kafka.ReadUncommitted, 1<<20)
	it := kafka.ReadBatches(f.Records)
	t.check(it.Next() && it.Batch.Control, "no marker: %v", it.Err())
	t.check(it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == next.ProducerEpoch, "marker of (%d, %d), next identity %+v",
		it.Batch.ProducerID, it.Batch.ProducerEpoch, next)
}

func noCoordinatorEpoch(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	p, ok := t.producer(tp, who.ProducerID)
	t.check(ok && p.CoordinatorEpoch == -1, "before: %+v", p)
	t.finish(who, true, tp)
	p, ok = t.producer(tp, who.ProducerID)
	t.check(ok && p.CoordinatorEpoch >= 0, "after: %v %+v", ok, p)
}

// writeMarker writes one marker by hand.
func (t *T) writeMarker(tp id.TopicPartition, p kafka.ActiveProducer, commit bool) kafka.Code {
	return t.settle("write marker", func(done func(kafka.Code, error)) {
		w := kafka.MarkerWrite{ProducerID: p.ProducerID, ProducerEpoch: int16(p.ProducerEpoch), Commit: commit, CoordinatorEpoch: p.CoordinatorEpoch, Partitions: []id.TopicPartition{tp}}
		t.WriteTxnMarkers(w, func(_ []kafka.PartitionCode, c kafka.Code, err error) { done(c, err) })
	})
}

func markersByHand(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	next := t.finish(who, true, tp)
	if next.Protocol < 5 {
		t.write(tp, next, 1, "b")
	} else {
		t.write(tp, next, 0, "b")
	}
	p, _ := t.producer(tp, who.ProducerID)
	code := t.writeMarker(tp, p, true)
	t.check(code == kafka.OK, "write marker: %v", code)
	t.closed(next, tp)
	t.holds(tp, "0:a 1:COMMIT 2:b 3:COMMIT")
	_, _ = t.end(next, false) // tidies up: the marker above has ended it on the partition
}

// repair repeats a repair of two frames while either is answered with "again"; in the end both must be answered with OK.
func (t *T) repair(call func(done func(added, ended kafka.Code, err error))) {
	var added, ended kafka.Code
	for range 100 {
		var err error
		t.do(func(done func()) {
			call(func(a, e kafka.Code, x error) { added, ended, err = a, e, x; done() })
		})
		if err == nil && added.Class() != kafka.Retry && ended.Class() != kafka.Retry {
			break
		}
		t.sleep(20 * time.Millisecond)
	}
	t.check(added == kafka.OK && ended == kafka.OK, "added %v, ended %v", added, ended)
}

func bothAnswered(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	next := t.finish(who, true, tp)
	t.settled(who.TransactionalID)
	t.repair(func(done func(added, ended kafka.Code, err error)) {
		t.RepairPartitions(next, []id.TopicPartition{tp}, true, done)
	})
	t.closed(next, tp)
	t.settled(who.TransactionalID)
	t.holds(tp, "0:a 1:COMMIT 2:COMMIT")
}

func offsetsRepaired(t *T) {
	group, lane, _, who := t.laneAndWriter()
	t.mark(who, group, lane, 6, "meta")
	t.repair(func(done func(added, ended kafka.Code, err error)) { t.RepairOffsets(who, group, true, done) })
	o := t.stableLane(group, lane)
	t.check(o.Offset == 6, "%+v", o)
}
