package kafka

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// TxnState is the state of a transaction as DescribeTransactions names it.
type TxnState string

// The states a coordinator answers with.
const (
	TxnEmpty          TxnState = "Empty"
	TxnOngoing        TxnState = "Ongoing"
	TxnPrepareCommit  TxnState = "PrepareCommit"
	TxnPrepareAbort   TxnState = "PrepareAbort"
	TxnCompleteCommit TxnState = "CompleteCommit"
	TxnCompleteAbort  TxnState = "CompleteAbort"
)

// Transaction is what the transaction coordinator tells of one transactional id.
type Transaction struct {
	TransactionalID string
	State           TxnState
	ProducerID      int64
	ProducerEpoch   int16
	TimeoutMs       int32
	StartUnixMs     int64               // -1 when none was opened
	Partitions      []id.TopicPartition // ascending; those whose marker is missing while it is being ended
}

// ListedTransaction is one line of ListTransactions.
type ListedTransaction struct {
	TransactionalID string
	ProducerID      int64
	State           TxnState
}

// ActiveProducer is one producer as a partition's leader knows it.
type ActiveProducer struct {
	ProducerID       int64
	ProducerEpoch    int32
	LastSequence     int32
	LastTimestamp    int64
	CoordinatorEpoch int32 // -1: none
	OpenFrom         int64 // first offset of its open transaction here; -1: none
}

// PartitionProducers is the answer of DescribeProducers for one partition.
type PartitionProducers struct {
	id.TopicPartition
	Code      Code
	Producers []ActiveProducer // ascending by producer id
}

// DescribeTransaction asks the coordinator of one id. TransactionalIDNotFound: the id is unknown.
func (c *Client) DescribeTransaction(transactionalID string, done func(Transaction, Code, error)) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{transactionalID}
	read := func(r kmsg.Response) Code {
		if states := r.(*kmsg.DescribeTransactionsResponse).TransactionStates; len(states) == 1 {
			return Code(states[0].ErrorCode)
		}
		return UnknownServerError
	}
	c.toCoordinator(txnCoordinator, transactionalID, one{req: req}, read, func(r kmsg.Response, code Code, err error) {
		if err != nil || code != OK {
			done(Transaction{TransactionalID: transactionalID}, code, err)
			return
		}
		s := r.(*kmsg.DescribeTransactionsResponse).TransactionStates[0]
		t := Transaction{
			TransactionalID: transactionalID, State: TxnState(s.State), ProducerID: s.ProducerID, ProducerEpoch: s.ProducerEpoch,
			TimeoutMs: s.TimeoutMillis, StartUnixMs: s.StartTimestamp,
		}
		for _, topic := range s.Topics {
			for _, p := range topic.Partitions {
				t.Partitions = append(t.Partitions, id.TopicPartition{Topic: topic.Topic, Partition: p})
			}
		}
		slices.SortStableFunc(t.Partitions, id.TopicPartition.Compare)
		done(t, OK, nil)
	})
}

// ListTransactions asks one broker for the ids it coordinates, without filters, ascending by id. Every broker knows only
// its own, and a pattern is not known below 4.1: the caller asks all brokers and filters by itself.
func (c *Client) ListTransactions(node int32, done func([]ListedTransaction, Code, error)) {
	c.toNode(node, one{req: kmsg.NewPtrListTransactionsRequest()}, func(r kmsg.Response, err error) {
		if err != nil {
			done(nil, OK, err)
			return
		}
		resp := r.(*kmsg.ListTransactionsResponse)
		var list []ListedTransaction
		for _, s := range resp.TransactionStates {
			list = append(list, ListedTransaction{s.TransactionalID, s.ProducerID, TxnState(s.TransactionState)})
		}
		slices.SortStableFunc(list, func(a, b ListedTransaction) int { return cmp.Compare(a.TransactionalID, b.TransactionalID) })
		done(list, Code(resp.ErrorCode), nil)
	})
}

// DescribeProducers asks the leaders of partitions for their producers, once, one request per leader. A partition without
// a known leader has LeaderNotAvailable, one whose leader did not answer NetworkException. The answer is in the order of
// parts.
func (c *Client) DescribeProducers(parts []id.TopicPartition, done func([]PartitionProducers, error)) {
	for _, tp := range parts {
		c.cluster.want(tp.Topic)
	}
	out := make([]PartitionProducers, len(parts))
	for i, tp := range parts {
		out[i] = PartitionProducers{TopicPartition: tp, Code: LeaderNotAvailable}
	}
	ask := func() {
		groups, _ := c.cluster.byLeader(parts)
		left := len(groups)
		if left == 0 {
			c.later(func() { done(out, nil) })
		}
		for _, g := range groups {
			c.describeProducers(g, out, func() {
				if left--; left == 0 {
					done(out, nil)
				}
			})
		}
	}
	c.later(func() {
		c.withLeaders(parts, func(err error) { done(nil, notSent("find leaders: %w", err)) }, ask)
	})
}

func (c *Client) describeProducers(g byNode, out []PartitionProducers, done func()) {
	req := kmsg.NewPtrDescribeProducersRequest()
	for _, run := range byTopic(g.parts) {
		t := kmsg.NewDescribeProducersRequestTopic()
		t.Topic = run[0].Topic
		for _, tp := range run {
			t.Partitions = append(t.Partitions, tp.Partition)
		}
		req.Topics = append(req.Topics, t)
	}
	c.toNode(g.node, one{req: req}, func(r kmsg.Response, err error) {
		answers := []PartitionProducers{}
		for _, tp := range g.parts {
			answers = append(answers, PartitionProducers{TopicPartition: tp, Code: NetworkException})
		}
		if err == nil {
			answers = readProducers(r.(*kmsg.DescribeProducersResponse))
		}
		for _, a := range answers {
			c.misled(a.TopicPartition, a.Code, err)
			for i := range out {
				if out[i].TopicPartition == a.TopicPartition {
					out[i] = a
				}
			}
		}
		done()
	})
}

func readProducers(resp *kmsg.DescribeProducersResponse) []PartitionProducers {
	var out []PartitionProducers
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			a := PartitionProducers{TopicPartition: id.TopicPartition{Topic: t.Topic, Partition: p.Partition}, Code: Code(p.ErrorCode)}
			for _, x := range p.ActiveProducers {
				a.Producers = append(a.Producers, ActiveProducer{
					x.ProducerID, x.ProducerEpoch, x.LastSequence, x.LastTimestamp,
					x.CoordinatorEpoch, x.CurrentTxnStartOffset,
				})
			}
			slices.SortStableFunc(a.Producers, func(a, b ActiveProducer) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
			out = append(out, a)
		}
	}
	return out
}

// DeleteRecords moves the log start of a partition up to offset.
func (c *Client) DeleteRecords(tp id.TopicPartition, offset int64, done func(Code, error)) {
	build := func(int32) one {
		req := kmsg.NewPtrDeleteRecordsRequest()
		req.TimeoutMillis = c.brokerTimeoutMs()
		t := kmsg.NewDeleteRecordsRequestTopic()
		t.Topic = tp.Topic
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = tp.Partition, offset
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return one{req: req, version: 2, extra: c.cfg.RequestTimeout}
	}
	read := func(r kmsg.Response) Code {
		for _, t := range r.(*kmsg.DeleteRecordsResponse).Topics {
			for _, p := range t.Partitions {
				return Code(p.ErrorCode)
			}
		}
		return UnknownServerError
	}
	c.toLeader(tp, broker.Control, build, read, func(_ kmsg.Response, code Code, err error) { done(code, err) })
}
