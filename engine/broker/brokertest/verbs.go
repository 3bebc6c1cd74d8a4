package brokertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// topic makes a topic and waits until every partition has a leader.
func (t *T) topic(partitions int32, configs ...kafka.ConfigEntry) string {
	name := t.name("topic")
	m, _ := t.view(-1)
	code := t.settle("create topic", func(done func(kafka.Code, error)) {
		t.CreateTopics([]kafka.NewTopic{{Name: name, Partitions: partitions, Replication: int16(max(1, min(3, len(m.Brokers)))), Configs: configs}}, func(codes []kafka.Code, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			done(codes[0], nil)
		})
	})
	t.check(code == kafka.OK || code == kafka.TopicAlreadyExists, "create topic: %v", code)
	t.visible(name, partitions)
	return name
}

// visible waits until every broker shows all partitions with leaders: each learns of them in its own time.
func (t *T) visible(name string, partitions int32) {
	for range 400 {
		if t.showing(name, partitions) {
			return
		}
		t.sleep(20 * time.Millisecond)
	}
	t.fail("topic %s does not appear on every broker", name)
}

func (t *T) showing(name string, partitions int32) bool {
	m, ok := t.view(-1)
	for _, node := range m.Brokers {
		seen, known := t.view(node, name)
		ok = ok && known && len(seen.Topics) == 1 && len(seen.Topics[0].Partitions) == int(partitions)
		for i := 0; ok && i < int(partitions); i++ {
			ok = seen.Topics[0].Partitions[i].Leader >= 0
		}
	}
	return ok && len(m.Brokers) > 0
}

// view is one broker's metadata.
func (t *T) view(node int32, names ...string) (m kafka.Metadata, ok bool) {
	t.do(func(done func()) {
		t.MetadataFrom(node, names, func(x kafka.Metadata, _ kafka.Code, err error) { m, ok = x, err == nil; done() })
	})
	return m, ok
}

func (t *T) describe(name string) kafka.Topic {
	var topics []kafka.Topic
	var err error
	t.do(func(done func()) {
		t.Topics([]string{name}, func(ts []kafka.Topic, e error) { topics, err = ts, e; done() })
	})
	t.check(err == nil && len(topics) == 1, "metadata of %s: %v", name, err)
	return topics[0]
}

// initCode initialises an id until the code is final.
func (t *T) initCode(transactionalID string, timeout time.Duration, protocol int16) (who kafka.Identity, code kafka.Code) {
	code = t.settle("init "+transactionalID, func(done func(kafka.Code, error)) {
		t.InitProducerID(transactionalID, timeout, protocol, func(w kafka.Identity, c kafka.Code, err error) { who = w; done(c, err) })
	})
	return who, code
}

func (t *T) init(transactionalID string, protocol int16) kafka.Identity {
	who, code := t.initCode(transactionalID, time.Minute, protocol)
	t.check(code == kafka.OK, "init %s: %v", transactionalID, code)
	return who
}

// writer is a fresh identity of the cluster's protocol.
func (t *T) writer() kafka.Identity { return t.init(t.name("txn"), t.Protocol) }

// join adds partitions where that takes a request.
func (t *T) join(who kafka.Identity, parts ...id.TopicPartition) {
	if who.Protocol >= 5 {
		return
	}
	code := t.settle("add partitions", func(done func(kafka.Code, error)) {
		t.AddPartitionsToTxn(who, parts, func(_ []kafka.PartitionCode, c kafka.Code, err error) { done(c, err) })
	})
	t.check(code == kafka.OK, "add partitions: %v", code)
}

func part(topic string, partition int32) id.TopicPartition {
	return id.TopicPartition{Topic: topic, Partition: partition}
}

// send produces one batch at a sequence and returns where it is.
func (t *T) send(tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) (kafka.Produced, kafka.Code) {
	var records []kafka.Record
	for _, v := range values {
		records = append(records, kafka.Record{Key: []byte("k"), Value: []byte(v), Timestamp: 1_700_000_000_000})
	}
	return t.sendRecords(tp, who, sequence, kafka.NoCompression, records)
}

func (t *T) sendRecords(tp id.TopicPartition, who kafka.Identity, sequence int32, how kafka.Compression, records []kafka.Record) (got kafka.Produced, code kafka.Code) {
	batch, err := kafka.BuildBatch(who, sequence, how, records)
	t.check(err == nil, "batch: %v", err)
	code = t.settle("produce", func(done func(kafka.Code, error)) {
		t.ProduceOnce(tp, who, batch, func(p kafka.Produced, c kafka.Code, err error) { got = p; done(c, err) })
	})
	return got, code
}

// write is join and send, which must succeed.
func (t *T) write(tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) int64 {
	if who.TransactionalID != "" {
		t.join(who, tp)
	}
	p, code := t.send(tp, who, sequence, values...)
	t.check(code == kafka.OK, "produce to %s: %v", tp, code)
	return p.Offset
}

// end ends a transaction until the code is final.
func (t *T) end(who kafka.Identity, commit bool) (next kafka.Identity, code kafka.Code) {
	code = t.settle("end", func(done func(kafka.Code, error)) {
		t.EndTxn(who, commit, func(n kafka.Identity, c kafka.Code, err error) { next = n; done(c, err) })
	})
	return next, code
}

// finish is end, which must succeed, and waits until no partition of parts shows the transaction open.
func (t *T) finish(who kafka.Identity, commit bool, parts ...id.TopicPartition) kafka.Identity {
	next, code := t.end(who, commit)
	t.check(code == kafka.OK, "end: %v", code)
	t.closed(who, parts...)
	return next
}

// closed waits until no partition shows an open transaction of the producer, and the marker can be read: a leader knows of
// it before it is replicated.
func (t *T) closed(who kafka.Identity, parts ...id.TopicPartition) {
	for range 200 {
		open := false
		for _, tp := range parts {
			p, ok := t.producer(tp, who.ProducerID)
			open = open || ok && p.OpenFrom >= 0 || tp.Topic[0] != '_' && !t.marked(tp, who.ProducerID)
		}
		if !open {
			return
		}
		t.sleep(20 * time.Millisecond)
	}
	t.fail("partitions %v stay open", parts)
}

// marked reports whether the last readable batch of a producer is a marker.
func (t *T) marked(tp id.TopicPartition, pid int64) (marked bool) {
	for it := kafka.ReadBatches(t.log(tp)); it.Next(); {
		if it.Batch.ProducerID == pid {
			marked = it.Batch.Control
		}
	}
	return marked
}

// log is all batches of a partition up to the high watermark. One answer need not have them all: a broker ends it with a
// segment, and rolls segments by the timestamps of records.
func (t *T) log(tp id.TopicPartition) (log []byte) {
	at := t.offset(tp, kafka.Earliest, kafka.ReadUncommitted)
	for {
		f, code := t.fetchCode(tp, at, kafka.ReadUncommitted, 1<<20)
		t.check(code == kafka.OK, "fetch of %s: %v", tp, code)
		log = append(log, f.Records...)
		it := kafka.ReadBatches(f.Records)
		for it.Next() {
			at = it.Batch.LastOffset + 1
		}
		t.check(it.Err() == nil, "fetch of %s: %v", tp, it.Err())
		if len(f.Records) == 0 || at >= f.HighWatermark {
			return log
		}
	}
}

// holds waits until a partition holds exactly that, as dump writes it.
func (t *T) holds(tp id.TopicPartition, want string) {
	got := ""
	for range 100 {
		if got = t.dump(tp); got == want {
			return
		}
		t.sleep(20 * time.Millisecond)
	}
	t.fail("partition %s holds %q, not %q", tp, got, want)
}

// producer is what a partition's leader knows of a producer.
func (t *T) producer(tp id.TopicPartition, pid int64) (kafka.ActiveProducer, bool) {
	var got []kafka.ActiveProducer
	code := t.settle("describe producers", func(done func(kafka.Code, error)) {
		t.DescribeProducers([]id.TopicPartition{tp}, func(p []kafka.PartitionProducers, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			got = p[0].Producers
			done(p[0].Code, nil)
		})
	})
	t.check(code == kafka.OK, "describe producers of %s: %v", tp, code)
	for _, p := range got {
		if p.ProducerID == pid {
			return p, true
		}
	}
	return kafka.ActiveProducer{}, false
}

// fetchCode fetches once.
func (t *T) fetchCode(tp id.TopicPartition, offset int64, isolation kafka.Isolation, maxBytes int32) (got kafka.Fetched, code kafka.Code) {
	code = t.settle("fetch", func(done func(kafka.Code, error)) {
		t.FetchOnce(tp, offset, isolation, maxBytes, func(f kafka.Fetched, c kafka.Code, err error) { got = f; done(c, err) })
	})
	return got, code
}

// dump is everything in a partition, control records too, as "0:a 1:b 2:COMMIT".
func (t *T) dump(tp id.TopicPartition) string { return strings.Join(t.lines(t.log(tp)), " ") }

func (t *T) lines(b []byte) (lines []string) {
	it := kafka.ReadBatches(b)
	for it.Next() {
		if it.Batch.Control {
			commit, ok := it.Marker()
			t.check(ok, "a control record that is no end marker at %d", it.Batch.BaseOffset)
			lines = append(lines, fmt.Sprintf("%d:%s", it.Batch.BaseOffset, map[bool]string{true: "COMMIT", false: "ABORT"}[commit]))
			continue
		}
		for it.NextRecord() {
			lines = append(lines, fmt.Sprintf("%d:%s", it.Record.Offset, it.Record.Value))
		}
	}
	t.check(it.Err() == nil, "%v", it.Err())
	return lines
}

// offset asks for one offset.
func (t *T) offset(tp id.TopicPartition, timestamp int64, isolation kafka.Isolation) int64 {
	var got []kafka.ListedOffset
	var err error
	t.do(func(done func()) {
		t.ListOffsets([]id.TopicPartition{tp}, timestamp, isolation, func(o []kafka.ListedOffset, e error) { got, err = o, e; done() })
	})
	t.check(err == nil, "list offsets of %s: %v", tp, err)
	return got[0].Offset
}

// markCode writes one transactional offset until the code is final.
func (t *T) markCode(who kafka.Identity, group string, tp id.TopicPartition, offset int64, metadata string) kafka.Code {
	if who.Protocol < 5 {
		code := t.settle("add offsets", func(done func(kafka.Code, error)) { t.AddOffsetsToTxn(who, group, done) })
		if code != kafka.OK {
			return code
		}
	}
	return t.settle("txn offset commit", func(done func(kafka.Code, error)) {
		t.TxnOffsetCommit(who, group, []kafka.Offset{{Topic: tp.Topic, Partition: tp.Partition, Offset: offset, Metadata: metadata}}, done)
	})
}

// mark is markCode, which must succeed.
func (t *T) mark(who kafka.Identity, group string, tp id.TopicPartition, offset int64, metadata string) {
	code := t.markCode(who, group, tp, offset, metadata)
	t.check(code == kafka.OK, "txn offset commit: %v", code)
}

// seed commits one offset plainly.
func (t *T) seed(group string, tp id.TopicPartition, offset int64, metadata string) {
	code := t.settle("offset commit", func(done func(kafka.Code, error)) {
		t.OffsetCommit(group, []kafka.Offset{{Topic: tp.Topic, Partition: tp.Partition, Offset: offset, Metadata: metadata}}, done)
	})
	t.check(code == kafka.OK, "offset commit: %v", code)
}

// lane reads one offset, once; the group's own code settles.
func (t *T) lane(group string, tp id.TopicPartition, stable bool) (got kafka.Offset, code kafka.Code) {
	code = t.settle("offset fetch", func(done func(kafka.Code, error)) {
		t.OffsetFetch(group, []id.TopicPartition{tp}, stable, func(o []kafka.Offset, c kafka.Code, err error) {
			if err == nil && c == kafka.OK {
				got = o[0]
			}
			done(c, err)
		})
	})
	return got, code
}

// stableLane waits until no commit is pending.
func (t *T) stableLane(group string, tp id.TopicPartition) kafka.Offset {
	for range 200 {
		o, code := t.lane(group, tp, true)
		t.check(code == kafka.OK, "offset fetch: %v", code)
		if o.Code != kafka.UnstableOffsetCommit {
			t.check(o.Code == kafka.OK, "offset fetch of %s: %v", tp, o.Code)
			return o
		}
		t.sleep(20 * time.Millisecond)
	}
	t.fail("lane %s stays unstable", tp)
	return kafka.Offset{}
}

// transaction describes an id.
func (t *T) transaction(transactionalID string) (got kafka.Transaction, code kafka.Code) {
	code = t.settle("describe transaction", func(done func(kafka.Code, error)) {
		t.DescribeTransaction(transactionalID, func(x kafka.Transaction, c kafka.Code, err error) { got = x; done(c, err) })
	})
	return got, code
}

// settled waits until an id is not being ended any more.
func (t *T) settled(transactionalID string) kafka.Transaction {
	for range 200 {
		x, code := t.transaction(transactionalID)
		t.check(code == kafka.OK, "describe %s: %v", transactionalID, code)
		if x.State != kafka.TxnPrepareCommit && x.State != kafka.TxnPrepareAbort {
			return x
		}
		t.sleep(20 * time.Millisecond)
	}
	t.fail("%s stays in the middle of its end", transactionalID)
	return kafka.Transaction{}
}
