package kafka

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// One Produce request carries at most so many bytes of batches, so that a broker's limit is not met.
const maxProduceBytes = 16 << 20

// produceVersion by protocol: from 12 on the broker adds partitions to the transaction by itself.
func (i Identity) produceVersion() int16 {
	if i.TransactionalID != "" && i.Protocol >= 5 {
		return 12
	}
	return 11
}

// schedule runs pump soon, once.
func (p *Producer) schedule() {
	if !p.posted {
		p.posted = true
		p.client.cfg.Loop.Post(p.posting)
	}
}

// turn is what schedule posts.
func (p *Producer) turn() {
	p.posted = false
	if !p.client.closed {
		p.client.withFeatures(p.feature)
	}
}

func (p *Producer) pumpWith(err error) {
	if err != nil {
		p.fail(err)
		return
	}
	p.pump()
}

// sendable reports whether the first sealed batch of a partition waits for nothing.
func (o *outPart) sendable() bool { return len(o.sealed) > 0 && !o.inFlight && !o.held }

// pump sends the first sealed batch of each partition that has none in flight, one request per leader.
func (p *Producer) pump() {
	if p.dead() {
		return
	}
	sends := p.sends[:0]
	var join []*outPart
	for _, o := range p.parts {
		if !o.sendable() {
			continue
		}
		if !o.joined {
			join = append(join, o)
			continue
		}
		node, _, ok := p.client.cluster.leader(o.tp)
		if !ok {
			p.hold(o, LeaderNotAvailable, nil)
			continue
		}
		sends = addSend(sends, node, o)
	}
	if len(join) > 0 {
		p.join(join)
	}
	for _, s := range sends {
		p.send(s)
	}
	clear(sends)
	p.sends = sends[:0]
}

// produceSend is one request under construction.
type produceSend struct {
	node  int32
	parts []*outPart
	bytes int
}

func addSend(sends []produceSend, node int32, o *outPart) []produceSend {
	n := len(o.sealed[0].buf)
	for i := range sends {
		if s := &sends[i]; s.node == node && s.bytes+n <= maxProduceBytes {
			s.parts, s.bytes = append(s.parts, o), s.bytes+n
			return sends
		}
	}
	return append(sends, produceSend{node, []*outPart{o}, n})
}

func (p *Producer) send(s produceSend) {
	k := &produceCall{p: p, node: s.node, parts: s.parts}
	k.batches = k.space[:0]
	req := &k.req
	req.Default()
	if p.who.TransactionalID != "" {
		req.TransactionID = &p.who.TransactionalID
	}
	req.Acks, req.TimeoutMillis = -1, int32(p.client.cfg.RequestTimeout/time.Millisecond)
	o := one{req: req, version: p.who.produceVersion(), exact: p.who.produceVersion() >= 12}
	if err := p.client.pinOne(o); err != nil {
		p.fail(err)
		return
	}
	req.Topics = k.topics[:0]
	for i, o := range s.parts {
		o.inFlight = true
		b := o.sealed[0]
		b.sending++
		k.batches = append(k.batches, b)
		at := slices.IndexFunc(req.Topics, func(t kmsg.ProduceRequestTopic) bool { return t.Topic == o.tp.Topic })
		if at < 0 {
			t := kmsg.NewProduceRequestTopic()
			t.Topic = o.tp.Topic
			at = len(req.Topics)
			if t.Partitions = k.partitions[:0]; at > 0 || len(s.parts) > len(k.partitions) {
				t.Partitions = make([]kmsg.ProduceRequestTopicPartition, 0, len(s.parts)-i)
			}
			req.Topics = append(req.Topics, t)
		}
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = o.tp.Partition, b.buf
		req.Topics[at].Partitions = append(req.Topics[at].Partitions, part)
	}
	k.late = k.expired
	p.client.await(&k.deadline, 2*p.client.cfg.RequestTimeout)
	p.client.ports[broker.Produce].Send(s.node, req, k.answered)
}

// produceCall is a request under way.
type produceCall struct {
	deadline
	p          *Producer
	node       int32
	over       bool
	parts      []*outPart
	batches    []*outBatch // of parts
	space      [4]*outBatch
	req        kmsg.ProduceRequest
	topics     [1]kmsg.ProduceRequestTopic
	partitions [2]kmsg.ProduceRequestTopicPartition // of the first topic
}

func (k *produceCall) expired() {
	if !k.over && !k.p.client.closed {
		k.over = true
		k.done(nil, fmt.Errorf("produce to node %d: %w", k.node, ErrTimeout))
	}
}

func (k *produceCall) answered(r kmsg.Response, err error) {
	if k.p.client.closed {
		return
	}
	if !k.over {
		k.over = true
		k.p.client.met(&k.deadline)
		k.p.client.doubt(k.node, k.req.Key(), err)
		k.done(r, err)
	}
	// The bytes belonged to the port until now, which may be after the request was given up.
	for _, b := range k.batches {
		b.sending--
		k.p.recycle(b)
	}
}

func (k *produceCall) done(r kmsg.Response, err error) {
	p := k.p
	if p.closed {
		return
	}
	for i, o := range k.parts {
		o.inFlight = false
		if err != nil {
			p.hold(o, OK, err)
			continue
		}
		p.answer(o, k.batches[i], r.(*kmsg.ProduceResponse))
	}
	if !p.posted && slices.ContainsFunc(k.parts, (*outPart).sendable) {
		p.turn()
	}
}

// answer takes what the leader says about one batch.
func (p *Producer) answer(o *outPart, b *outBatch, resp *kmsg.ProduceResponse) {
	for ti := range resp.Topics {
		if resp.Topics[ti].Topic != o.tp.Topic {
			continue
		}
		for pi := range resp.Topics[ti].Partitions {
			if r := &resp.Topics[ti].Partitions[pi]; r.Partition == o.tp.Partition {
				if code := Code(r.ErrorCode); code != OK {
					p.hold(o, code, nil)
					return
				}
				p.ack(o, b, r.BaseOffset)
				return
			}
		}
	}
	p.hold(o, OK, answered("Produce", o.tp))
}

// ack folds an acknowledged batch into the range of its partition.
func (p *Producer) ack(o *outPart, b *outBatch, base int64) {
	if base < 0 || o.anyAcked && base <= o.acked.Last {
		p.fail(fmt.Errorf("produce to %s: a batch of %d records was acknowledged at offset %d, after %d: it was not appended", o.tp, b.count, base, o.acked.Last))
		return
	}
	if !o.anyAcked {
		o.anyAcked, o.acked.First = true, base
	}
	o.acked.Last, o.acked.Count, o.acked.Bodies, o.acked.Times = base+int64(b.count)-1, b.sum.Count, b.sum.Bodies, b.sum.Times
	o.try = 0
	o.sealed = slices.Delete(o.sealed, 0, 1)
	b.done = true
	p.recycle(b)
	p.pending--
	p.bytes -= b.bytes
	if o.overdue && len(o.sealed) == 0 && o.open.buf != nil {
		p.seal(o)
	}
	p.acked(b.number)
}

// acked tells flushes and a writer that waits for room.
func (p *Producer) acked(number uint64) {
	done := 0
	for i := range p.flushes {
		if f := &p.flushes[i]; number <= f.upTo {
			if f.left--; f.left == 0 {
				done = i + 1
			}
		}
	}
	for _, f := range p.flushes[:done] {
		p.client.later(func() { f.done(p.err) })
	}
	p.flushes = p.flushes[done:]
	if p.full && p.bytes < p.cfg.BufferBytes*3/4 {
		p.full = false
		p.client.later(func() {
			if p.cfg.Wake != nil && !p.closed {
				p.cfg.Wake()
			}
		})
	}
}

// recycle gives a batch's bytes back once neither the producer nor the port needs them.
func (p *Producer) recycle(b *outBatch) {
	if b.done && b.sending == 0 && b.buf != nil {
		p.client.buffers.put(b.buf)
		b.buf = nil
	}
}

// hold lets a partition rest and then sends the same bytes again, or fails the producer.
func (p *Producer) hold(o *outPart, code Code, err error) {
	if err == nil && !produceRepeats(code) {
		p.fail(fmt.Errorf("produce to %s: %w", o.tp, code))
		return
	}
	if p.overdue(o, code, err) {
		return
	}
	p.client.cfg.Process.Reached(batchSentAgain)
	o.held = true
	refresh := code == OK || code.Class() == RefreshLeader
	p.client.after(o.tp.Topic, o.try, func() {
		again := func(error) { o.held = false; p.pump() }
		if refresh {
			p.client.cluster.refresh(again)
		} else {
			again(nil)
		}
	})
	o.try++
}

// overdue fails the producer when the first batch of a partition has waited too long.
func (p *Producer) overdue(o *outPart, code Code, err error) bool {
	if err == nil {
		err = code
	}
	age := p.client.cfg.Process.Now().Sub(o.sealed[0].sealed)
	if age < p.cfg.DeliveryTimeout {
		return false
	}
	p.fail(fmt.Errorf("produce to %s: not acknowledged within %s: %w", o.tp, p.cfg.DeliveryTimeout, err))
	return true
}

// produceRepeats lists the codes after which the same bytes are sent again. After 7, 13 and 20 they may be in the log
// already: the sequence makes the repetition harmless.
func produceRepeats(code Code) bool {
	if code == UnknownServerError {
		return false
	}
	switch code.Class() {
	case Retry, RefreshLeader, FindCoordinator:
		return true
	}
	return false
}

// join adds partitions to the transaction before their first batch, below transaction.version 2. One request at a time:
// brokers do not like them side by side. A repetition does nothing.
func (p *Producer) join(parts []*outPart) {
	if p.joining {
		return
	}
	p.joining = true
	tps := make([]id.TopicPartition, len(parts))
	for i, o := range parts {
		tps[i] = o.tp
	}
	p.client.AddPartitionsToTxn(p.who, tps, func(_ []PartitionCode, code Code, err error) {
		if p.dead() {
			return
		}
		if err == nil && code == OK {
			for _, o := range parts {
				o.joined = true
			}
			p.joining, p.joinTry = false, 0
			p.pump()
			return
		}
		if err == nil && !produceRepeats(code) {
			p.fail(fmt.Errorf("add %v to the transaction of %s: %w", tps, p.who.TransactionalID, code))
			return
		}
		for _, o := range parts {
			if p.overdue(o, code, err) {
				return
			}
		}
		p.client.after(p.who.TransactionalID, p.joinTry, func() { p.joining = false; p.pump() })
		p.joinTry++
	})
}
