package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// BuildBatch seals records into one batch of an identity. Offsets of the records are not looked at; Headers lie as in a
// Record.
func BuildBatch(who Identity, sequence int32, how Compression, records []Record) ([]byte, error) {
	var b builder
	b.reset(nil)
	for i := range records {
		r := &records[i]
		b.append(r.Key, r.Value, r.Headers, r.Timestamp)
	}
	buf := b.buf
	if how != NoCompression {
		var err error
		if buf, err = new(codec).pack(how, nil, buf[:batchHeader], buf[batchHeader:]); err != nil {
			return nil, err
		}
	}
	sealBatch(buf, &b, who, sequence, how)
	return buf, nil
}

// Produced is what a leader says about one produced batch.
type Produced struct {
	Offset        int64 // of its first record
	LogAppendTime int64 // -1: the topic keeps timestamps
	LogStart      int64
}

// ProduceOnce sends one batch of an identity to a partition's leader, once. It is what a Producer does many times, bare.
func (c *Client) ProduceOnce(tp id.TopicPartition, who Identity, batch []byte, done func(Produced, Code, error)) {
	build := func(int32) one {
		req := kmsg.NewPtrProduceRequest()
		if who.TransactionalID != "" {
			req.TransactionID = kmsg.StringPtr(who.TransactionalID)
		}
		req.Acks, req.TimeoutMillis = -1, c.brokerTimeoutMs()
		t := kmsg.NewProduceRequestTopic()
		t.Topic = tp.Topic
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = tp.Partition, batch
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return one{req: req, version: who.produceVersion(), exact: who.produceVersion() >= 12, extra: c.cfg.RequestTimeout}
	}
	only := func(r kmsg.Response) *kmsg.ProduceResponseTopicPartition {
		for ti := range r.(*kmsg.ProduceResponse).Topics {
			for pi := range r.(*kmsg.ProduceResponse).Topics[ti].Partitions {
				return &r.(*kmsg.ProduceResponse).Topics[ti].Partitions[pi]
			}
		}
		return &kmsg.ProduceResponseTopicPartition{ErrorCode: int16(UnknownServerError)}
	}
	read := func(r kmsg.Response) Code { return Code(only(r).ErrorCode) }
	c.toLeader(tp, broker.Produce, build, read, func(r kmsg.Response, code Code, err error) {
		if err != nil {
			done(Produced{Offset: -1, LogAppendTime: -1}, code, err)
			return
		}
		p := only(r)
		done(Produced{p.BaseOffset, p.LogAppendTime, p.LogStartOffset}, code, nil)
	})
}
