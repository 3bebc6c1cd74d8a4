package firetest

import (
	"bytes"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/kafka"
)

// refusal is an answer to a request that carries a code at every place where that request's answers have one.
func refusal(req kmsg.Request, code int16) kmsg.Response {
	resp := req.ResponseKind()
	switch q := req.(type) {
	case *kmsg.ProduceRequest:
		r := resp.(*kmsg.ProduceResponse)
		for _, t := range q.Topics {
			x := kmsg.NewProduceResponseTopic()
			x.Topic, x.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				y := kmsg.NewProduceResponseTopicPartition()
				y.Partition, y.BaseOffset = p.Partition, -1
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.FetchRequest:
		r := resp.(*kmsg.FetchResponse)
		for _, t := range q.Topics {
			x := kmsg.NewFetchResponseTopic()
			x.Topic, x.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				y := kmsg.NewFetchResponseTopicPartition()
				y.Partition, y.HighWatermark, y.LastStableOffset, y.LogStartOffset = p.Partition, -1, -1, -1
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.ListOffsetsRequest:
		r := resp.(*kmsg.ListOffsetsResponse)
		for _, t := range q.Topics {
			x := kmsg.NewListOffsetsResponseTopic()
			x.Topic = t.Topic
			for _, p := range t.Partitions {
				y := kmsg.NewListOffsetsResponseTopicPartition()
				y.Partition, y.Offset, y.Timestamp = p.Partition, -1, -1
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.FindCoordinatorRequest:
		r := resp.(*kmsg.FindCoordinatorResponse)
		for _, k := range q.CoordinatorKeys {
			x := kmsg.NewFindCoordinatorResponseCoordinator()
			x.Key, x.NodeID = k, -1
			r.Coordinators = append(r.Coordinators, x)
		}
	case *kmsg.OffsetCommitRequest:
		r := resp.(*kmsg.OffsetCommitResponse)
		for _, t := range q.Topics {
			x := kmsg.NewOffsetCommitResponseTopic()
			x.Topic, x.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				y := kmsg.NewOffsetCommitResponseTopicPartition()
				y.Partition = p.Partition
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.TxnOffsetCommitRequest:
		r := resp.(*kmsg.TxnOffsetCommitResponse)
		for _, t := range q.Topics {
			x := kmsg.NewTxnOffsetCommitResponseTopic()
			x.Topic, x.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				y := kmsg.NewTxnOffsetCommitResponseTopicPartition()
				y.Partition = p.Partition
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.OffsetFetchRequest:
		r := resp.(*kmsg.OffsetFetchResponse)
		for _, g := range q.Groups {
			x := kmsg.NewOffsetFetchResponseGroup()
			x.Group = g.Group
			r.Groups = append(r.Groups, x)
		}
	case *kmsg.AddPartitionsToTxnRequest:
		r := resp.(*kmsg.AddPartitionsToTxnResponse)
		for _, t := range q.Topics {
			x := kmsg.NewAddPartitionsToTxnResponseTopic()
			x.Topic = t.Topic
			for _, p := range t.Partitions {
				y := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				y.Partition = p
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	default:
		adminRefusal(req, resp)
	}
	spoil(resp, code)
	return resp
}

// adminRefusal is the shape of a refusal of what asks about the cluster or changes it.
func adminRefusal(req kmsg.Request, resp kmsg.Response) {
	switch q := req.(type) {
	case *kmsg.CreateTopicsRequest:
		r := resp.(*kmsg.CreateTopicsResponse)
		for _, t := range q.Topics {
			x := kmsg.NewCreateTopicsResponseTopic()
			x.Topic = t.Topic
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.CreatePartitionsRequest:
		r := resp.(*kmsg.CreatePartitionsResponse)
		for _, t := range q.Topics {
			x := kmsg.NewCreatePartitionsResponseTopic()
			x.Topic = t.Topic
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.DeleteRecordsRequest:
		r := resp.(*kmsg.DeleteRecordsResponse)
		for _, t := range q.Topics {
			x := kmsg.NewDeleteRecordsResponseTopic()
			x.Topic = t.Topic
			for _, p := range t.Partitions {
				y := kmsg.NewDeleteRecordsResponseTopicPartition()
				y.Partition, y.LowWatermark = p.Partition, -1
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.DescribeConfigsRequest:
		r := resp.(*kmsg.DescribeConfigsResponse)
		for _, q := range q.Resources {
			x := kmsg.NewDescribeConfigsResponseResource()
			x.ResourceType, x.ResourceName = q.ResourceType, q.ResourceName
			r.Resources = append(r.Resources, x)
		}
	case *kmsg.DescribeProducersRequest:
		r := resp.(*kmsg.DescribeProducersResponse)
		for _, t := range q.Topics {
			x := kmsg.NewDescribeProducersResponseTopic()
			x.Topic = t.Topic
			for _, p := range t.Partitions {
				y := kmsg.NewDescribeProducersResponseTopicPartition()
				y.Partition = p
				x.Partitions = append(x.Partitions, y)
			}
			r.Topics = append(r.Topics, x)
		}
	case *kmsg.DescribeTransactionsRequest:
		r := resp.(*kmsg.DescribeTransactionsResponse)
		for _, id := range q.TransactionalIDs {
			x := kmsg.NewDescribeTransactionsResponseTransactionState()
			x.TransactionalID = id
			r.TransactionStates = append(r.TransactionStates, x)
		}
	case *kmsg.WriteTxnMarkersRequest:
		r := resp.(*kmsg.WriteTxnMarkersResponse)
		for _, m := range q.Markers {
			x := kmsg.NewWriteTxnMarkersResponseMarker()
			x.ProducerID = m.ProducerID
			for _, t := range m.Topics {
				y := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
				y.Topic = t.Topic
				for _, p := range t.Partitions {
					z := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
					z.Partition = p
					y.Partitions = append(y.Partitions, z)
				}
				x.Topics = append(x.Topics, y)
			}
			r.Markers = append(r.Markers, x)
		}
	}
}

// spoil puts a code into every place of an answer where one of its kind can stand.
func spoil(resp kmsg.Response, code int16) {
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode, r.Topics[i].Partitions[j].BaseOffset = code, -1
			}
		}
	case *kmsg.FetchResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode, r.Topics[i].Partitions[j].RecordBatches = code, nil
			}
		}
	case *kmsg.ListOffsetsResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = code
			}
		}
	case *kmsg.MetadataResponse:
		for i := range r.Topics {
			r.Topics[i].ErrorCode, r.Topics[i].Partitions = code, nil
		}
	case *kmsg.OffsetCommitResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = code
			}
		}
	case *kmsg.OffsetFetchResponse:
		for i := range r.Groups {
			r.Groups[i].ErrorCode, r.Groups[i].Topics = code, nil
		}
	case *kmsg.FindCoordinatorResponse:
		for i := range r.Coordinators {
			r.Coordinators[i].ErrorCode, r.Coordinators[i].NodeID = code, -1
		}
	case *kmsg.ApiVersionsResponse:
		r.ErrorCode = code
	case *kmsg.InitProducerIDResponse:
		r.ErrorCode = code
	case *kmsg.AddPartitionsToTxnResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = code
			}
		}
	case *kmsg.AddOffsetsToTxnResponse:
		r.ErrorCode = code
	case *kmsg.EndTxnResponse:
		r.ErrorCode = code
	case *kmsg.TxnOffsetCommitResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = code
			}
		}
	default:
		spoilAdmin(resp, code)
	}
}

func spoilAdmin(resp kmsg.Response, code int16) {
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		for i := range r.Topics {
			r.Topics[i].ErrorCode = code
		}
	case *kmsg.CreatePartitionsResponse:
		for i := range r.Topics {
			r.Topics[i].ErrorCode = code
		}
	case *kmsg.DeleteRecordsResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = code
			}
		}
	case *kmsg.DescribeConfigsResponse:
		for i := range r.Resources {
			r.Resources[i].ErrorCode = code
		}
	case *kmsg.DescribeProducersResponse:
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].ErrorCode = code
			}
		}
	case *kmsg.DescribeTransactionsResponse:
		for i := range r.TransactionStates {
			r.TransactionStates[i].ErrorCode = code
		}
	case *kmsg.ListTransactionsResponse:
		r.ErrorCode = code
	case *kmsg.WriteTxnMarkersResponse:
		for i := range r.Markers {
			for j := range r.Markers[i].Topics {
				for k := range r.Markers[i].Topics[j].Partitions {
					r.Markers[i].Topics[j].Partitions[k].ErrorCode = code
				}
			}
		}
	default:
		panic("firetest: no place for a code in " + kmsg.NameForKey(resp.Key()))
	}
}

// Refusal is an answer to a request that carries a code at every place where that request's answers have one.
func Refusal(req kmsg.Request, code kafka.Code) kmsg.Response { return refusal(req, int16(code)) }

// CodeOf finds a code in an answer: it, if it stands at any place, else OK.
func CodeOf(resp kmsg.Response, code kafka.Code) kafka.Code {
	plain, spoilt := resp.AppendTo(nil), resp
	spoil(spoilt, int16(code))
	if bytes.Equal(plain, spoilt.AppendTo(nil)) {
		return code
	}
	return kafka.OK
}
