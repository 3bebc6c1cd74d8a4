package brokertest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

func metadataNames(t *stage.T) {
	name := t.Topic(3)
	topic := t.Describe(name)
	t.Check(topic.ID != [16]byte{}, "no topic id")
	for i, p := range topic.Partitions {
		t.Check(p.Number == int32(i) && p.Leader >= 0 && p.Code == kafka.OK, "partition %+v", p)
	}
	missing := t.Describe(t.Name("missing"))
	t.Check(missing.Code == kafka.UnknownTopicOrPartition, "a missing topic: %v", missing.Code)
}

func everyBrokerAnswers(t *stage.T) {
	t.Topic(1) // which is there only when every broker shows it
	first, ok := t.View(-1)
	t.Check(ok && len(first.Brokers) > 0, "the bootstrap node names no broker")
	for _, node := range first.Brokers {
		m, ok := t.View(node)
		t.Check(ok && len(m.Brokers) == len(first.Brokers), "node %d sees %v, another sees %v", node, m.Brokers, first.Brokers)
	}
}

func versionsShowProtocol(t *stage.T) {
	v := t.Features.TransactionVersion
	t.Check(v >= 0 && v <= 2, "transaction.version %d", v)
	t.Check(t.Features.Max(26) >= 3 && t.Features.Max(0) >= 9 && t.Features.Max(9) >= 8, "versions %v", t.Features.MaxVersions)
	t.Check(v < 2 || t.Features.Max(26) >= 5 && t.Features.Max(0) >= 12 && t.Features.Max(28) >= 5, "versions %v at transaction.version %d", t.Features.MaxVersions, v)
}

func createTwice(t *stage.T) {
	name := t.Topic(1)
	var codes []kafka.Code
	t.Do(func(done func()) {
		t.CreateTopics([]kafka.NewTopic{{Name: name, Partitions: 1, Replication: 1}}, func(c []kafka.Code, err error) { codes = c; done() })
	})
	t.Check(len(codes) == 1 && codes[0] == kafka.TopicAlreadyExists, "created twice: %v", codes)
}

func addPartitions(t *stage.T) {
	name := t.Topic(1)
	code := t.Settle("create partitions", func(done func(kafka.Code, error)) { t.CreatePartitions(name, 4, done) })
	t.Check(code == kafka.OK, "create partitions: %v", code)
	t.Visible(name, 4)
	t.Write(stage.Part(name, 3), t.Writer(), 0, "a")
}

func configsAreTold(t *stage.T) {
	name := t.Topic(1, kafka.ConfigEntry{Name: kafka.ConfigTimestampType, Value: "LogAppendTime"}, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "123456789"})
	var got []kafka.TopicConfigs
	for range 100 {
		t.Do(func(done func()) {
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
		t.Sleep(20 * time.Millisecond)
	}
	t.Check(got != nil && got[0].Code == kafka.OK, "describe configs: %+v", got)
	retention, _ := got[0].Get(kafka.ConfigRetentionMs)
	policy, _ := got[0].Get(kafka.ConfigCleanupPolicy)
	t.Check(got[0].LogAppendTime() && retention == "123456789" && policy == "delete", "configs %+v", got[0].Entries)
}

func roundTrip(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	records := []kafka.Record{
		{Key: []byte("a"), Value: []byte("1"), Timestamp: 1_700_000_000_001},
		{Value: []byte{}, Timestamp: 1_600_000_000_000},
		{Key: []byte{}, Headers: kafka.AppendHeaders(nil, []kafka.Header{{Key: "h", Value: []byte("v")}, {Key: "n"}}), Timestamp: 1_700_000_000_003},
	}
	who := t.Plain()
	p, code := t.SendRecords(tp, who, 0, kafka.NoCompression, records)
	t.Check(code == kafka.OK && p.Offset == 0 && p.LogAppendTime == -1, "produce: %v %+v", code, p)
	f, code := t.Fetch(tp, 0, kafka.ReadCommitted, 1<<20)
	t.Check(code == kafka.OK && f.HighWatermark == 3 && f.LastStable == 3 && f.LogStart == 0, "fetch: %v %+v", code, f)
	it := kafka.ReadBatches(f.Records)
	t.Check(it.Next(), "no batch: %v", it.Err())
	t.Check(it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == who.ProducerEpoch && !it.Batch.Transactional, "batch %+v", it.Batch)
	for i, want := range records {
		t.Check(it.NextRecord(), "record %d: %v", i, it.Err())
		got := it.Record
		t.Check(same(got.Key, want.Key) && same(got.Value, want.Value) && bytes.Equal(got.Headers, want.Headers) && got.Timestamp == want.Timestamp && got.Offset == int64(i),
			"record %d: %+v, wrote %+v", i, got, want)
	}
	t.Check(t.Write(tp, who, 3, "b") == 3, "offsets are not dense")
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func compressions(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Plain()
	var want []string
	for how := kafka.NoCompression; how <= kafka.Zstd; how++ {
		value := strings.Repeat(how.String(), 50)
		_, code := t.SendRecords(tp, who, int32(how), how, []kafka.Record{{Value: []byte(value), Timestamp: 1}})
		t.Check(code == kafka.OK, "%s: %v", how, code)
		want = append(want, fmt.Sprintf("%d:%s", how, value))
	}
	got := t.Dump(tp)
	t.Check(got == strings.Join(want, " "), "read %s", got)
}

func logAppendTime(t *stage.T) {
	tp := stage.Part(t.Topic(1, kafka.ConfigEntry{Name: kafka.ConfigTimestampType, Value: "LogAppendTime"}), 0)
	p, code := t.Send(tp, t.Plain(), 0, "a")
	t.Check(code == kafka.OK && p.LogAppendTime > 1_700_000_000_000, "produce: %v %+v", code, p)
	f, _ := t.Fetch(tp, 0, kafka.ReadCommitted, 1<<20)
	it := kafka.ReadBatches(f.Records)
	t.Check(it.Next() && it.NextRecord(), "nothing to read: %v", it.Err())
	t.Check(it.Batch.LogAppendTime && it.Record.Timestamp == p.LogAppendTime, "batch %+v, record at %d, answered %d", it.Batch, it.Record.Timestamp, p.LogAppendTime)
}

func offsetsByTimestamp(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Plain()
	for i := range int32(3) {
		_, code := t.SendRecords(tp, who, i, kafka.NoCompression, []kafka.Record{{Value: []byte("v"), Timestamp: 1_700_000_000_000 + int64(i)*1000}})
		t.Check(code == kafka.OK, "produce: %v", code)
	}
	at := func(ts int64) int64 { return t.Offset(tp, ts, kafka.ReadCommitted) }
	t.Check(at(1_600_000_000_000) == 0 && at(1_700_000_000_500) == 1 && at(1_700_000_002_000) == 2 && at(1_700_000_002_001) == -1,
		"%d %d %d %d", at(1_600_000_000_000), at(1_700_000_000_500), at(1_700_000_002_000), at(1_700_000_002_001))
}

func fetchWithinBatch(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Plain()
	t.Write(tp, who, 0, "a", "b", "c")
	t.Write(tp, who, 3, "d")
	f, code := t.Fetch(tp, 1, kafka.ReadCommitted, 1) // one byte is enough for a whole batch
	t.Check(code == kafka.OK, "fetch: %v", code)
	it := kafka.ReadBatches(f.Records)
	t.Check(it.Next() && it.Batch.BaseOffset == 0 && it.Batch.LastOffset == 2, "batch %+v, %v", it.Batch, it.Err())
}
