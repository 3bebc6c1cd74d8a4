package brokertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

func producerAndFetcher(t *stage.T) {
	name := t.Topic(3)
	who := t.Writer()
	p := t.NewProducer(kafka.ProducerConfig{Identity: who, BatchBytes: 300, Compression: kafka.Zstd})
	want := make([][]string, 3)
	for i := range 100 {
		v := fmt.Sprint("v", i)
		err := p.Append(name, int32(i%3), []byte("k"), []byte(v), nil, int64(1_700_000_000_000+i))
		t.Check(err == nil, "append: %v", err)
		want[i%3] = append(want[i%3], v)
	}
	var err error
	t.Do(func(done func()) { p.Flush(func(e error) { err = e; done() }) })
	t.Check(err == nil, "flush: %v", err)
	ranges := p.Ranges()
	t.Check(len(ranges) == 3, "ranges %+v", ranges)
	t.Finish(who, true, stage.Part(name, 0), stage.Part(name, 1), stage.Part(name, 2))
	for i, r := range ranges {
		tp := stage.Part(name, int32(i))
		var got []string
		for _, line := range t.Drain(tp, 0, t.Offset(tp, kafka.Latest, kafka.ReadCommitted)) {
			got = append(got, line[strings.Index(line, ":")+1:])
		}
		t.Check(slices.Equal(got, want[i]), "partition %d: %v", i, got)
		var sum kafka.RangeSum
		for it := kafka.ReadBatches(t.Log(tp)); it.Next(); {
			for it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == who.ProducerEpoch && !it.Batch.Control && it.NextRecord() {
				sum.Add(&it.Batch, &it.Record)
			}
		}
		t.Check(sum.Matches(r) && r.First == 0 && r.Last == int64(len(want[i])-1), "range %+v, the log says %+v", r, sum)
	}
}
