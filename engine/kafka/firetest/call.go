package firetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
)

// Call is one thing that a user of the client asks for, and the request in which things go wrong.
type Call struct {
	Name string
	Key  kmsg.Key
	// Lasts: the call is repeated inside, by a producer, a fetcher or a read, which fails for good or gives up.
	Lasts bool
	// prepare makes what the call needs on the cluster, and returns the call on a client. n differs from call to call.
	prepare func(t *stage.T, pace Pace) ask
	// place puts a code elsewhere than spoil does. Nil: spoil.
	place func(resp kmsg.Response, code int16)
}

// ask is the call on a client.
type ask = func(c *kafka.Client, n int, done func(kafka.Code, error))

// Calls are all calls, one for each way in which the client deals with answers to a request.
var Calls = []Call{
	{Name: "Produce, by a Producer", Key: kmsg.Produce, Lasts: true, prepare: func(t *stage.T, p Pace) ask { return producer(t, p, t.Protocol) }},
	{Name: "Produce, once", Key: kmsg.Produce, prepare: produceOnce},
	{Name: "Fetch, by a Fetcher", Key: kmsg.Fetch, Lasts: true, prepare: fetcher},
	{Name: "Fetch, by a Fetcher, whole answer", Key: kmsg.Fetch, Lasts: true, prepare: fetcher, place: wholeFetch},
	{Name: "Fetch, once", Key: kmsg.Fetch, prepare: fetchOnce},
	{Name: "ListOffsets", Key: kmsg.ListOffsets, Lasts: true, prepare: listOffsets},
	{Name: "Metadata, of topics", Key: kmsg.Metadata, Lasts: true, prepare: topics},
	{Name: "ApiVersions", Key: kmsg.ApiVersions, Lasts: true, prepare: versions},
	{Name: "FindCoordinator", Key: kmsg.FindCoordinator, prepare: endTxn},
	{Name: "InitProducerId", Key: kmsg.InitProducerID, prepare: initProducerID},
	{Name: "AddPartitionsToTxn, by a Producer", Key: kmsg.AddPartitionsToTxn, Lasts: true, prepare: func(t *stage.T, p Pace) ask { return producer(t, p, 4) }},
	{Name: "AddPartitionsToTxn, once", Key: kmsg.AddPartitionsToTxn, prepare: addPartitions},
	{Name: "AddOffsetsToTxn", Key: kmsg.AddOffsetsToTxn, prepare: addOffsets},
	{Name: "TxnOffsetCommit", Key: kmsg.TxnOffsetCommit, prepare: txnOffsetCommit},
	{Name: "EndTxn", Key: kmsg.EndTxn, prepare: endTxn},
	{Name: "OffsetCommit", Key: kmsg.OffsetCommit, prepare: offsetCommit},
	{Name: "OffsetFetch, group", Key: kmsg.OffsetFetch, prepare: offsetFetch},
	{Name: "OffsetFetch, partition", Key: kmsg.OffsetFetch, prepare: offsetFetch, place: fetchedOffsets},
	{Name: "CreateTopics", Key: kmsg.CreateTopics, prepare: createTopics},
	{Name: "CreatePartitions", Key: kmsg.CreatePartitions, prepare: createPartitions},
	{Name: "DeleteRecords", Key: kmsg.DeleteRecords, prepare: deleteRecords},
	{Name: "DescribeConfigs", Key: kmsg.DescribeConfigs, prepare: describeConfigs},
	{Name: "DescribeProducers", Key: kmsg.DescribeProducers, prepare: describeProducers},
	{Name: "DescribeTransactions", Key: kmsg.DescribeTransactions, prepare: describeTransaction},
	{Name: "ListTransactions", Key: kmsg.ListTransactions, prepare: listTransactions},
	{Name: "WriteTxnMarkers", Key: kmsg.WriteTxnMarkers, prepare: writeTxnMarkers},
}

// producer writes a transaction of three records and checks that the log has them once and in order. A producer that has
// failed must stay failed.
func producer(t *stage.T, pace Pace, protocol int16) ask {
	tp := stage.Part(t.Topic(1, forEver), 0)
	id := t.Name("txn")
	return func(c *kafka.Client, n int, done func(kafka.Code, error)) {
		id := fmt.Sprint(id, "-", n)
		t.InitProducerID(id, time.Minute, protocol, func(who kafka.Identity, code kafka.Code, err error) {
			if err != nil || code != kafka.OK {
				done(code, fmt.Errorf("not part of the cell: init: %w, %w", code, err))
				return
			}
			p := c.NewProducer(kafka.ProducerConfig{Identity: who, BatchBytes: 1, Linger: -1, DeliveryTimeout: pace.Delivery})
			for i := range 3 {
				if err := p.Append(tp.Topic, tp.Partition, nil, fmt.Appendf(nil, "%s/%d", id, i), nil, 1); err != nil {
					done(kafka.OK, err)
					return
				}
			}
			p.Flush(func(err error) {
				if err != nil {
					if again := p.Append(tp.Topic, tp.Partition, nil, nil, nil, 1); !errors.Is(again, err) {
						err = fmt.Errorf("it goes on after it has failed: %w, then %w", err, again)
					}
					done(kafka.OK, err)
					return
				}
				written(t, tp, id, p, done)
			})
		})
	}
}

// written compares the log with what a producer says it wrote.
func written(t *stage.T, tp id.TopicPartition, id string, p *kafka.Producer, done func(kafka.Code, error)) {
	ranges := p.Ranges()
	if len(ranges) != 1 || ranges[0].Count != 3 || ranges[0].Last-ranges[0].First != 2 {
		done(kafka.OK, fmt.Errorf("ranges %+v", ranges))
		return
	}
	t.FetchOnce(tp, ranges[0].First, kafka.ReadUncommitted, 1<<20, func(f kafka.Fetched, code kafka.Code, err error) {
		if err != nil || code != kafka.OK {
			done(kafka.OK, fmt.Errorf("not part of the cell: fetch: %w, %w", code, err))
			return
		}
		var got []string
		for it := kafka.ReadBatches(f.Records); it.Next(); {
			for it.NextRecord() {
				got = append(got, string(it.Record.Value))
			}
		}
		if want := []string{id + "/0", id + "/1", id + "/2"}; !slices.Equal(got, want) {
			err = fmt.Errorf("the log holds %q, not %q", got, want)
		}
		done(kafka.OK, err)
	})
}

func produceOnce(t *stage.T, _ Pace) ask {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Plain()
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		batch, err := kafka.BuildBatch(who, 0, kafka.NoCompression, []kafka.Record{{Value: []byte("x"), Timestamp: 1}})
		if err != nil {
			done(kafka.OK, err)
			return
		}
		c.ProduceOnce(tp, who, batch, func(_ kafka.Produced, code kafka.Code, err error) { done(code, err) })
	}
}

// forEver keeps records whose timestamps are old.
var forEver = kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"}

// threeRecords is a partition with three records.
func threeRecords(t *stage.T) id.TopicPartition {
	tp := stage.Part(t.Topic(1, forEver), 0)
	t.Write(tp, t.Plain(), 0, "a", "b", "c")
	return tp
}

// fetcher reads a partition to its end and checks that it gets each record once and in order.
func fetcher(t *stage.T, _ Pace) ask {
	tp := threeRecords(t)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		var f *kafka.Fetcher
		got := ""
		var poll func()
		poll = func() {
			status, err := f.Poll(10, func(r *operator.Record) error { got += string(r.Value); return nil })
			switch {
			case err != nil:
				done(kafka.OK, err)
			case status == operator.More:
				t.Loop.Post(poll)
			case status == operator.Ended && got != "abc":
				done(kafka.OK, fmt.Errorf("it read %q", got))
			case status == operator.Ended:
				done(kafka.OK, nil)
			}
		}
		f = c.NewFetcher(kafka.FetcherConfig{Isolation: kafka.ReadCommitted, Wake: func() { t.Loop.Post(poll) }},
			[]operator.Split{{Topic: tp.Topic, Partition: tp.Partition, Stop: 3}})
		t.Loop.Post(poll)
	}
}

// wholeFetch puts the code at the head of the answer.
func wholeFetch(resp kmsg.Response, code int16) {
	r := resp.(*kmsg.FetchResponse)
	r.ErrorCode, r.Topics = code, nil
}

func fetchOnce(t *stage.T, _ Pace) ask {
	tp := threeRecords(t)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.FetchOnce(tp, 0, kafka.ReadCommitted, 1<<20, func(_ kafka.Fetched, code kafka.Code, err error) { done(code, err) })
	}
}

func listOffsets(t *stage.T, _ Pace) ask {
	tp := threeRecords(t)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.ListOffsets([]id.TopicPartition{tp}, kafka.Latest, kafka.ReadCommitted, func(o []kafka.ListedOffset, err error) {
			if err == nil && o[0].Offset != 3 {
				err = fmt.Errorf("offset %d", o[0].Offset)
			}
			done(kafka.OK, err)
		})
	}
}

func topics(t *stage.T, _ Pace) ask {
	name := t.Topic(2)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.Topics([]string{name}, func(ts []kafka.Topic, err error) {
			code := kafka.OK
			if err == nil {
				if code = ts[0].Code; code == kafka.OK && len(ts[0].Partitions) != 2 {
					err = fmt.Errorf("%d partitions", len(ts[0].Partitions))
				}
			}
			done(code, err)
		})
	}
}

func versions(*stage.T, Pace) ask {
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.Features(func(f kafka.Features, err error) {
			if err == nil && f.Max(0) < 9 {
				err = fmt.Errorf("%+v", f)
			}
			done(kafka.OK, err)
		})
	}
}

func initProducerID(t *stage.T, _ Pace) ask {
	name := t.Name("txn")
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.InitProducerID(name, time.Minute, t.Protocol, func(_ kafka.Identity, code kafka.Code, err error) { done(code, err) })
	}
}

func endTxn(t *stage.T, _ Pace) ask {
	who := t.Writer()
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.EndTxn(who, true, func(_ kafka.Identity, code kafka.Code, err error) { done(code, err) })
	}
}

func addPartitions(t *stage.T, _ Pace) ask {
	tp, who := stage.Part(t.Topic(1), 0), t.Init(t.Name("txn"), 4)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.AddPartitionsToTxn(who, []id.TopicPartition{tp}, func(_ []kafka.PartitionCode, code kafka.Code, err error) { done(code, err) })
	}
}

func addOffsets(t *stage.T, _ Pace) ask {
	who, group := t.Init(t.Name("txn"), 4), t.Name("group")
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) { c.AddOffsetsToTxn(who, group, done) }
}

func txnOffsetCommit(t *stage.T, _ Pace) ask {
	group, lane, _, who := t.LaneAndWriter()
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.TxnOffsetCommit(who, group, []kafka.Offset{{Topic: lane.Topic, Partition: lane.Partition, Offset: 7}}, done)
	}
}

func offsetCommit(t *stage.T, _ Pace) ask {
	group, lane, _, _ := t.LaneAndWriter()
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.OffsetCommit(group, []kafka.Offset{{Topic: lane.Topic, Partition: lane.Partition, Offset: 7}}, done)
	}
}

func offsetFetch(t *stage.T, _ Pace) ask {
	group, lane, _, _ := t.LaneAndWriter()
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.OffsetFetch(group, []id.TopicPartition{lane}, true, func(o []kafka.Offset, code kafka.Code, err error) {
			if err == nil && code == kafka.OK {
				code = o[0].Code
			}
			done(code, err)
		})
	}
}

// fetchedOffsets puts the code at the partitions. A refusal has none yet.
func fetchedOffsets(resp kmsg.Response, code int16) {
	r := resp.(*kmsg.OffsetFetchResponse)
	for i := range r.Groups {
		for j := range r.Groups[i].Topics {
			for k := range r.Groups[i].Topics[j].Partitions {
				r.Groups[i].Topics[j].Partitions[k].ErrorCode = code
			}
		}
	}
}

func createTopics(t *stage.T, _ Pace) ask {
	name := t.Name("topic")
	return func(c *kafka.Client, n int, done func(kafka.Code, error)) {
		c.CreateTopics([]kafka.NewTopic{{Name: fmt.Sprint(name, n), Partitions: 1, Replication: -1}}, func(codes []kafka.Code, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			done(codes[0], nil)
		})
	}
}

func createPartitions(t *stage.T, _ Pace) ask {
	name := t.Topic(1)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) { c.CreatePartitions(name, 2, done) }
}

func deleteRecords(t *stage.T, _ Pace) ask {
	tp := threeRecords(t)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) { c.DeleteRecords(tp, 1, done) }
}

func describeConfigs(t *stage.T, _ Pace) ask {
	name := t.Topic(1)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.DescribeConfigs([]string{name}, func(all []kafka.TopicConfigs, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			done(all[0].Code, nil)
		})
	}
}

func describeProducers(t *stage.T, _ Pace) ask {
	tp := threeRecords(t)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.DescribeProducers([]id.TopicPartition{tp}, func(all []kafka.PartitionProducers, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			done(all[0].Code, nil)
		})
	}
}

func describeTransaction(t *stage.T, _ Pace) ask {
	who := t.Writer()
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.DescribeTransaction(who.TransactionalID, func(_ kafka.Transaction, code kafka.Code, err error) { done(code, err) })
	}
}

func listTransactions(t *stage.T, _ Pace) ask {
	m, _ := t.View(-1)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		c.ListTransactions(m.Brokers[0], func(_ []kafka.ListedTransaction, code kafka.Code, err error) { done(code, err) })
	}
}

func writeTxnMarkers(t *stage.T, _ Pace) ask {
	tp := threeRecords(t)
	return func(c *kafka.Client, _ int, done func(kafka.Code, error)) {
		w := kafka.MarkerWrite{ProducerID: 123456, Commit: false, Partitions: []id.TopicPartition{tp}}
		c.WriteTxnMarkers(w, func(_ []kafka.PartitionCode, code kafka.Code, err error) { done(code, err) })
	}
}
