package brokertest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/kafka"
)

func metadataNames(t *T) {
	name := t.topic(3)
	topic := t.describe(name)
	t.check(topic.ID != [16]byte{}, "no topic id")
	for i, p := range topic.Partitions {
		t.check(p.Number == int32(i) && p.Leader >= 0 && p.Code == kafka.OK, "partition %+v", p)
	}
	missing := t.describe(t.name("missing"))
	t.check(missing.Code == kafka.UnknownTopicOrPartition, "a missing topic: %v", missing.Code)
}

func everyBrokerAnswers(t *T) {
	t.topic(1) // which is there only when every broker shows it
	first, ok := t.view(-1)
	t.check(ok && len(first.Brokers) > 0, "the bootstrap node names no broker")
	for _, node := range first.Brokers {
		m, ok := t.view(node)
		t.check(ok && len(m.Brokers) == len(first.Brokers), "node %d sees %v, another sees %v", node, m.Brokers, first.Brokers)
	}
}

func versionsShowProtocol(t *T) {
	v := t.Features.TransactionVersion
	t.check(v >= 0 && v <= 2, "transaction.version %d", v)
	t.check(t.Features.Max(26) >= 3 && t.Features.Max(0) >= 9 && t.Features.Max(9) >= 8, "versions %v", t.Features.MaxVersions)
	t.check(v < 2 || t.Features.Max(26) >= 5 && t.Features.Max(0) >= 12 && t.Features.Max(28) >= 5, "versions %v at transaction.version %d", t.Features.MaxVersions, v)
}

func createTwice(t *T) {
	name := t.topic(1)
	var codes []kafka.Code
	t.do(func(done func()) {
		t.CreateTopics([]kafka.NewTopic{{Name: name, Partitions: 1, Replication: 1}}, func(c []kafka.Code, err error) { codes = c; done() })
	})
	t.check(len(codes) == 1 && codes[0] == kafka.TopicAlreadyExists, "created twice: %v", codes)
}

func addPartitions(t *T) {
	name := t.topic(1)
	code := t.settle("create partitions", func(done func(kafka.Code, error)) { t.CreatePartitions(name, 4, done) })
	t.check(code == kafka.OK, "create partitions: %v", code)
	t.visible(name, 4)
	t.write(part(name, 3), t.writer(), 0, "a")
}

func configsAreTold(t *T) {
	name := t.topic(1, kafka.ConfigEntry{Name: kafka.ConfigTimestampType, Value: "LogAppendTime"}, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "123456789"})
	var got []kafka.TopicConfigs
	for range 100 {
		t.do(func(done func()) {
			t.DescribeConfigs([]string{name}, func(c []kafka.TopicConfigs, err error) {
				if got = c; err != nil {
					got = nil
				}
				done()
			})
		})
		if got != nil && got[0].Code == kafka.OK {
			break
		}
		t.sleep(20 * time.Millisecond)
	}
	t.check(got != nil && got[0].Code == kafka.OK, "describe configs: %+v", got)
	retention, _ := got[0].Get(kafka.ConfigRetentionMs)
	policy, _ := got[0].Get(kafka.ConfigCleanupPolicy)
	t.check(got[0].LogAppendTime() && retention == "123456789" && policy == "delete", "configs %+v", got[0].Entries)
}

// plain is an idempotent producer without a transactional id.
func (t *T) plain() kafka.Identity { return t.init("", t.Protocol) }

func roundTrip(t *T) {
	tp := part(t.topic(1), 0)
	records := []kafka.Record{
		{Key: []byte("a"), Value: []byte("1"), Timestamp: 1_700_000_000_001},
		{Value: []byte{}, Timestamp: 1_600_000_000_000},
		{Key: []byte{}, Headers: kafka.AppendHeaders(nil, []kafka.Header{{Key: "h", Value: []byte("v")}, {Key: "n"}}), Timestamp: 1_700_000_000_003},
	}
	who := t.plain()
	p, code := t.sendRecords(tp, who, 0, kafka.NoCompression, records)
	t.check(code == kafka.OK && p.Offset == 0 && p.LogAppendTime == -1, "produce: %v %+v", code, p)
	f, code := t.fetchCode(tp, 0, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OK && f.HighWatermark == 3 && f.LastStable == 3 && f.LogStart == 0, "fetch: %v %+v", code, f)
	it := kafka.ReadBatches(f.Records)
	t.check(it.Next(), "no batch: %v", it.Err())
	t.check(it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == who.ProducerEpoch && !it.Batch.Transactional, "batch %+v", it.Batch)
	for i, want := range records {
		t.check(it.NextRecord(), "record %d: %v", i, it.Err())
		got := it.Record
		t.check(same(got.Key, want.Key) && same(got.Value, want.Value) && bytes.Equal(got.Headers, want.Headers) && got.Timestamp == want.Timestamp && got.Offset == int64(i),
			"record %d: %+v, wrote %+v", i, got, want)
	}
	t.check(t.write(tp, who, 3, "b") == 3, "offsets are not dense")
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func compressions(t *T) {
	tp := part(t.topic(1), 0)
	who := t.plain()
	var want []string
	for how := kafka.NoCompression; how <= kafka.Zstd; how++ {
		value := strings.Repeat(how.String(), 50)
		_, code := t.sendRecords(tp, who, int32(how), how, []kafka.Record{{Value: []byte(value), Timestamp: 1}})
		t.check(code == kafka.OK, "%s: %v", how, code)
		want = append(want, fmt.Sprintf("%d:%s", how, value))
	}
	got := t.dump(tp)
	t.check(got == strings.Join(want, " "), "read %s", got)
}

func logAppendTime(t *T) {
	tp := part(t.topic(1, kafka.ConfigEntry{Name: kafka.ConfigTimestampType, Value: "LogAppendTime"}), 0)
	p, code := t.send(tp, t.plain(), 0, "a")
	t.check(code == kafka.OK && p.LogAppendTime > 1_700_000_000_000, "produce: %v %+v", code, p)
	f, _ := t.fetchCode(tp, 0, kafka.ReadCommitted, 1<<20)
	it := kafka.ReadBatches(f.Records)
	t.check(it.Next() && it.NextRecord(), "nothing to read: %v", it.Err())
	t.check(it.Batch.LogAppendTime && it.Record.Timestamp == p.LogAppendTime, "batch %+v, record at %d, answered %d", it.Batch, it.Record.Timestamp, p.LogAppendTime)
}

func offsetsByTimestamp(t *T) {
	tp := part(t.topic(1), 0)
	who := t.plain()
	for i := range int32(3) {
		_, code := t.sendRecords(tp, who, i, kafka.NoCompression, []kafka.Record{{Value: []byte("v"), Timestamp: 1_700_000_000_000 + int64(i)*1000}})
		t.check(code == kafka.OK, "produce: %v", code)
	}
	at := func(ts int64) int64 { return t.offset(tp, ts, kafka.ReadCommitted) }
	t.check(at(1_600_000_000_000) == 0 && at(1_700_000_000_500) == 1 && at(1_700_000_002_000) == 2 && at(1_700_000_002_001) == -1,
		"%d %d %d %d", at(1_600_000_000_000), at(1_700_000_000_500), at(1_700_000_002_000), at(1_700_000_002_001))
}

func fetchWithinBatch(t *T) {
	tp := part(t.topic(1), 0)
	who := t.plain()
	t.write(tp, who, 0, "a", "b", "c")
	t.write(tp, who, 3, "d")
	f, code := t.fetchCode(tp, 1, kafka.ReadCommitted, 1) // one byte is enough for a whole batch
	t.check(code == kafka.OK, "fetch: %v", code)
	it := kafka.ReadBatches(f.Records)
	t.check(it.Next() && it.Batch.BaseOffset == 0 && it.Batch.LastOffset == 2, "batch %+v, %v", it.Batch, it.Err())
}

func outOfRange(t *T) {
	tp := part(t.topic(1), 0)
	t.write(tp, t.plain(), 0, "a")
	f, code := t.fetchCode(tp, 1, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OK && len(f.Records) == 0, "at the end: %v, %d bytes", code, len(f.Records))
	_, code = t.fetchCode(tp, 2, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OffsetOutOfRange, "behind the end: %v", code)
}

func deleteRecords(t *T) {
	tp := part(t.topic(1), 0)
	who := t.plain()
	for i := range int32(4) {
		t.write(tp, who, i, fmt.Sprint(i))
	}
	remove := func(to int64) kafka.Code {
		return t.settle("delete records", func(done func(kafka.Code, error)) { t.DeleteRecords(tp, to, done) })
	}
	code := remove(3)
	t.check(code == kafka.OK, "delete records: %v", code)
	t.check(t.offset(tp, kafka.Earliest, kafka.ReadCommitted) == 3, "log start %d", t.offset(tp, kafka.Earliest, kafka.ReadCommitted))
	_, code = t.fetchCode(tp, 1, kafka.ReadCommitted, 1<<20)
	t.check(code == kafka.OffsetOutOfRange, "below the log start: %v", code)
	code = remove(9)
	t.check(code == kafka.OffsetOutOfRange, "beyond the end: %v", code)
}

func repeatedBatch(t *T) {
	tp := part(t.topic(1), 0)
	who := t.plain()
	for i := range int32(5) {
		t.write(tp, who, i, fmt.Sprint(i))
	}
	for i := range int32(5) {
		at := t.write(tp, who, i, fmt.Sprint(i))
		t.check(at == int64(i), "batch %d repeated: offset %d", i, at)
	}
	end := t.offset(tp, kafka.Latest, kafka.ReadUncommitted)
	t.check(end == 5, "the log ends at %d", end)
}

func sequenceGap(t *T) {
	tp := part(t.topic(1), 0)
	who := t.writer()
	t.write(tp, who, 0, "a")
	_, code := t.send(tp, who, 2, "c")
	t.check(code == kafka.OutOfOrderSequence, "a gap: %v", code)
	t.finish(who, false, tp)
}

func staleEpochProduce(t *T) {
	tp := part(t.topic(1), 0)
	old := t.writer()
	t.write(tp, old, 0, "a")
	t.finish(old, true, tp)
	fresh := t.init(old.TransactionalID, t.Protocol)
	t.write(tp, fresh, 0, "b")
	_, code := t.send(tp, old, 1, "c")
	t.check(code == kafka.InvalidProducerEpoch || code == kafka.InvalidTxnState || code == kafka.TransactionAbortable, "stale epoch: %v", code)
	t.finish(fresh, true, tp)
	t.holds(tp, "0:a 1:COMMIT 2:b 3:COMMIT")
}
