package simbroker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() { handlers[0] = (*Broker).produce }

// production is one produce request under way.
type production struct {
	b     *Broker
	req   *kmsg.ProduceRequest
	resp  *kmsg.ProduceResponse
	reply func(kmsg.Response)
	asks  []askedPartition // partitions about which the coordinator has to be asked
	left  int              // what has to be known before the answer: 1 until all is taken, 1 for asking, 1 for each wait

	space produceSpace
}

// produceSpace is room for a usual response.
type produceSpace struct {
	resp   kmsg.ProduceResponse
	topics [1]kmsg.ProduceResponseTopic
	parts  [2]kmsg.ProduceResponseTopicPartition
}

// askedPartition is the first batch of a transaction on a partition, which waits for the coordinator.
type askedPartition struct {
	p     *partition
	h     header
	data  []byte
	guard uint64
	r     *kmsg.ProduceResponseTopicPartition
}

func (b *Broker) produce(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.ProduceRequest)
	x := b.c.productions.New()
	x.b, x.req, x.resp, x.reply, x.left = b, req, &x.space.resp, reply, 1
	x.resp.Default()
	x.resp.Version = req.Version
	x.answer(ok)
	if code := b.refuseWhole(req); code != ok {
		x.answer(code)
		x.done()
		return
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			r := &x.resp.Topics[i].Partitions[j]
			r.ErrorCode = x.take(t, &t.Partitions[j], r)
		}
	}
	if len(x.asks) > 0 {
		x.left++
		x.ask()
	}
	x.done()
}

// done answers when nothing is left to wait for. Without acknowledgements nothing is said, but an error ends the connection.
func (x *production) done() {
	if x.left--; x.left > 0 {
		return
	}
	if x.req.Acks != 0 {
		x.reply(x.resp)
		return
	}
	for i := range x.resp.Topics {
		for j := range x.resp.Topics[i].Partitions {
			if x.resp.Topics[i].Partitions[j].ErrorCode != ok {
				x.reply(nil)
				return
			}
		}
	}
	x.reply(silence)
}

// answer gives one code to every partition of the response.
func (x *production) answer(code int16) {
	x.resp.Topics = sized(x.space.topics[:0], len(x.req.Topics))
	for i := range x.req.Topics {
		t, rt := &x.req.Topics[i], &x.resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		var space []kmsg.ProduceResponseTopicPartition
		if i == 0 {
			space = x.space.parts[:0]
		}
		rt.Partitions = sized(space, len(t.Partitions))
		for j := range t.Partitions {
			r := &rt.Partitions[j]
			r.Default()
			r.Partition, r.ErrorCode, r.BaseOffset, r.LogAppendTime = t.Partitions[j].Partition, code, -1, -1
		}
	}
}

// refuseWhole finds what makes a whole request wrong.
func (b *Broker) refuseWhole(req *kmsg.ProduceRequest) int16 {
	if req.Acks < -1 || req.Acks > 1 {
		return invalidAcks
	}
	pid, txn := int64(-1), false
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			data := req.Topics[i].Partitions[j].Records
			if len(data) < batchHeader {
				continue
			}
			h := readHeader(data)
			txn = txn || h.txn()
			if h.producerID >= 0 {
				if pid >= 0 && pid != h.producerID {
					return invalidProducerID
				}
				pid = h.producerID
			}
		}
	}
	if txn && (req.TransactionID == nil || *req.TransactionID == "") {
		return idAuthorizationFailed
	}
	return ok
}

// take appends what can be appended at once and puts aside what the coordinator has to be asked about.
func (x *production) take(t *kmsg.ProduceRequestTopic, q *kmsg.ProduceRequestTopicPartition,
	r *kmsg.ProduceResponseTopicPartition,
) int16 {
	b := x.b
	p := b.partition(t.Topic, q.Partition)
	if x.req.Version >= 13 {
		if p = b.partitionByID(t.TopicID, q.Partition); p == nil {
			return unknownTopicID
		}
	}
	switch {
	case p == nil:
		return unknownTopicOrPartition
	case p.topic.internal:
		return invalidTopic
	case p.leader != b.id:
		if x.req.Version >= 10 {
			r.CurrentLeader.LeaderID, r.CurrentLeader.LeaderEpoch = p.leader, p.leaderEpoch
		}
		return notLeader
	case len(q.Records) > p.topic.maxBytes():
		return messageTooLarge
	}
	h, code := parseBatch(q.Records)
	if code != ok {
		return code
	}
	if h.txn() && b.profile.Verify && !p.log.isOpen(h.producerID, h.epoch, &b.profile) {
		return x.putAside(p, h, q.Records, r)
	}
	return x.append(p, h, q.Records, 0, r)
}

func (t *topic) maxBytes() int {
	if t.cfg.MaxMessageBytes > 0 {
		return t.cfg.MaxMessageBytes
	}
	return 1048588
}

func (x *production) putAside(p *partition, h header, data []byte, r *kmsg.ProduceResponseTopicPartition) int16 {
	if s := p.log.producer(h.producerID); x.b.profile.EpochNoGuard && s != nil && s.epoch > h.epoch {
		return invalidProducerEpoch
	}
	version := int8(0)
	if x.req.Version >= 12 {
		version = 2
	}
	g := p.log.protect(&h, version)
	x.asks = append(x.asks, askedPartition{p, h, append([]byte(nil), data...), g, r})
	return ok
}

// append is the leader's validation and append.
func (x *production) append(p *partition, h header, data []byte, guard uint64, r *kmsg.ProduceResponseTopicPartition) int16 {
	l := p.log
	if x.req.Acks == -1 && p.underMinISR() {
		x.b.reached(probeTooFew)
		return notEnoughReplicas
	}
	if h.producerID >= 0 {
		known, code := l.checkProducer(&h, guard, &x.b.profile)
		if code != ok {
			return code
		}
		if known != nil {
			x.b.reached(probeDuplicate)
			r.BaseOffset, r.LogStartOffset = known.base, l.start
			r.LogAppendTime = known.time // also where the topic keeps timestamps
			x.await(p, known.end+1, r)
			return r.ErrorCode
		}
	}
	r.BaseOffset = l.appendBatch(data, &h, p.leaderEpoch, p.appendTime(x.b.wallMs()))
	r.LogStartOffset = l.start
	if p.topic.cfg.AppendTime {
		r.LogAppendTime = h.maxTime
	}
	end := l.leo
	p.written()
	x.await(p, end, r)
	return r.ErrorCode
}

// await waits until a write is on all replicas in sync, if the producer wants that. What was written stays written whatever
// the answer is.
func (x *production) await(p *partition, end int64, r *kmsg.ProduceResponseTopicPartition) {
	r.ErrorCode = ok
	if x.req.Acks != -1 || p.log.hw >= end {
		return
	}
	x.left++
	p.whenCommitted(end, time.Duration(x.req.TimeoutMillis)*time.Millisecond, func(code int16) {
		r.ErrorCode = code
		x.done()
	})
}

// ask asks the coordinator whether the partitions are in the transaction, or to add them.
func (x *production) ask() {
	parts := make([]*partition, len(x.asks))
	for i := range x.asks {
		parts[i] = x.asks[i].p
	}
	h := &x.asks[0].h
	x.b.askCoordinator(&ask{
		id: *x.req.TransactionID, pid: h.producerID, epoch: h.epoch, parts: parts, add: x.req.Version >= 12,
		done: func(code int16, out []bool) {
			for i := range x.asks {
				a := &x.asks[i]
				a.r.ErrorCode = x.settle(a, code, len(out) > i && out[i])
			}
			x.done()
		},
	})
}

// settle appends one batch that waited, or says why not.
func (x *production) settle(a *askedPartition, code int16, missing bool) int16 {
	v := x.req.Version
	switch {
	case code == ok && missing && v >= 11 && x.b.profile.AbortableErr:
		return transactionAbortable
	case code == ok && missing:
		return invalidTxnState
	case code == ok && (a.p.deleted || a.p.leader != x.b.id):
		return notLeader
	case code == ok:
		return x.append(a.p, a.h, a.data, a.guard, a.r)
	case code == producerFenced:
		return invalidProducerEpoch
	case code == concurrentTransactions && v >= 12:
		return concurrentTransactions
	case code == concurrentTransactions, code == networkException, code == coordinatorLoading,
		code == coordinatorNotAvailable, code == notCoordinator:
		return notEnoughReplicas
	}
	return code
}
