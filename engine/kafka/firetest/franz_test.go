package firetest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/kafka/firetest"
	"github.com/onefold/onefold/engine/real/kafkatest"
)

// franz is franz-go's client beside ours: the same cells, on the same kfake, through its public calls. It tells codes of
// answers and of errors.
type franz struct {
	t       *testing.T
	cluster *kfake.Cluster
	addr    []string

	mu    sync.Mutex
	key   int16
	fault firetest.Fault
	left  int
	tries int
}

func newFranz(t *testing.T) *franz {
	c := kafkatest.Embedded(t)
	f := &franz{t: t, cluster: c, addr: c.ListenAddrs(), key: -1}
	c.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		f.mu.Lock()
		defer f.mu.Unlock()
		if req.Key() != f.key {
			return nil, nil, false
		}
		f.tries++
		if f.left == 0 {
			return nil, nil, false
		}
		f.left--
		return firetest.Refusal(req, f.fault.Code), nil, true
	})
	return f
}

func (f *franz) arm(key kmsg.Key, fault firetest.Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key, f.fault, f.left, f.tries = int16(key), fault, 2, 0
}

func (f *franz) disarm() (tries int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key = -1
	return f.tries
}

func (f *franz) client(opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(f.addr...), kgo.MetadataMinAge(10 * time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 2 * time.Millisecond }), kgo.DisableClientMetrics(),
	}, opts...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	return cl
}

// outcome reads an error and the number of tries.
func outcome(err error, tries int) firetest.Outcome {
	switch {
	case err == nil && tries <= 1:
		return firetest.Ignored
	case err == nil:
		return firetest.Repeats
	case tries <= 1:
		return firetest.Told
	}
	return firetest.GivesUp
}

// produce writes three records in a transaction.
func (f *franz) produce(ctx context.Context, topic string, n int, key kmsg.Key, fault firetest.Fault) firetest.Outcome {
	cl := f.client(kgo.TransactionalID(fmt.Sprint(topic, "-", n)))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		f.t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("0")}).FirstErr(); err != nil { // the id is initialised
		f.t.Fatal(err)
	}
	f.arm(key, fault)
	err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: 1, Value: []byte("1")}).FirstErr()
	return outcome(err, f.disarm())
}

// fetch reads until the record is there or an error is told.
func (f *franz) fetch(ctx context.Context, topic string, fault firetest.Fault) firetest.Outcome {
	f.arm(kmsg.Fetch, fault)
	cl := f.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			f.disarm()
			return "told, goes on"
		}
		if fetches.NumRecords() > 0 {
			return outcome(nil, f.disarm())
		}
	}
}

// ask sends one request through the client and reads the code of its answer.
func (f *franz) ask(ctx context.Context, req kmsg.Request, key kmsg.Key, fault firetest.Fault) firetest.Outcome {
	cl := f.client()
	defer cl.Close()
	if err := cl.Ping(ctx); err != nil {
		f.t.Fatal(err)
	}
	f.arm(key, fault)
	resp, err := cl.Request(ctx, req)
	tries := f.disarm()
	if err == nil {
		err = kerr.ErrorForCode(int16(firetest.CodeOf(resp, fault.Code)))
	}
	if err != nil {
		return firetest.Told
	}
	return outcome(nil, tries)
}

// requests are what is asked through Client.Request, by the names of the calls of the matrix.
func (f *franz) requests(topic string) map[string]func() kmsg.Request {
	id := "txn-" + topic
	name := func() *string { return kmsg.StringPtr(topic) }
	return map[string]func() kmsg.Request{
		"ListOffsets": func() kmsg.Request {
			r := kmsg.NewPtrListOffsetsRequest()
			r.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{CurrentLeaderEpoch: -1, Timestamp: -1}}}}
			return r
		},
		"FindCoordinator": func() kmsg.Request { return endRequest(id) },
		"EndTxn":          func() kmsg.Request { return endRequest(id) },
		"InitProducerId": func() kmsg.Request {
			r := kmsg.NewPtrInitProducerIDRequest()
			r.TransactionalID, r.TransactionTimeoutMillis, r.ProducerID, r.ProducerEpoch = &id, 60000, -1, -1
			return r
		},
		"AddPartitionsToTxn, once": func() kmsg.Request {
			r := kmsg.NewPtrAddPartitionsToTxnRequest()
			r.TransactionalID, r.Topics = id, []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}
			return r
		},
		"AddOffsetsToTxn": func() kmsg.Request {
			r := kmsg.NewPtrAddOffsetsToTxnRequest()
			r.TransactionalID, r.Group = id, topic
			return r
		},
		"TxnOffsetCommit": func() kmsg.Request {
			r := kmsg.NewPtrTxnOffsetCommitRequest()
			r.TransactionalID, r.Group, r.Generation = id, topic, -1
			r.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 1, LeaderEpoch: -1}}}}
			return r
		},
		"OffsetCommit": func() kmsg.Request {
			r := kmsg.NewPtrOffsetCommitRequest()
			r.Group, r.Generation = topic, -1
			r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1, LeaderEpoch: -1}}}}
			return r
		},
		"OffsetFetch, group": func() kmsg.Request {
			r := kmsg.NewPtrOffsetFetchRequest()
			r.Group = topic
			r.Groups = []kmsg.OffsetFetchRequestGroup{{Group: topic, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0}}}}}
			return r
		},
		"CreateTopics": func() kmsg.Request {
			r := kmsg.NewPtrCreateTopicsRequest()
			r.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: fmt.Sprint(topic, "-", time.Now().UnixNano()), NumPartitions: 1, ReplicationFactor: 1}}
			return r
		},
		"DeleteRecords": func() kmsg.Request {
			r := kmsg.NewPtrDeleteRecordsRequest()
			r.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: topic, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 0}}}}
			return r
		},
		"DescribeConfigs": func() kmsg.Request {
			r := kmsg.NewPtrDescribeConfigsRequest()
			r.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: *name()}}
			return r
		},
		"DescribeProducers": func() kmsg.Request {
			r := kmsg.NewPtrDescribeProducersRequest()
			r.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
			return r
		},
		"DescribeTransactions": func() kmsg.Request {
			r := kmsg.NewPtrDescribeTransactionsRequest()
			r.TransactionalIDs = []string{id}
			return r
		},
	}
}

func endRequest(id string) kmsg.Request {
	r := kmsg.NewPtrEndTxnRequest()
	r.TransactionalID, r.Commit = id, true
	return r
}

// cell runs one cell; false where franz-go has no such call.
func (f *franz) cell(topic, call string, n int, key kmsg.Key, fault firetest.Fault) (firetest.Outcome, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	switch call {
	case "Produce, by a Producer":
		return f.produce(ctx, topic, n, kmsg.Produce, fault), true
	case "Fetch, by a Fetcher":
		return f.fetch(ctx, topic, fault), true
	}
	make := f.requests(topic)[call]
	if make == nil {
		return "", false
	}
	return f.ask(ctx, make(), key, fault), true
}

// The franz-go column of RETRIES.md is measured, not read: when the library changes, so does the table.
func TestTableOfFranzGo(t *testing.T) {
	t.Parallel()
	rows := make([]string, len(firetest.Calls))
	var wait sync.WaitGroup
	next := make(chan int)
	for range 4 {
		f := newFranz(t)
		wait.Go(func() {
			for i := range next {
				rows[i] = f.row(i, firetest.Calls[i])
			}
		})
	}
	for i := range firetest.Calls {
		next <- i
	}
	close(next)
	wait.Wait()
	table := "| request | codes of an answer |\n|---|---|\n" + strings.Join(rows, "")
	sameInDocument(t, "franz-go", table)
}

func (f *franz) row(i int, call firetest.Call) string {
	topic := fmt.Sprintf("t%d", i)
	if err := f.cluster.CreateTopic(topic, 2, nil); err != nil {
		f.t.Fatal(err)
	}
	cl := f.client()
	if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte("x")}).FirstErr(); err != nil {
		f.t.Error(err)
	}
	cl.Close()
	if _, has := f.cell(topic, call.Name, 0, call.Key, firetest.Fault{Mode: firetest.Answered, Code: kafka.UnknownServerError}); !has {
		return ""
	}
	e, _ := firetest.Of(call.Name)
	n := 0
	codes := e.Occurs
	if !call.Lasts || call.Name == "ListOffsets" {
		// Whether 3 is repeated once depends on the age of its view of the topic.
		codes = slices.DeleteFunc(slices.Clone(codes), func(c kafka.Code) bool { return c == kafka.UnknownTopicOrPartition })
	}
	list := firetest.Codelist(codes, func(c kafka.Code) firetest.Outcome {
		n++
		o, _ := f.cell(topic, call.Name, n, call.Key, firetest.Fault{Mode: firetest.Answered, Code: c})
		return o
	})
	return fmt.Sprintf("| %s | %s |\n", strings.Split(call.Name, ", by")[0], list)
}
