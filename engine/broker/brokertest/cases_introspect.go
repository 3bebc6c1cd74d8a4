package brokertest

import (
	"slices"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

func describeFollows(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	x, code := t.Transaction(who.TransactionalID)
	t.Check(code == kafka.OK && x.State == kafka.TxnEmpty && x.ProducerID == who.ProducerID && x.ProducerEpoch == who.ProducerEpoch, "idle: %v %+v", code, x)
	t.Write(tp, who, 0, "a")
	x, code = t.Transaction(who.TransactionalID)
	t.Check(code == kafka.OK && x.State == kafka.TxnOngoing && x.ProducerEpoch == who.ProducerEpoch && slices.Equal(x.Partitions, []id.TopicPartition{tp}) && x.StartUnixMs > 0,
		"open: %v %+v", code, x)
	next := t.Finish(who, true, tp)
	x = t.Settled(who.TransactionalID)
	t.Check(x.State == kafka.TxnCompleteCommit && x.ProducerEpoch == next.ProducerEpoch && len(x.Partitions) == 0, "committed: %+v", x)
	if next.Protocol < 5 {
		t.Write(tp, next, 1, "b")
	} else {
		t.Write(tp, next, 0, "b")
	}
	t.Finish(next, false, tp)
	x = t.Settled(who.TransactionalID)
	t.Check(x.State == kafka.TxnCompleteAbort, "aborted: %+v", x)
}

func describeOffsets(t *stage.T) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	t.Mark(who, group, lane, 6, "meta")
	var home id.TopicPartition
	var err error
	t.Do(func(done func()) {
		t.GroupPartition(group, func(tp id.TopicPartition, e error) { home, err = tp, e; done() })
	})
	t.Check(err == nil, "group partition: %v", err)
	x, code := t.Transaction(who.TransactionalID)
	t.Check(code == kafka.OK && slices.Contains(x.Partitions, home) && slices.Contains(x.Partitions, data), "group at %v: %v %+v", home, code, x)
	p, ok := t.Producer(home, who.ProducerID)
	t.Check(ok && p.OpenFrom >= 0, "the offsets partition shows %+v", p)
	t.Finish(who, true, data, home)
}

func describeUnknown(t *stage.T) {
	_, code := t.Transaction(t.Name("unknown"))
	t.Check(code == kafka.TransactionalIDNotFound, "%v", code)
}

func listFinds(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	idle, open := t.Writer(), t.Writer()
	t.Write(tp, open, 0, "a")
	m, _ := t.View(-1)
	found := map[string]int{}
	for _, node := range m.Brokers {
		var list []kafka.ListedTransaction
		code := t.Settle("list transactions", func(done func(kafka.Code, error)) {
			t.ListTransactions(node, func(l []kafka.ListedTransaction, c kafka.Code, err error) { list = l; done(c, err) })
		})
		t.Check(code == kafka.OK, "list of node %d: %v", node, code)
		for _, x := range list {
			switch x.TransactionalID {
			case idle.TransactionalID:
				found[x.TransactionalID]++
				t.Check(x.State == kafka.TxnEmpty && x.ProducerID == idle.ProducerID, "idle: %+v", x)
			case open.TransactionalID:
				found[x.TransactionalID]++
				t.Check(x.State == kafka.TxnOngoing && x.ProducerID == open.ProducerID, "open: %+v", x)
			}
		}
	}
	t.Check(found[idle.TransactionalID] == 1 && found[open.TransactionalID] == 1, "found %v on %d brokers", found, len(m.Brokers))
	t.Finish(open, false, tp)
}

func producersShowOpen(t *stage.T) {
	name := t.Topic(2)
	tp, other := stage.Part(name, 0), stage.Part(name, 1)
	who := t.Writer()
	t.Write(tp, t.Plain(), 0, "x")
	t.Write(tp, who, 0, "a", "b")
	p, ok := t.Producer(tp, who.ProducerID)
	t.Check(ok && p.OpenFrom == 1 && p.ProducerEpoch == int32(who.ProducerEpoch) && p.LastSequence == 1, "open: %v %+v", ok, p)
	_, ok = t.Producer(other, who.ProducerID)
	t.Check(!ok, "an untouched partition knows the producer")
	t.Finish(who, true, tp)
	p, ok = t.Producer(tp, who.ProducerID)
	t.Check(!ok || p.OpenFrom == -1, "ended: %+v", p)
}

func markerEpoch(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	f, _ := t.Fetch(tp, 1, kafka.ReadUncommitted, 1<<20)
	it := kafka.ReadBatches(f.Records)
	t.Check(it.Next() && it.Batch.Control, "no marker: %v", it.Err())
	t.Check(it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == next.ProducerEpoch, "marker of (%d, %d), next identity %+v",
		it.Batch.ProducerID, it.Batch.ProducerEpoch, next)
}

func noCoordinatorEpoch(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	p, ok := t.Producer(tp, who.ProducerID)
	t.Check(ok && p.CoordinatorEpoch == -1, "before: %+v", p)
	t.Finish(who, true, tp)
	p, ok = t.Producer(tp, who.ProducerID)
	t.Check(ok && p.CoordinatorEpoch >= 0, "after: %v %+v", ok, p)
}

func markersByHand(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	if next.Protocol < 5 {
		t.Write(tp, next, 1, "b")
	} else {
		t.Write(tp, next, 0, "b")
	}
	p, _ := t.Producer(tp, who.ProducerID)
	code := t.WriteMarker(tp, p, true)
	t.Check(code == kafka.OK, "write marker: %v", code)
	t.Closed(next, tp)
	t.Holds(tp, "0:a 1:COMMIT 2:b 3:COMMIT")
	_, _ = t.End(next, false) // tidies up: the marker above has ended it on the partition
}

// repair repeats a repair of two frames while either is answered with "again"; in the end both must be answered with OK.
func repair(t *stage.T, call func(done func(added, ended kafka.Code, err error))) {
	var added, ended kafka.Code
	for range 100 {
		var err error
		t.Do(func(done func()) {
			call(func(a, e kafka.Code, x error) { added, ended, err = a, e, x; done() })
		})
		if err == nil && added.Class() != kafka.Retry && ended.Class() != kafka.Retry {
			break
		}
		t.Sleep(20 * time.Millisecond)
	}
	t.Check(added == kafka.OK && ended == kafka.OK, "added %v, ended %v", added, ended)
}

func bothAnswered(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	t.Settled(who.TransactionalID)
	repair(t, func(done func(added, ended kafka.Code, err error)) {
		t.RepairPartitions(next, []id.TopicPartition{tp}, true, done)
	})
	t.Closed(next, tp)
	t.Settled(who.TransactionalID)
	t.Holds(tp, "0:a 1:COMMIT 2:COMMIT")
}

func offsetsRepaired(t *stage.T) {
	group, lane, _, who := t.LaneAndWriter()
	t.Mark(who, group, lane, 6, "meta")
	repair(t, func(done func(added, ended kafka.Code, err error)) { t.RepairOffsets(who, group, true, done) })
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 6, "%+v", o)
}
