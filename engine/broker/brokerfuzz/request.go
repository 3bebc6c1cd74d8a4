package brokerfuzz

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/kafka"
)

// Versions of requests by the generation of the protocol: what clients before 2.7, clients of protocol 4 and of protocol 5
// send. A broker that is older gets its newest, but for those by which protocol 5 is known.
func (r *run) version(key int16, protocol int16, v3, v4, v5 int16) int16 {
	switch protocol {
	case 3:
		return r.cluster.newest(key, v3)
	case 4:
		return r.cluster.newest(key, v4)
	}
	if key == 0 || key == 26 || key == 28 {
		return v5
	}
	return r.cluster.newest(key, v5)
}

func code(c int16) string { return strconv.Itoa(int(c)) }

func (r *run) initRequest(a *actor, o *Op, protocol int16) *request {
	pid, epoch := int64(-1), int16(-1)
	if o.As != "" {
		pid, epoch = a.identity(o.As)
	}
	to := target{coordinatorOf, a.id, 0}
	if a.id == "" {
		to = target{}
	}
	return &request{
		to: to,
		build: func() kmsg.Request {
			q := kmsg.NewPtrInitProducerIDRequest()
			q.Version = r.version(22, protocol, 3, 4, 5)
			if a.id != "" {
				q.TransactionalID = &a.id
			}
			q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = int32(a.Timeout.Milliseconds()), pid, epoch
			return q
		},
		code: func(x kmsg.Response) int16 { return x.(*kmsg.InitProducerIDResponse).ErrorCode },
		print: func(x kmsg.Response) string {
			p := x.(*kmsg.InitProducerIDResponse)
			if p.ErrorCode != 0 {
				return code(p.ErrorCode)
			}
			return "0 " + r.identity(p.ProducerID, int32(p.ProducerEpoch))
		},
		took: func(x kmsg.Response) {
			if p := x.(*kmsg.InitProducerIDResponse); p.ErrorCode == 0 {
				a.become(p.ProducerID, p.ProducerEpoch)
				r.knowTerm(p.ProducerID, a.id)
			}
		},
	}
}

const unknownPartition = 999

func (r *run) addRequest(a *actor, o *Op, protocol int16) *request {
	pid, epoch := a.identity(o.As)
	return &request{
		to: target{coordinatorOf, a.id, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrAddPartitionsToTxnRequest()
			q.Version = r.version(24, protocol, 1, 3, 3)
			q.TransactionalID, q.ProducerID, q.ProducerEpoch = a.id, pid, epoch
			t := kmsg.NewAddPartitionsToTxnRequestTopic()
			t.Topic, t.Partitions = r.topic, []int32{o.Partition}
			if o.Unknown != "" {
				t.Partitions = append(t.Partitions, unknownPartition)
			}
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) (c int16) {
			for _, t := range x.(*kmsg.AddPartitionsToTxnResponse).Topics {
				for _, p := range t.Partitions {
					if c == 0 || again(p.ErrorCode) {
						c = p.ErrorCode
					}
				}
			}
			return c
		},
		print: func(x kmsg.Response) (s string) {
			for _, t := range x.(*kmsg.AddPartitionsToTxnResponse).Topics {
				for i := range 2 { // in the order of the request, whatever that of the answer is
					for _, p := range t.Partitions {
						if (p.Partition == unknownPartition) == (i == 1) {
							s += " " + code(p.ErrorCode)
						}
					}
				}
			}
			return s[min(1, len(s)):]
		},
	}
}

func (r *run) offsetsRequest(a *actor, o *Op, protocol int16) *request {
	pid, epoch := a.identity(o.As)
	return &request{
		to: target{coordinatorOf, a.id, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrAddOffsetsToTxnRequest()
			q.Version = r.version(25, protocol, 1, 3, 4)
			q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group = a.id, pid, epoch, r.group
			return q
		},
		code:  func(x kmsg.Response) int16 { return x.(*kmsg.AddOffsetsToTxnResponse).ErrorCode },
		print: func(x kmsg.Response) string { return code(x.(*kmsg.AddOffsetsToTxnResponse).ErrorCode) },
	}
}

// stamp is the timestamp of the first record of an operation.
func stamp(operation int) int64 { return 1_700_000_000_000 + int64(operation)*1000 }

func (r *run) produceRequest(a *actor, o *Op, protocol int16) *request {
	w := &a.parts[o.Partition]
	b := w.batch(o.Sequence, o.Records, r.operation)
	pid, epoch := a.identity(o.As)
	who := kafka.Identity{ProducerID: pid, ProducerEpoch: epoch}
	sequence := b.sequence
	switch o.Form {
	case "plain":
		who, sequence = kafka.Identity{ProducerID: -1, ProducerEpoch: -1}, -1
	case transactional:
		who.TransactionalID = "a transactional batch"
	}
	var records []kafka.Record
	for i := range b.records {
		records = append(records, kafka.Record{Value: fmt.Appendf(nil, "%d.%d", b.stamp, i), Timestamp: stamp(b.stamp) + int64(i)})
	}
	data, err := kafka.BuildBatch(who, sequence, kafka.NoCompression, records)
	if err != nil {
		r.fail("batch: %w", err)
	}
	only := func(x kmsg.Response) kmsg.ProduceResponseTopicPartition {
		return x.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	}
	return &request{
		to: target{leaderOf, "", o.Partition},
		build: func() kmsg.Request {
			q := kmsg.NewPtrProduceRequest()
			q.Version, q.Acks, q.TimeoutMillis = r.version(0, protocol, 9, 11, 12), -1, 10000
			if o.Form == transactional && a.id != "" {
				q.TransactionID = &a.id
			}
			t := kmsg.NewProduceRequestTopic()
			t.Topic = r.topic
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = o.Partition, append([]byte(nil), data...)
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 { return only(x).ErrorCode },
		print: func(x kmsg.Response) string {
			p := only(x)
			if p.ErrorCode != 0 {
				return code(p.ErrorCode)
			}
			return fmt.Sprintf("0 offset %d", p.BaseOffset)
		},
		took: func(x kmsg.Response) {
			if only(x).ErrorCode == 0 && o.Form != "plain" && pid == a.pid && epoch == a.epoch {
				w.took(b)
			}
		},
	}
}

// mark is the offset that an operation commits.
func (r *run) mark() int64 { return int64(r.operation) * 10 }

func (r *run) markRequest(a *actor, o *Op, protocol int16) *request {
	pid, epoch := a.identity(o.As)
	offset := r.mark()
	return &request{
		to: target{coordinatorOfGroup, r.group, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrTxnOffsetCommitRequest()
			q.Version = r.version(28, protocol, 2, 4, 5)
			q.TransactionalID, q.Group, q.ProducerID, q.ProducerEpoch, q.Generation = a.id, r.group, pid, epoch, -1
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic = r.topic
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, offset, -1, kmsg.StringPtr("txn")
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 {
			return x.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode
		},
		print: func(x kmsg.Response) string {
			return code(x.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
		},
	}
}

func (r *run) commitRequest(o *Op) *request {
	offset := r.mark()
	return &request{
		to: target{coordinatorOfGroup, r.group, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrOffsetCommitRequest()
			q.Version, q.Group, q.Generation = 8, r.group, -1
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic = r.topic
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, offset, -1, kmsg.StringPtr("plain")
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 { return x.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode },
		print: func(x kmsg.Response) string {
			return code(x.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
		},
	}
}

func (r *run) endRequest(a *actor, o *Op, protocol int16) *request {
	pid, epoch := a.identity(o.As)
	return &request{
		to: target{coordinatorOf, a.id, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrEndTxnRequest()
			q.Version = r.version(26, protocol, 1, 4, 5)
			q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = a.id, pid, epoch, o.Verdict == "commit"
			return q
		},
		code: func(x kmsg.Response) int16 { return x.(*kmsg.EndTxnResponse).ErrorCode },
		print: func(x kmsg.Response) string {
			p := x.(*kmsg.EndTxnResponse)
			if p.ErrorCode == 0 && p.Version >= 5 {
				return "0 " + r.identity(p.ProducerID, int32(p.ProducerEpoch))
			}
			return code(p.ErrorCode)
		},
		took: func(x kmsg.Response) {
			if p := x.(*kmsg.EndTxnResponse); p.ErrorCode == 0 && p.Version >= 5 && p.ProducerID >= 0 {
				a.become(p.ProducerID, p.ProducerEpoch)
			}
		},
	}
}

func (r *run) markerRequest(a *actor, o *Op, protocol int16) *request {
	pid, epoch := a.identity(o.As)
	term := map[string]int32{same: r.term(a.id), "older": -1, "newer": r.term(a.id) + 1}[o.Term]
	r.knowTerm(pid, a.id)
	only := func(x kmsg.Response) int16 {
		return x.(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode
	}
	return &request{
		to: target{leaderOf, "", o.Partition},
		build: func() kmsg.Request {
			q := kmsg.NewPtrWriteTxnMarkersRequest()
			q.Version = r.version(27, protocol, 1, 1, 2)
			m := kmsg.NewWriteTxnMarkersRequestMarker()
			m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch = pid, epoch, o.Verdict == "commit", term
			if q.Version >= 2 {
				m.TransactionVersion = 2
			}
			t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
			t.Topic, t.Partitions = r.topic, []int32{o.Partition}
			m.Topics = append(m.Topics, t)
			q.Markers = append(q.Markers, m)
			return q
		},
		code:  only,
		print: func(x kmsg.Response) string { return code(only(x)) },
	}
}

func (r *run) deleteRecordsRequest(o *Op) *request {
	offset := r.place(o)
	if o.At == "high" {
		offset = -1
	}
	return &request{
		to: target{leaderOf, "", o.Partition},
		build: func() kmsg.Request {
			q := kmsg.NewPtrDeleteRecordsRequest()
			q.Version, q.TimeoutMillis = 2, 10000
			t := kmsg.NewDeleteRecordsRequestTopic()
			t.Topic = r.topic
			p := kmsg.NewDeleteRecordsRequestTopicPartition()
			p.Partition, p.Offset = o.Partition, offset
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 { return x.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0].ErrorCode },
		print: func(x kmsg.Response) string {
			p := x.(*kmsg.DeleteRecordsResponse).Topics[0].Partitions[0]
			if p.ErrorCode != 0 {
				return code(p.ErrorCode)
			}
			return fmt.Sprintf("0 low %d", p.LowWatermark)
		},
	}
}

func (r *run) deleteGroupRequest() *request {
	return &request{
		to: target{coordinatorOfGroup, r.group, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrDeleteGroupsRequest()
			q.Version, q.Groups = 2, []string{r.group}
			return q
		},
		code:  func(x kmsg.Response) int16 { return x.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode },
		print: func(x kmsg.Response) string { return code(x.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode) },
	}
}

func (r *run) deleteOffsetRequest(o *Op) *request {
	return &request{
		to: target{coordinatorOfGroup, r.group, 0},
		build: func() kmsg.Request {
			q := kmsg.NewPtrOffsetDeleteRequest()
			q.Group = r.group
			t := kmsg.NewOffsetDeleteRequestTopic()
			t.Topic = r.topic
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = o.Partition
			t.Partitions = append(t.Partitions, p)
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 { return x.(*kmsg.OffsetDeleteResponse).ErrorCode },
		print: func(x kmsg.Response) string {
			p := x.(*kmsg.OffsetDeleteResponse)
			if p.ErrorCode != 0 {
				return code(p.ErrorCode)
			}
			for _, t := range p.Topics {
				for _, q := range t.Partitions {
					return "0 " + code(q.ErrorCode)
				}
			}
			return "0"
		},
	}
}
