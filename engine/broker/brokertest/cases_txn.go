package brokertest

import (
	"slices"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

func initAgain(t *stage.T) {
	a := t.Writer()
	b := t.Init(a.TransactionalID, t.Protocol)
	t.Check(b.ProducerID == a.ProducerID && b.ProducerEpoch == a.ProducerEpoch+1, "first %+v, then %+v", a, b)
	other := t.Writer()
	t.Check(other.ProducerID != a.ProducerID, "two ids share producer id %d", a.ProducerID)
}

func initBadTimeout(t *stage.T) {
	for _, timeout := range []time.Duration{0, 10 * 24 * time.Hour} {
		_, code := t.InitCode(t.Name("txn"), timeout, t.Protocol)
		t.Check(code == kafka.InvalidTransactionTimeout, "timeout %s: %v", timeout, code)
	}
}

func initFences(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	old := t.Writer()
	t.Write(tp, old, 0, "a")
	fresh := t.Init(old.TransactionalID, t.Protocol)
	t.Check(fresh.ProducerEpoch > old.ProducerEpoch, "epoch %d after %d", fresh.ProducerEpoch, old.ProducerEpoch)
	t.Closed(old, tp)
	t.Holds(tp, "0:a 1:ABORT")
	_, code := t.Send(tp, old, 1, "b")
	t.Check(code == kafka.InvalidProducerEpoch, "produce by the old one: %v", code)
	t.Check(t.Offset(tp, kafka.Latest, kafka.ReadUncommitted) == 2, "the old one wrote")
	t.Write(tp, fresh, 0, "c")
	t.Finish(fresh, true, tp)
	t.Holds(tp, "0:a 1:ABORT 2:c 3:COMMIT")
}

func takeOverBumpsTwice(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	old := t.Writer()
	t.Write(tp, old, 0, "a")
	fresh := t.Init(old.TransactionalID, t.Protocol)
	t.Check(fresh.ProducerEpoch >= old.ProducerEpoch+2, "epoch %d after %d", fresh.ProducerEpoch, old.ProducerEpoch)
}

func fencedCommit(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	old := t.Writer()
	t.Write(tp, old, 0, "a")
	t.Init(old.TransactionalID, t.Protocol)
	_, code := t.End(old, true)
	t.Check(code == kafka.ProducerFenced || code == kafka.InvalidTxnState, "commit of a fenced transaction: %v", code)
	t.Holds(tp, "0:a 1:ABORT")
}

func endRepeated(commit bool) func(*stage.T) {
	verdict := map[bool]string{true: "COMMIT", false: "ABORT"}[commit]
	return func(t *stage.T) {
		tp := stage.Part(t.Topic(1), 0)
		who := t.Writer()
		t.Write(tp, who, 0, "a")
		next := t.Finish(who, commit, tp)
		for range 3 {
			again, code := t.End(who, commit)
			t.Check(code == kafka.OK && again == next, "repeated: %v %+v, first %+v", code, again, next)
		}
		t.Holds(tp, "0:a 1:"+verdict)
	}
}

func commitAfterAbort(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	t.Finish(who, false, tp)
	_, code := t.End(who, true)
	t.Check(code == kafka.InvalidTxnState, "commit after abort: %v", code)
	t.Holds(tp, "0:a 1:ABORT")
}

func commitOfNothing(t *stage.T) {
	_, code := t.End(t.Writer(), true)
	t.Check(code == kafka.InvalidTxnState, "commit of nothing: %v", code)
}

func endUnknown(t *stage.T) {
	who := t.Writer()
	who.TransactionalID = t.Name("unknown")
	who.ProducerID += 1 << 40
	_, code := t.End(who, true)
	t.Check(code == kafka.InvalidProducerIDMapping, "end of an unknown id: %v", code)
}

func endForeign(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	mine, other := t.Writer(), t.Writer()
	t.Write(tp, other, 0, "a")
	mine.ProducerID, mine.ProducerEpoch = other.ProducerID, other.ProducerEpoch
	_, code := t.End(mine, true)
	t.Check(code == kafka.InvalidProducerIDMapping, "end with another's producer id: %v", code)
	p, ok := t.Producer(tp, other.ProducerID)
	t.Check(ok && p.OpenFrom == 0, "the other's transaction was ended")
	t.Finish(other, false, tp)
}

func nextEpoch(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	if who.Protocol < 5 {
		t.Check(next == who, "protocol 4 changed the identity: %+v, then %+v", who, next)
		return
	}
	t.Check(next.ProducerID == who.ProducerID && next.ProducerEpoch == who.ProducerEpoch+1, "%+v, then %+v", who, next)
	t.Write(tp, next, 0, "b")
	last := t.Finish(next, true, tp)
	t.Check(last.ProducerEpoch == next.ProducerEpoch+1, "%+v, then %+v", next, last)
	t.Holds(tp, "0:a 1:COMMIT 2:b 3:COMMIT")
}

func lateRepeat(t *stage.T) {
	if t.Protocol < 5 {
		return // below transaction.version 2 it does, which is why ids are initialised between uses
	}
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	t.Write(tp, next, 0, "b")
	_, code := t.End(who, true)
	t.Check(code == kafka.ProducerFenced, "late repeat: %v", code)
	p, _ := t.Producer(tp, who.ProducerID)
	t.Check(p.OpenFrom == 2, "open from %d", p.OpenFrom)
	t.Finish(next, false, tp)
}

func withoutAdding(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Init(t.Name("txn"), 4)
	_, code := t.Send(tp, who, 0, "a")
	t.Check(code == kafka.InvalidTxnState || code == kafka.TransactionAbortable, "not added: %v", code)
	t.Check(t.Offset(tp, kafka.Latest, kafka.ReadUncommitted) == 0, "something was appended")
}

func protocolFour(t *stage.T) {
	name := t.Topic(2)
	tp, other := stage.Part(name, 0), stage.Part(name, 1)
	who := t.Init(t.Name("txn"), 4)
	t.Join(who, tp, other)
	t.Write(tp, who, 0, "a")
	t.Write(other, who, 0, "b")
	next := t.Finish(who, true, tp, other)
	t.Check(next == who, "%+v, then %+v", who, next)
	t.Write(tp, who, 1, "c")
	t.Finish(who, false, tp)
	t.Holds(tp, "0:a 1:COMMIT 2:c 3:ABORT")
	t.Holds(other, "0:b 1:COMMIT")
}

func unknownNotAdded(t *stage.T) {
	name := t.Topic(1)
	who := t.Init(t.Name("txn"), 4)
	var code kafka.Code
	var all []kafka.PartitionCode
	for range 50 {
		t.Do(func(done func()) {
			t.AddPartitionsToTxn(who, []id.TopicPartition{stage.Part(name, 0), stage.Part(name, 7)}, func(a []kafka.PartitionCode, c kafka.Code, err error) { all, code = a, c; done() })
		})
		if slices.ContainsFunc(all, func(a kafka.PartitionCode) bool { return a.Partition == 0 && a.Code == kafka.OperationNotAttempted }) {
			break
		}
		t.Sleep(20 * time.Millisecond)
	}
	t.Check(code == kafka.UnknownTopicOrPartition, "added: %v %v", code, all)
	for _, a := range all {
		t.Check(a.Partition == 7 || a.Code == kafka.OperationNotAttempted, "partition %d: %v", a.Partition, a.Code)
	}
	_, code = t.End(who, true)
	t.Check(code == kafka.InvalidTxnState, "something was added: %v", code)
}

func timeoutAborts(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who, code := t.InitCode(t.Name("txn"), time.Second, t.Protocol)
	t.Check(code == kafka.OK, "init: %v", code)
	t.Write(tp, who, 0, "a")
	t.Check(t.Offset(tp, kafka.Latest, kafka.ReadCommitted) == 0, "not open")
	for range 300 {
		t.Sleep(100 * time.Millisecond)
		if t.Offset(tp, kafka.Latest, kafka.ReadCommitted) == 2 {
			break
		}
	}
	t.Holds(tp, "0:a 1:ABORT")
	_, code = t.End(who, true)
	t.Check(code == kafka.ProducerFenced || code == kafka.InvalidTxnState, "commit after the timeout: %v", code)
	_, code = t.Send(tp, who, 1, "b")
	t.Check(code == kafka.InvalidProducerEpoch || code == kafka.InvalidTxnState || code == kafka.TransactionAbortable, "produce after the timeout: %v", code)
	t.Holds(tp, "0:a 1:ABORT")
}
