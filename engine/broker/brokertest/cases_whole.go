package brokertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/kafka"
)

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
