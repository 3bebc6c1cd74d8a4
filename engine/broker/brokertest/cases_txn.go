package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
)

func markerTakesOffset(t *T) {
	name := t.topic(2)
	one, other := part(name, 0), part(name, 1)
	who := t.writer()
	t.write(one, who, 0, "a", "b")
	who = t.finish(who, true, one)
	sequence := int32(2)
	if who.Protocol >= 5 {
		sequence = 0
	}
	t.write(one, who, sequence, "c")
	t.finish(who, false, one)
	t.holds(one, "0:a 1:b 2:COMMIT 3:c 4:ABORT")
	t.check(t.offset(other, kafka.Latest, kafka.ReadUncommitted) == 0, "an untouched partition got a marker")
}

func lastStable(t *T) {
	tp := part(t.topic(1), 0)
	a, b, plain := t.writer(), t.writer(), t.plain()
	stable := func() int64 { return t.offset(tp, kafka.Latest, kafka.ReadCommitted) }
	t.write(tp, plain, 0, "x") // 0
	t.write(tp, a, 0, "a")     // 1
	t.write(tp, b, 0, "b")     // 2
	t.write(tp, plain, 1, "y") // 3
	t.check(stable() == 1 && t.offset(tp, kafka.Latest, kafka.ReadUncommitted) == 4, "stable %d", stable())
	f, code := t.fetchCode(tp, 0, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OK && f.LastStable == 1 && f.HighWatermark == 4, "fetch %v %+v", code, f)
	f, code = t.fetchCode(tp, 1, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OK && len(t.lines(f.Records)) == 0, "at the last stable offset: %v %v", code, t.lines(f.Records))
	t.finish(b, true, tp) // 4
	t.check(stable() == 1, "the younger one ended, stable %d", stable())
	t.finish(a, true, tp) // 5
	t.check(stable() == 6, "both ended, stable %d", stable())
}

func abortedListed(t *T) {
	tp := part(t.topic(1), 0)
	a, b := t.writer(), t.writer()
	t.write(tp, a, 0, "a") // 0
	t.write(tp, b, 0, "b") // 1
	t.write(tp, a, 1, "c") // 2
	t.finish(a, false, tp) // 3
	t.finish(b, true, tp)  // 4
	f, code := t.fetchCode(tp, 0, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OK && slices.Equal(f.Aborted, []kafka.AbortedTxn{{ProducerID: a.ProducerID, First: 0}}), "from 0: %v %+v", code, f.Aborted)
	f, _ = t.fetchCode(tp, 2, kafka.ReadCommitted, 1<<20)
	t.check(slices.Equal(f.Aborted, []kafka.AbortedTxn{{ProducerID: a.ProducerID, First: 0}}), "from the middle: %+v", f.Aborted)
	f, _ = t.fetchCode(tp, 4, kafka.ReadCommitted, 1<<20)
	t.check(len(f.Aborted) == 0, "behind the marker: %+v", f.Aborted)
}

func onlyAByte(t *T) {
	name := t.topic(1)
	tp := part(name, 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	t.finish(who, false, tp)
	f, code := t.fetchCode(tp, 0, kafka.ReadCommitted, 1)
	t.check(code == kafka.OK && f.LastStable > 0 && slices.Equal(f.Aborted, []kafka.AbortedTxn{{ProducerID: who.ProducerID, First: 0}}),
		"%v, last stable %d, aborted %+v", code, f.LastStable, f.Aborted)
}

func interleaved(t *T) {
	tp := part(t.topic(1), 0)
	var want []string
	writers := []kafka.Identity{t.writer(), t.writer(), t.writer()}
	for round := range 4 {
		for i, who := range writers {
			for j := range int32(2) {
				v := fmt.Sprintf("%d.%d.%d", round, i, j)
				sequence := j
				if who.Protocol < 5 {
					sequence += int32(round) * 2
				}
				at := t.write(tp, who, sequence, v)
				if (round+i)%2 == 0 {
					want = append(want, fmt.Sprintf("%d:%s", at, v))
				}
			}
		}
		for i := range writers {
			writers[i] = t.finish(writers[i], (round+i)%2 == 0, tp)
		}
	}
	got := t.drain(tp, 0, t.offset(tp, kafka.Latest, kafka.ReadCommitted))
	t.check(slices.Equal(got, want), "read %v, want %v", got, want)
}

// drain reads committed records with a Fetcher up to stop.
func (t *T) drain(tp id.TopicPartition, from, stop int64) (lines []string) {
	woken := func() {}
	f := t.NewFetcher(kafka.FetcherConfig{Isolation: kafka.ReadCommitted, PartitionMaxBytes: 200, Wake: func() { woken() }},
		[]operator.Split{{Topic: tp.Topic, Partition: tp.Partition, Position: from, Stop: stop}})
	defer f.Close()
	for range 10_000 {
		status, err := f.Poll(3, func(r *operator.Record) error {
			lines = append(lines, fmt.Sprintf("%d:%s", r.Offset, r.Value))
			return nil
		})
		t.check(err == nil, "fetcher: %v", err)
		switch status {
		case operator.Ended:
			t.check(f.Splits()[0].Position == stop, "ended at %d, not %d", f.Splits()[0].Position, stop)
			return lines
		case operator.Waiting:
			t.do(func(done func()) { woken = func() { woken = func() {}; t.Loop.Post(done) } })
		}
	}
	t.fail("no end at %d", stop)
	return nil
}

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

func producerAndFetcher(t *T) {
	name := t.topic(3)
	who := t.writer()
	p := t.NewProducer(kafka.ProducerConfig{Identity: who, BatchBytes: 300, Compression: kafka.Zstd})
	want := make([][]string, 3)
	for i := range 100 {
		v := fmt.Sprint("v", i)
		err := p.Append(name, int32(i%3), []byte("k"), []byte(v), nil, int64(1_700_000_000_000+i))
		t.check(err == nil, "append: %v", err)
		want[i%3] = append(want[i%3], v)
	}
	var err error
	t.do(func(done func()) { p.Flush(func(e error) { err = e; done() }) })
	t.check(err == nil, "flush: %v", err)
	ranges := p.Ranges()
	t.check(len(ranges) == 3, "ranges %+v", ranges)
	t.finish(who, true, part(name, 0), part(name, 1), part(name, 2))
	for i, r := range ranges {
		tp := part(name, int32(i))
		var got []string
		for _, line := range t.drain(tp, 0, t.offset(tp, kafka.Latest, kafka.ReadCommitted)) {
			got = append(got, line[strings.Index(line, ":")+1:])
		}
		t.check(slices.Equal(got, want[i]), "partition %d: %v", i, got)
		sum := kafka.RangeSum{LogAppendTime: r.LogAppendTime}
		for it := kafka.ReadBatches(t.log(tp)); it.Next(); {
			for it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == who.ProducerEpoch && !it.Batch.Control && it.NextRecord() {
				sum.Add(&it.Record)
			}
		}
		t.check(sum.CRC == r.CRC && sum.Count == r.Count && r.First == 0 && r.Last == int64(len(want[i])-1), "range %+v, the log says %+v", r, sum)
	}
}

func movedLeader(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	err := t.Backend.(Mover).MoveLeader(tp)
	t.check(err == nil, "move: %v", err)
	t.check(t.write(tp, who, 0, "a") == 0, "a repeated batch was appended by the new leader")
	t.write(tp, who, 1, "b")
	t.finish(who, true, tp)
	t.holds(tp, "0:a 1:b 2:COMMIT")
}

func movedCoordinator(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	mover := t.Backend.(Mover)
	err := mover.MoveCoordinator(who.TransactionalID)
	t.check(err == nil, "move: %v", err)
	next := t.finish(who, true, tp)
	err = mover.MoveCoordinator(who.TransactionalID)
	t.check(err == nil, "move: %v", err)
	again, code := t.end(who, true)
	t.check(code == kafka.OK && again == next, "repeated: %v %+v, first %+v", code, again, next)
	for _, line := range t.lines(t.log(tp)) { // a new coordinator may write the marker again
		t.check(line == "0:a" || strings.HasSuffix(line, ":COMMIT"), "log: %s", t.dump(tp))
	}
}
