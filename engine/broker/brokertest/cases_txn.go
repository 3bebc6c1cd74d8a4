package brokertest

import (
	"slices"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

func initAgain(t *T) {
	a := t.writer()
	b := t.init(a.TransactionalID, t.Protocol)
	t.check(b.ProducerID == a.ProducerID && b.ProducerEpoch == a.ProducerEpoch+1, "first %+v, then %+v", a, b)
	other := t.writer()
	t.check(other.ProducerID != a.ProducerID, "two ids share producer id %d", a.ProducerID)
}

func initBadTimeout(t *T) {
	for _, timeout := range []time.Duration{0, 10 * 24 * time.Hour} {
		_, code := t.initCode(t.name("txn"), timeout, t.Protocol)
		t.check(code == kafka.InvalidTransactionTimeout, "timeout %s: %v", timeout, code)
	}
}

func initFences(t *T) {
	tp := part(t.topic(1), 0)
	old := t.writer()
	t.write(tp, old, 0, "a")
	fresh := t.init(old.TransactionalID, t.Protocol)
	t.check(fresh.ProducerEpoch > old.ProducerEpoch, "epoch %d after %d", fresh.ProducerEpoch, old.ProducerEpoch)
	t.closed(old, tp)
	t.holds(tp, "0:a 1:ABORT")
	_, code := t.send(tp, old, 1, "b")
	t.check(code == kafka.InvalidProducerEpoch, "produce by the old one: %v", code)
	t.check(t.offset(tp, kafka.Latest, kafka.ReadUncommitted) == 2, "the old one wrote")
	t.write(tp, fresh, 0, "c")
	t.finish(fresh, true, tp)
	t.holds(tp, "0:a 1:ABORT 2:c 3:COMMIT")
}

func takeOverBumpsTwice(t *T) {
	tp := part(t.topic(1), 0)
	old := t.writer()
	t.write(tp, old, 0, "a")
	fresh := t.init(old.TransactionalID, t.Protocol)
	t.check(fresh.ProducerEpoch >= old.ProducerEpoch+2, "epoch %d after %d", fresh.ProducerEpoch, old.ProducerEpoch)
}

func fencedCommit(t *T) {
	tp := part(t.topic(1), 0)
	old := t.writer()
	t.write(tp, old, 0, "a")
	t.init(old.TransactionalID, t.Protocol)
	_, code := t.end(old, true)
	t.check(code == kafka.ProducerFenced || code == kafka.InvalidTxnState, "commit of a fenced transaction: %v", code)
	t.holds(tp, "0:a 1:ABORT")
}

func endRepeated(commit bool) func(*T) {
	verdict := map[bool]string{true: "COMMIT", false: "ABORT"}[commit]
	return func(t *T) {
		tp := part(t.topic(1), 0)
		who := t.writer()
		t.write(tp, who, 0, "a")
		next := t.finish(who, commit, tp)
		for range 3 {
			again, code := t.end(who, commit)
			t.check(code == kafka.OK && again == next, "repeated: %v %+v, first %+v", code, again, next)
		}
		t.holds(tp, "0:a 1:"+verdict)
	}
}

func commitAfterAbort(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	t.finish(who, false, tp)
	_, code := t.end(who, true)
	t.check(code == kafka.InvalidTxnState, "commit after abort: %v", code)
	t.holds(tp, "0:a 1:ABORT")
}

func commitOfNothing(t *T) {
	_, code := t.end(t.writer(), true)
	t.check(code == kafka.InvalidTxnState, "commit of nothing: %v", code)
}

func endUnknown(t *T) {
	who := t.writer()
	who.TransactionalID = t.name("unknown")
	who.ProducerID += 1 << 40
	_, code := t.end(who, true)
	t.check(code == kafka.InvalidProducerIDMapping, "end of an unknown id: %v", code)
}

func endForeign(t *T) {
	tp := part(t.topic(1), 0)
	mine, other := t.writer(), t.writer()
	t.write(tp, other, 0, "a")
	mine.ProducerID, mine.ProducerEpoch = other.ProducerID, other.ProducerEpoch
	_, code := t.end(mine, true)
	t.check(code == kafka.InvalidProducerIDMapping, "end with another's producer id: %v", code)
	p, ok := t.producer(tp, other.ProducerID)
	t.check(ok && p.OpenFrom == 0, "the other's transaction was ended")
	t.finish(other, false, tp)
}

func nextEpoch(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	next := t.finish(who, true, tp)
	if who.Protocol < 5 {
		t.check(next == who, "protocol 4 changed the identity: %+v, then %+v", who, next)
		return
	}
	t.check(next.ProducerID == who.ProducerID && next.ProducerEpoch == who.ProducerEpoch+1, "%+v, then %+v", who, next)
	t.write(tp, next, 0, "b")
	last := t.finish(next, true, tp)
	t.check(last.ProducerEpoch == next.ProducerEpoch+1, "%+v, then %+v", next, last)
	t.holds(tp, "0:a 1:COMMIT 2:b 3:COMMIT")
}

func lateRepeat(t *T) {
	if t.Protocol < 5 {
		return // below transaction.version 2 it does, which is why ids are initialised between uses
	}
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	next := t.finish(who, true, tp)
	t.write(tp, next, 0, "b")
	_, code := t.end(who, true)
	t.check(code == kafka.ProducerFenced, "late repeat: %v", code)
	p, _ := t.producer(tp, who.ProducerID)
	t.check(p.OpenFrom == 2, "open from %d", p.OpenFrom)
	t.finish(next, false, tp)
}

func withoutAdding(t *T) {
	tp := part(t.topic(1), 0)
	who := t.init(t.name("txn"), 4)
	_, code := t.send(tp, who, 0, "a")
	t.check(code == kafka.InvalidTxnState || code == kafka.TransactionAbortable, "not added: %v", code)
	t.check(t.offset(tp, kafka.Latest, kafka.ReadUncommitted) == 0, "something was appended")
}

func protocolFour(t *T) {
	name := t.topic(2)
	tp, other := part(name, 0), part(name, 1)
	who := t.init(t.name("txn"), 4)
	t.join(who, tp, other)
	t.write(tp, who, 0, "a")
	t.write(other, who, 0, "b")
	next := t.finish(who, true, tp, other)
	t.check(next == who, "%+v, then %+v", who, next)
	t.write(tp, who, 1, "c")
	t.finish(who, false, tp)
	t.holds(tp, "0:a 1:COMMIT 2:c 3:ABORT")
	t.holds(other, "0:b 1:COMMIT")
}

func unknownNotAdded(t *T) {
	name := t.topic(1)
	who := t.init(t.name("txn"), 4)
	var code kafka.Code
	var all []kafka.PartitionCode
	for range 50 {
		t.do(func(done func()) {
			t.AddPartitionsToTxn(who, []id.TopicPartition{part(name, 0), part(name, 7)}, func(a []kafka.PartitionCode, c kafka.Code, err error) { all, code = a, c; done() })
		})
		if slices.ContainsFunc(all, func(a kafka.PartitionCode) bool { return a.Partition == 0 && a.Code == kafka.OperationNotAttempted }) {
			break
		}
		t.sleep(20 * time.Millisecond)
	}
	t.check(code == kafka.UnknownTopicOrPartition, "added: %v %v", code, all)
	for _, a := range all {
		t.check(a.Partition == 7 || a.Code == kafka.OperationNotAttempted, "partition %d: %v", a.Partition, a.Code)
	}
	_, code = t.end(who, true)
	t.check(code == kafka.InvalidTxnState, "something was added: %v", code)
}

func timeoutAborts(t *T) {
	tp := part(t.topic(1), 0)
	who, code := t.initCode(t.name("txn"), time.Second, t.Protocol)
	t.check(code == kafka.OK, "init: %v", code)
	t.write(tp, who, 0, "a")
	t.check(t.offset(tp, kafka.Latest, kafka.ReadCommitted) == 0, "not open")
	for range 300 {
		t.sleep(100 * time.Millisecond)
		if t.offset(tp, kafka.Latest, kafka.ReadCommitted) == 2 {
			break
		}
	}
	t.holds(tp, "0:a 1:ABORT")
	_, code = t.end(who, true)
	t.check(code == kafka.ProducerFenced || code == kafka.InvalidTxnState, "commit after the timeout: %v", code)
	_, code = t.send(tp, who, 1, "b")
	t.check(code == kafka.InvalidProducerEpoch || code == kafka.InvalidTxnState || code == kafka.TransactionAbortable, "produce after the timeout: %v", code)
	t.holds(tp, "0:a 1:ABORT")
}
