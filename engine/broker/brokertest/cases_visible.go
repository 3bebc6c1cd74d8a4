package brokertest

import (
	"fmt"
	"slices"

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
