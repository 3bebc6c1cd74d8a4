package stage

import (
	"fmt"
	"strings"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
)

// Send produces one batch at a sequence and returns where it is.
func (t *T) Send(tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) (kafka.Produced, kafka.Code) {
	var records []kafka.Record
	for _, v := range values {
		records = append(records, kafka.Record{Key: []byte("k"), Value: []byte(v), Timestamp: t.Time})
	}
	return t.SendRecords(tp, who, sequence, kafka.NoCompression, records)
}

// SendRecords is Send of records as they are.
func (t *T) SendRecords(tp id.TopicPartition, who kafka.Identity, sequence int32, how kafka.Compression, records []kafka.Record) (got kafka.Produced, code kafka.Code) {
	batch, err := kafka.BuildBatch(who, sequence, how, records)
	t.Check(err == nil, "batch: %v", err)
	code = t.Settle("produce", func(done func(kafka.Code, error)) {
		t.ProduceOnce(tp, who, batch, func(p kafka.Produced, c kafka.Code, err error) { got = p; done(c, err) })
	})
	return got, code
}

// Write is join and send, which must succeed.
func (t *T) Write(tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) int64 {
	if who.TransactionalID != "" {
		t.Join(who, tp)
	}
	p, code := t.Send(tp, who, sequence, values...)
	t.Check(code == kafka.OK, "produce to %s: %v", tp, code)
	return p.Offset
}

// Log is all batches of a partition up to the high watermark. One answer need not have them all: a broker ends it with a
// segment, and rolls segments by the timestamps of records.
func (t *T) Log(tp id.TopicPartition) (log []byte) {
	at := t.Offset(tp, kafka.Earliest, kafka.ReadUncommitted)
	for {
		f, code := t.Fetch(tp, at, kafka.ReadUncommitted, 1<<20)
		t.Check(code == kafka.OK, "fetch of %s: %v", tp, code)
		log = append(log, f.Records...)
		it := kafka.ReadBatches(f.Records)
		for it.Next() {
			at = it.Batch.LastOffset + 1
		}
		t.Check(it.Err() == nil, "fetch of %s: %v", tp, it.Err())
		if len(f.Records) == 0 || at >= f.HighWatermark {
			return log
		}
	}
}

// Holds waits until a partition holds exactly that, as dump writes it.
func (t *T) Holds(tp id.TopicPartition, want string) {
	got := ""
	ok := t.Within(Patience, func() bool { got = t.Dump(tp); return got == want })
	t.Check(ok, "partition %s holds %q, not %q", tp, got, want)
}

// Fetch fetches once.
func (t *T) Fetch(tp id.TopicPartition, offset int64, isolation kafka.Isolation, maxBytes int32) (got kafka.Fetched, code kafka.Code) {
	code = t.Settle("fetch", func(done func(kafka.Code, error)) {
		t.FetchOnce(tp, offset, isolation, maxBytes, func(f kafka.Fetched, c kafka.Code, err error) { got = f; done(c, err) })
	})
	return got, code
}

// Drain reads committed records with a Fetcher up to stop.
func (t *T) Drain(tp id.TopicPartition, from, stop int64) (lines []string) {
	woken := func() {}
	f := t.NewFetcher(kafka.FetcherConfig{Isolation: kafka.ReadCommitted, PartitionMaxBytes: 200, Wake: func() { woken() }},
		[]operator.Split{{Topic: tp.Topic, Partition: tp.Partition, Position: from, Stop: stop}})
	defer f.Close()
	for range 10_000 {
		status, err := f.Poll(3, func(r *operator.Record) error {
			lines = append(lines, fmt.Sprintf("%d:%s", r.Offset, r.Value))
			return nil
		})
		t.Check(err == nil, "fetcher: %v", err)
		switch status {
		case operator.Ended:
			t.Check(f.Splits()[0].Position == stop, "ended at %d, not %d", f.Splits()[0].Position, stop)
			return lines
		case operator.Waiting:
			t.Do(func(done func()) { woken = func() { woken = func() {}; t.Loop.Post(done) } })
		}
	}
	t.Fail("no end at %d", stop)
	return nil
}

// Dump is everything in a partition, control records too, as "0:a 1:b 2:COMMIT".
func (t *T) Dump(tp id.TopicPartition) string { return strings.Join(t.Lines(t.Log(tp)), " ") }

// Lines is what batches hold, a line for each record or marker.
func (t *T) Lines(b []byte) (lines []string) {
	it := kafka.ReadBatches(b)
	for it.Next() {
		if it.Batch.Control {
			commit, ok := it.Marker()
			t.Check(ok, "a control record that is no end marker at %d", it.Batch.BaseOffset)
			lines = append(lines, fmt.Sprintf("%d:%s", it.Batch.BaseOffset, map[bool]string{true: "COMMIT", false: "ABORT"}[commit]))
			continue
		}
		for it.NextRecord() {
			lines = append(lines, fmt.Sprintf("%d:%s", it.Record.Offset, it.Record.Value))
		}
	}
	t.Check(it.Err() == nil, "%v", it.Err())
	return lines
}

// Offset asks for one offset.
func (t *T) Offset(tp id.TopicPartition, timestamp int64, isolation kafka.Isolation) int64 {
	var got []kafka.ListedOffset
	var err error
	t.Do(func(done func()) {
		t.ListOffsets([]id.TopicPartition{tp}, timestamp, isolation, func(o []kafka.ListedOffset, e error) { got, err = o, e; done() })
	})
	t.Check(err == nil, "list offsets of %s: %v", tp, err)
	return got[0].Offset
}
