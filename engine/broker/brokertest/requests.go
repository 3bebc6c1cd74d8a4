package brokertest

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// initRequest initialises an id; pid and epoch are what its producer believes to be, -1 for a new incarnation.
func initRequest(version int16, transactionalID string, timeout time.Duration, pid int64, epoch int16) *kmsg.InitProducerIDRequest {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = version, &transactionalID, int32(timeout/time.Millisecond)
	req.ProducerID, req.ProducerEpoch = pid, epoch
	return req
}

func endRequest(version int16, who kafka.Identity, commit bool) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = version, who.TransactionalID, who.ProducerID, who.ProducerEpoch, commit
	return req
}

func addRequest(version int16, who kafka.Identity, parts ...id.TopicPartition) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = version, who.TransactionalID, who.ProducerID, who.ProducerEpoch
	for _, tp := range parts {
		t := kmsg.NewAddPartitionsToTxnRequestTopic()
		t.Topic, t.Partitions = tp.Topic, []int32{tp.Partition}
		req.Topics = append(req.Topics, t)
	}
	return req
}

func addOffsetsRequest(version int16, who kafka.Identity, group string) *kmsg.AddOffsetsToTxnRequest {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = version, who.TransactionalID, who.ProducerID, who.ProducerEpoch, group
	return req
}

func txnOffsetRequest(version int16, who kafka.Identity, group string, tp id.TopicPartition, offset int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = version, who.TransactionalID, who.ProducerID, who.ProducerEpoch
	req.Group, req.Generation = group, -1
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = tp.Partition, offset, kmsg.StringPtr("")
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.Partitions = tp.Topic, []kmsg.TxnOffsetCommitRequestTopicPartition{p}
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{t}
	return req
}

// produceRequest is a batch of one record for each value, transactional if the identity is.
func (p *property) produceRequest(version int16, tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) *kmsg.ProduceRequest {
	var records []kafka.Record
	for _, v := range values {
		records = append(records, kafka.Record{Key: []byte("k"), Value: []byte(v), Timestamp: p.Time})
	}
	batch, err := kafka.BuildBatch(who, sequence, kafka.NoCompression, records)
	p.Check(err == nil, "batch: %v", err)
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, -1, 10_000
	if who.TransactionalID != "" {
		req.TransactionID = &who.TransactionalID
	}
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = tp.Partition, batch
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic, rt.Partitions = tp.Topic, []kmsg.ProduceRequestTopicPartition{rp}
	req.Topics = []kmsg.ProduceRequestTopic{rt}
	return req
}

// codeOf is the code of an answer: the first one that is not OK, where it has several.
func codeOf(r kmsg.Response) kafka.Code {
	first := kafka.OK
	see := func(code int16) {
		if first == kafka.OK || first == kafka.OperationNotAttempted && code != 0 {
			first = kafka.Code(code)
		}
	}
	switch x := r.(type) {
	case *kmsg.InitProducerIDResponse:
		see(x.ErrorCode)
	case *kmsg.EndTxnResponse:
		see(x.ErrorCode)
	case *kmsg.AddOffsetsToTxnResponse:
		see(x.ErrorCode)
	case *kmsg.ListTransactionsResponse:
		see(x.ErrorCode)
	case *kmsg.AddPartitionsToTxnResponse:
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				see(p.ErrorCode)
			}
		}
	case *kmsg.TxnOffsetCommitResponse:
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				see(p.ErrorCode)
			}
		}
	case *kmsg.ProduceResponse:
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				see(p.ErrorCode)
			}
		}
	case *kmsg.OffsetFetchResponse:
		see(x.ErrorCode)
		for _, g := range x.Groups {
			see(g.ErrorCode)
		}
	default:
		panic(fmt.Sprintf("no code is known of %T", r))
	}
	return first
}

// ask sends a request until its answer is final, and tells the code.
func (p *property) ask(w stage.Where, req kmsg.Request) (kmsg.Response, kafka.Code) {
	return p.Answer(w, req, codeOf)
}

// once sends a request once, and tells the code or the error.
func (p *property) once(w stage.Where, req kmsg.Request) string {
	r, err := p.RawAt(w, req)
	if err != nil {
		return err.Error()
	}
	return codeOf(r).String()
}

// initialise sends InitProducerId of some version with what is expected.
func (p *property) initialise(version int16, transactionalID string, timeout time.Duration, pid int64, epoch int16) (who kafka.Identity, code kafka.Code) {
	r, code := p.ask(stage.TxnCoordinator(transactionalID), initRequest(version, transactionalID, timeout, pid, epoch))
	x := r.(*kmsg.InitProducerIDResponse)
	return kafka.Identity{TransactionalID: transactionalID, ProducerID: x.ProducerID, ProducerEpoch: x.ProducerEpoch}, code
}

// end sends EndTxn of some version.
func (p *property) end(version int16, who kafka.Identity, commit bool) (next kafka.Identity, code kafka.Code) {
	r, code := p.ask(stage.TxnCoordinator(who.TransactionalID), endRequest(version, who, commit))
	x := r.(*kmsg.EndTxnResponse)
	next = who
	if version >= 5 && code == kafka.OK {
		next.ProducerID, next.ProducerEpoch = x.ProducerID, x.ProducerEpoch
	}
	return next, code
}

// produce sends a batch in some version.
func (p *property) produce(version int16, tp id.TopicPartition, who kafka.Identity, sequence int32, values ...string) (at int64, code kafka.Code) {
	r, code := p.ask(stage.Leader(tp), p.produceRequest(version, tp, who, sequence, values...))
	return r.(*kmsg.ProduceResponse).Topics[0].Partitions[0].BaseOffset, code
}

// produceVersion is what a protocol sends.
func (p *property) produceVersion(protocol int16) int16 {
	if protocol >= 5 {
		return 12
	}
	return min(11, p.Features.Max(produceKey))
}

// txnOffset sends a transactional offset in some version.
func (p *property) txnOffset(version int16, who kafka.Identity, group string, tp id.TopicPartition, offset int64) kafka.Code {
	_, code := p.ask(stage.GroupCoordinator(group), txnOffsetRequest(min(version, p.Features.Max(txnOffsetCommitKey)), who, group, tp, offset))
	return code
}

// protocols are those that the cluster has at its transaction.version: at 0 a broker of 4.0 offers the requests of protocol 5
// and refuses them.
func (p *property) protocols() []int16 {
	if p.Protocol5 && p.Features.TransactionVersion > 0 {
		return []int16{4, 5}
	}
	return []int16{4}
}

// named puts the protocol before the name of a fact.
func named(protocol int16, format string, args ...any) string {
	return fmt.Sprintf("protocol %d, %s", protocol, fmt.Sprintf(format, args...))
}

// writer is a fresh identity of a protocol.
func (p *property) writer(protocol int16) kafka.Identity { return p.Init(p.Name("txn"), protocol) }

// endVersion is what a protocol sends.
func (p *property) endVersion(protocol int16) int16 { return min(protocol, p.Features.Max(endTxnKey)) }

// after is a sequence of records in a later transaction: protocol 5 begins with 0 each time.
func after(protocol int16, sequence int32) int32 {
	if protocol >= 5 {
		return 0
	}
	return sequence
}

// relative is an identity as seen from an earlier one: "E+1".
func relative(from, to kafka.Identity) string {
	if to.ProducerID != from.ProducerID {
		return fmt.Sprintf("another producer id, epoch %d", to.ProducerEpoch)
	}
	return fmt.Sprintf("E%+d", to.ProducerEpoch-from.ProducerEpoch)
}

// describe is an id's transaction as seen from an identity: "Ongoing E+0".
func (p *property) describe(from kafka.Identity) string {
	x := p.Settled(from.TransactionalID)
	return fmt.Sprintf("%s %s", x.State, relative(from, kafka.Identity{ProducerID: x.ProducerID, ProducerEpoch: x.ProducerEpoch}))
}

// ownEpochs is by how much the coordinator moves the epoch when it aborts by itself.
func (p *property) ownEpochs() int16 {
	if p.FencesTwice && p.Features.TransactionVersion >= 2 {
		return 2
	}
	return 1
}

// high is a partition's high watermark.
func (p *property) high(tp id.TopicPartition) int64 {
	return p.Offset(tp, kafka.Latest, kafka.ReadUncommitted)
}

// stable is a partition's last stable offset.
func (p *property) stable(tp id.TopicPartition) int64 {
	return p.Offset(tp, kafka.Latest, kafka.ReadCommitted)
}
