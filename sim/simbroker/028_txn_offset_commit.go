package simbroker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() { handlers[28] = (*Broker).txnOffsetCommit }

const maxMetadata = 4096

// txnOffsetCommit stores offsets that become visible when the producer's transaction is committed.
func (b *Broker) txnOffsetCommit(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.TxnOffsetCommitRequest)
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	o := b.c.groupPartition(req.Group).group
	h := header{attributes: attrTxn, producerID: req.ProducerID, epoch: req.ProducerEpoch, sequence: -1}
	refuse := func(code int16) {
		if b.profile.ForgetsPending && code == invalidProducerEpoch {
			o.forgetPending(req)
		}
		txnOffsetAll(resp, req, code)
		reply(resp)
	}
	commit := func() {
		if code := o.mayCommit(b, &h, req.Group, req.Generation, req.Version >= 6); code != ok {
			refuse(code)
			return
		}
		o.commitTxn(b, req, resp, h, reply)
	}
	code := o.get(b, req.Group)
	if code == ok && b.profile.KeepsRefusedGroup {
		o.ensure(req.Group)
	}
	switch {
	case code != ok:
		refuse(code)
	case !b.profile.VerifyOffsets || o.p.log.isOpen(h.producerID, h.epoch, &b.profile):
		commit()
	default:
		b.askCoordinator(&ask{
			id: req.TransactionalID, pid: h.producerID, epoch: h.epoch, parts: []*partition{o.p}, add: req.Version >= 5,
			done: func(code int16, missing []bool) {
				if code = offsetVerdict(code, missing, req.Version, &b.profile); code != ok {
					refuse(code)
					return
				}
				commit()
			},
		})
	}
}

// forgetPending drops what a producer has pending for the partitions of a request.
func (o *offsets) forgetPending(req *kmsg.TxnOffsetCommitRequest) {
	g := o.known(req.Group)
	if g == nil {
		return
	}
	for i := range req.Topics {
		for j := range req.Topics[i].Partitions {
			tp := TopicPartition{Topic: req.Topics[i].Topic, Partition: req.Topics[i].Partitions[j].Partition}
			if s := g.find(tp); s != nil {
				s.drop(req.ProducerID)
			}
		}
	}
}

// offsetVerdict turns the transaction coordinator's answer into the group coordinator's.
func offsetVerdict(code int16, missing []bool, version int16, p *Profile) int16 {
	switch {
	case code == ok && len(missing) > 0 && missing[0]:
		if version >= 4 && p.AbortableErr {
			return transactionAbortable
		}
		return invalidTxnState
	case code == producerFenced:
		return invalidProducerEpoch
	case code == networkException:
		return coordinatorLoading
	}
	return code
}

func txnOffsetAll(resp *kmsg.TxnOffsetCommitResponse, req *kmsg.TxnOffsetCommitRequest, code int16) {
	resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{
				Partition: t.Partitions[j].Partition, ErrorCode: code,
			})
		}
	}
}

// mayCommit checks leader, group and producer once more, after the coordinator has answered.
func (o *offsets) mayCommit(b *Broker, h *header, name string, generation int32, byGroup bool) int16 {
	if code := o.get(b, name); code != ok {
		return code
	}
	group := o.admits(name, generation, byGroup)
	s := o.p.log.producer(h.producerID)
	switch {
	case o.p.underMinISR():
		return coordinatorNotAvailable
	case group != ok:
		return group
	case s != nil && h.epoch < s.epoch:
		return invalidProducerEpoch
	}
	return ok
}

// admits is the rule for who may commit to a group without members: who names no generation. A group that does not exist
// yet is made for it.
func (o *offsets) admits(name string, generation int32, tellsGroup bool) int16 {
	switch {
	case generation < 0:
		return ok
	case o.known(name) != nil:
		return unknownMember
	case tellsGroup:
		return groupIDNotFound
	}
	return illegalGeneration
}

func (o *offsets) commitTxn(b *Broker, req *kmsg.TxnOffsetCommitRequest, resp *kmsg.TxnOffsetCommitResponse, h header,
	reply func(kmsg.Response),
) {
	txnOffsetAll(resp, req, ok)
	o.ensure(req.Group)
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			q := &t.Partitions[j]
			resp.Topics[i].Partitions[j].ErrorCode = o.store(b, req.Group, offsetCommit{
				topic: b.topicOf(t.Topic, t.TopicID, req.Version >= 6), num: q.Partition, byID: req.Version >= 6,
				offset: q.Offset, leaderEpoch: q.LeaderEpoch, metadata: q.Metadata, h: h,
			})
		}
	}
	o.answer(b, func(code int16) {
		if code != ok {
			txnOffsetAll(resp, req, code)
		}
		reply(resp)
	})
}

func (b *Broker) topicOf(name string, id [16]byte, byID bool) *topic {
	if byID {
		return b.c.byID[id]
	}
	return b.c.byName[name]
}

// offsetCommit is one value for one partition.
type offsetCommit struct {
	topic       *topic
	num         int32
	byID        bool
	offset      int64
	leaderEpoch int32
	metadata    *string
	h           header // of the producer, or of nobody
}

// store writes one value to the log of the group's partition.
func (o *offsets) store(b *Broker, group string, c offsetCommit) int16 {
	p := b.pick(c.topic, c.num)
	switch {
	case p == nil && c.byID:
		return unknownTopicID
	case p == nil:
		return unknownTopicOrPartition
	case c.metadata != nil && len(*c.metadata) > maxMetadata:
		return offsetMetadataTooLarge
	}
	v := offsetValue{offset: c.offset, leaderEpoch: c.leaderEpoch, timeMs: b.wallMs(), topicID: c.topic.id}
	if c.metadata != nil {
		v.metadata = *c.metadata
	}
	c.h.count = 1
	c.h.maxTime = v.timeMs
	v.logOffset = o.p.log.appendVirtual(&c.h)
	o.write(groupWrite{at: v.logOffset, pid: c.h.producerID, group: group, tp: p.name(), value: v})
	o.p.written()
	return ok
}

// answer runs fn when what was appended so far is replicated, or it is known that it will not be in time.
func (o *offsets) answer(b *Broker, fn func(code int16)) {
	l := o.p.log
	if o.p.replicated() {
		o.p.whenCommitted(l.leo, offsetsTimeout, func(code int16) { fn(offsetsCode(code)) })
		return
	}
	d := b.c.span(b.c.cfg.OffsetAppend, kindOffsetAppend, uint64(o.p.ix), uint64(l.leo), 0)
	at := max(b.c.w.Now().Add(d), o.settled)
	o.settled = at
	b.loop.After(at.Sub(b.c.w.Now()), func() { fn(ok) })
}

// offsetsTimeout is offsets.commit.timeout.ms.
const offsetsTimeout = 5 * time.Second

// offsetsCode is what a group coordinator says when its log could not be written.
func offsetsCode(code int16) int16 {
	switch code {
	case unknownTopicOrPartition, notEnoughReplicas, notEnoughReplicasAfterAppend, requestTimedOut:
		return coordinatorNotAvailable
	case notLeader:
		return notCoordinator
	}
	return code
}
