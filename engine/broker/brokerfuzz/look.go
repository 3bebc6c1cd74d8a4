package brokerfuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/kafka"
)

func (r *run) fetchRequest(partition int32, committed bool, from int64) *request {
	return &request{
		to: target{leaderOf, "", partition},
		build: func() kmsg.Request {
			q := r.newFetch(committed)
			r.alsoFetch(q, partition, from)
			return q
		},
		code: fetchCode,
		print: func(x kmsg.Response) string {
			p := &x.(*kmsg.FetchResponse).Topics[0].Partitions[0]
			if p.ErrorCode != 0 {
				return code(p.ErrorCode)
			}
			s := fmt.Sprintf("0 start %d stable %d high %d", p.LogStartOffset, p.LastStableOffset, p.HighWatermark)
			slices.SortStableFunc(p.AbortedTransactions, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
				return cmp.Or(cmp.Compare(a.FirstOffset, b.FirstOffset), cmp.Compare(a.ProducerID, b.ProducerID))
			})
			for _, a := range p.AbortedTransactions {
				s += fmt.Sprintf(", %s aborted from %d", r.pid(a.ProducerID), a.FirstOffset)
			}
			s += ", batches"
			for it := kafka.ReadBatches(p.RecordBatches); it.Next(); {
				s += fmt.Sprintf(" %d", it.Batch.BaseOffset)
			}
			return s
		},
	}
}

func fetchCode(x kmsg.Response) (c int16) {
	q := x.(*kmsg.FetchResponse)
	c = q.ErrorCode
	for i := range q.Topics {
		for j := range q.Topics[i].Partitions {
			if c == 0 || again(q.Topics[i].Partitions[j].ErrorCode) {
				c = q.Topics[i].Partitions[j].ErrorCode
			}
		}
	}
	return c
}

func (r *run) newFetch(committed bool) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.ReplicaID, q.MaxWaitMillis, q.MinBytes, q.MaxBytes = 12, -1, 0, 0, 32<<20
	q.SessionID, q.SessionEpoch = 0, -1
	if committed {
		q.IsolationLevel = 1
	}
	return q
}

func (r *run) alsoFetch(q *kmsg.FetchRequest, partition int32, from int64) {
	if len(q.Topics) == 0 {
		t := kmsg.NewFetchRequestTopic()
		t.Topic = r.topic
		q.Topics = append(q.Topics, t)
	}
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.PartitionMaxBytes = partition, -1, from, 8<<20
	p.LastFetchedEpoch, p.LogStartOffset = -1, -1
	q.Topics[0].Partitions = append(q.Topics[0].Partitions, p)
}

func (r *run) listOffsetsRequest(o *Op) *request {
	at := map[string]int64{"earliest": -2, "latest": -1, "time": stamp(15), "future": 1 << 50}[o.At]
	only := func(x kmsg.Response) kmsg.ListOffsetsResponseTopicPartition {
		return x.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
	}
	return &request{
		to: target{leaderOf, "", o.Partition},
		build: func() kmsg.Request {
			q := kmsg.NewPtrListOffsetsRequest()
			q.Version, q.ReplicaID = 7, -1
			if o.Isolation == "committed" {
				q.IsolationLevel = 1
			}
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = r.topic
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.CurrentLeaderEpoch, p.Timestamp = o.Partition, -1, at
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 { return only(x).ErrorCode },
		print: func(x kmsg.Response) string {
			p := only(x)
			switch {
			case p.ErrorCode != 0:
				return code(p.ErrorCode)
			case p.Timestamp < 0:
				return fmt.Sprintf("0 offset %d", p.Offset)
			case p.Timestamp >= stamp(0) && p.Timestamp < stamp(100_000):
				return fmt.Sprintf("0 offset %d time %d", p.Offset, p.Timestamp-stamp(0))
			}
			return fmt.Sprintf("0 offset %d time of a marker", p.Offset)
		},
	}
}

func (r *run) offsetFetchRequest(stable, all bool) *request {
	return &request{
		to: target{coordinatorOfGroup, r.group, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrOffsetFetchRequest()
			q.Version, q.Group, q.RequireStable = 7, r.group, stable
			if !all {
				t := kmsg.NewOffsetFetchRequestTopic()
				t.Topic = r.topic
				for i := range r.seq.Partitions {
					t.Partitions = append(t.Partitions, i)
				}
				q.Topics = append(q.Topics, t)
			}
			return q
		},
		code: func(x kmsg.Response) int16 { return x.(*kmsg.OffsetFetchResponse).ErrorCode },
		print: func(x kmsg.Response) string {
			q := x.(*kmsg.OffsetFetchResponse)
			if q.ErrorCode != 0 {
				return code(q.ErrorCode)
			}
			s := "0"
			for _, l := range r.lanes(q) {
				s += " " + l
			}
			return s
		},
	}
}

// lanes are the offsets of a group in one word each.
func (r *run) lanes(q *kmsg.OffsetFetchResponse) (out []string) {
	for i := range r.seq.Partitions {
		for _, t := range q.Topics {
			for _, p := range t.Partitions {
				if t.Topic != r.topic || p.Partition != i {
					continue
				}
				word := fmt.Sprintf("%d=%d", i, p.Offset)
				if p.Metadata != nil && *p.Metadata != "" {
					word += "/" + *p.Metadata
				}
				if p.ErrorCode != 0 {
					word = fmt.Sprintf("%d:%d", i, p.ErrorCode)
				}
				out = append(out, word)
			}
		}
	}
	return out
}

// describeUnknownRequest asks about the id of an actor and one that nobody ever used.
func (r *run) describeUnknownRequest(a *actor) *request {
	ids := []string{"nobody-" + r.o.Name}
	to := target{coordinatorOf, ids[0], 0}
	if a.id != "" && len(r.cluster.nodes) == 1 {
		ids = append(ids, a.id)
	}
	return &request{
		to:    to,
		build: func() kmsg.Request { return describeRequest(ids) },
		code:  describeCode,
		print: func(x kmsg.Response) string {
			var out []string
			for _, id := range ids {
				for _, t := range x.(*kmsg.DescribeTransactionsResponse).TransactionStates {
					if t.TransactionalID == id {
						out = append(out, code(t.ErrorCode))
					}
				}
			}
			return strings.Join(out, " ")
		},
	}
}

func describeRequest(ids []string) kmsg.Request {
	q := kmsg.NewPtrDescribeTransactionsRequest()
	q.TransactionalIDs = ids
	return q
}

func describeCode(x kmsg.Response) int16 {
	for _, t := range x.(*kmsg.DescribeTransactionsResponse).TransactionStates {
		if again(t.ErrorCode) {
			return t.ErrorCode
		}
	}
	return 0
}

// list asks every broker for the transactions of an actor's producer id, or for those that are open.
func (r *run) list(a *actor) []string {
	var found []string
	for _, node := range r.cluster.nodes {
		q := kmsg.NewPtrListTransactionsRequest()
		q.StateFilters = []string{"Ongoing"}
		if a.pid >= 0 {
			q.StateFilters, q.ProducerIDFilters = nil, []int64{a.pid}
		}
		x := r.must(node, q).(*kmsg.ListTransactionsResponse)
		if x.ErrorCode != 0 {
			return []string{code(x.ErrorCode)}
		}
		for _, t := range x.TransactionStates {
			// A broker may list an id for a while that another one has taken over.
			if i := slices.Index(r.ids, t.TransactionalID); i >= 0 && r.node(target{coordinatorOf, t.TransactionalID, 0}) == node {
				found = append(found, fmt.Sprintf("%s %s %s", r.bare(i), t.TransactionState, r.pid(t.ProducerID)))
			}
		}
	}
	slices.Sort(found)
	return []string{strings.TrimSpace("0 " + strings.Join(found, ", "))}
}

// bare is an id as the sequence has it.
func (r *run) bare(index int) string { return r.words[index] }

func (r *run) producersRequest(partition int32, unknown bool) *request {
	return &request{
		to: target{leaderOf, "", partition},
		build: func() kmsg.Request {
			q := kmsg.NewPtrDescribeProducersRequest()
			t := kmsg.NewDescribeProducersRequestTopic()
			t.Topic, t.Partitions = r.topic, []int32{partition}
			if unknown {
				t.Partitions = append(t.Partitions, unknownPartition)
			}
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(kmsg.Response) int16 { return 0 },
		print: func(x kmsg.Response) string {
			codes := [2]int16{-9, -9}
			for _, t := range x.(*kmsg.DescribeProducersResponse).Topics {
				for _, p := range t.Partitions {
					if p.Partition == unknownPartition {
						codes[1] = p.ErrorCode
					} else {
						codes[0] = p.ErrorCode
					}
				}
			}
			return fmt.Sprintf("%d %d", codes[0], codes[1])
		},
	}
}
