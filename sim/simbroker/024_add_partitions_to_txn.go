package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[24] = (*Broker).addPartitionsToTxn }

// addPartitionsToTxn serves the client's form. The form of version 4 and later, which brokers use among themselves, is
// served too, one transaction after the other.
func (b *Broker) addPartitionsToTxn(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.AddPartitionsToTxnRequest)
	resp := req.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if req.Version >= 4 {
		b.addTransactions(req, resp, reply)
		return
	}
	var parts []*partition
	unknown := false
	for i := range req.Topics {
		t := &req.Topics[i]
		for _, num := range t.Partitions {
			p := b.partition(t.Topic, num)
			unknown = unknown || p == nil
			parts = append(parts, p)
		}
	}
	if unknown {
		addPartitionsAll(resp, req, operationNotAttempted)
		n := 0
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				if parts[n] == nil {
					resp.Topics[i].Partitions[j].ErrorCode = unknownTopicOrPartition
				}
				n++
			}
		}
		reply(resp)
		return
	}
	a := addition{id: req.TransactionalID, pid: req.ProducerID, epoch: req.ProducerEpoch, parts: parts}
	b.coordinator(a.id).add(b, a, func(code int16) {
		if code == producerFenced && req.Version < 2 {
			code = invalidProducerEpoch
		}
		addPartitionsAll(resp, req, code)
		reply(resp)
	})
}

func addPartitionsAll(resp *kmsg.AddPartitionsToTxnResponse, req *kmsg.AddPartitionsToTxnRequest, code int16) {
	resp.Topics = resp.Topics[:0]
	for i := range req.Topics {
		rt := kmsg.AddPartitionsToTxnResponseTopic{Topic: req.Topics[i].Topic}
		for _, num := range req.Topics[i].Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{
				Partition: num, ErrorCode: code,
			})
		}
		resp.Topics = append(resp.Topics, rt)
	}
}

func (b *Broker) addTransactions(req *kmsg.AddPartitionsToTxnRequest, resp *kmsg.AddPartitionsToTxnResponse,
	reply func(kmsg.Response),
) {
	resp.Transactions = make([]kmsg.AddPartitionsToTxnResponseTransaction, len(req.Transactions))
	left := len(req.Transactions)
	if left == 0 {
		reply(resp)
		return
	}
	for i := range req.Transactions {
		t := &req.Transactions[i]
		rt := &resp.Transactions[i]
		rt.TransactionalID = t.TransactionalID
		var parts []*partition
		unknown := false
		for j := range t.Topics {
			for _, num := range t.Topics[j].Partitions {
				p := b.partition(t.Topics[j].Topic, num)
				unknown = unknown || p == nil
				parts = append(parts, p)
			}
		}
		done := func(code int16, missing []bool) {
			n := 0
			for j := range t.Topics {
				u := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topics[j].Topic}
				for _, num := range t.Topics[j].Partitions {
					c := code
					switch {
					case unknown && parts[n] == nil:
						c = unknownTopicOrPartition
					case unknown:
						c = operationNotAttempted
					case code == ok && len(missing) > n && missing[n]:
						c = transactionAbortable
					}
					n++
					u.Partitions = append(u.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{
						Partition: num, ErrorCode: c,
					})
				}
				rt.Topics = append(rt.Topics, u)
			}
			if left--; left == 0 {
				reply(resp)
			}
		}
		if unknown {
			done(ok, nil)
			continue
		}
		a := &ask{id: t.TransactionalID, pid: t.ProducerID, epoch: t.ProducerEpoch, parts: parts, add: !t.VerifyOnly}
		b.answerAsk(a, func(code int16) { done(code, a.missing) })
	}
}

// addition puts partitions into the transaction of a producer, and opens one if none is.
type addition struct {
	id      string
	pid     int64
	epoch   int16
	parts   []*partition
	version int8 // 2 when a leader adds what it is about to write
}

func (s *shard) add(b *Broker, a addition, answer func(code int16)) {
	e, code := s.get(b, a.id)
	if code == ok {
		code = s.mayAdd(e, &a)
	}
	if code != ok {
		answer(code)
		return
	}
	next := e.mem
	open := next.state == Ongoing
	var fresh []*partition
	for _, p := range a.parts {
		if !open || !next.has(p) {
			fresh = append(fresh, p)
		}
	}
	if open && len(fresh) == 0 {
		answer(ok)
		return
	}
	if open {
		next.parts = append(append(make([]*partition, 0, len(next.parts)+len(fresh)), next.parts...), fresh...)
	} else {
		next.state, next.parts, next.startMs = Ongoing, fresh, b.wallMs()
	}
	if a.version >= 2 && b.level() == 0 {
		e.wedge()
		answer(unsupportedVersion)
		return
	}
	next.version = a.version
	s.write(e, next, answer)
}

// mayAdd is the order of checks, which changed with 4.0.
func (s *shard) mayAdd(e *txnEntry, a *addition) int16 {
	pendFirst := s.broker().profile.AddPendFirst
	switch {
	case e == nil:
		return invalidProducerID
	case pendFirst && e.pending:
		return concurrentTransactions
	case e.mem.pid != a.pid:
		return invalidProducerID
	case e.mem.epoch != a.epoch:
		return producerFenced
	case e.pending || e.mem.state.Prepared():
		return concurrentTransactions
	}
	return ok
}

// wedge leaves an id pending until its coordinator is loaded again: the old record format cannot hold the transaction
// version, and the append fails in a way that nobody clears up.
func (e *txnEntry) wedge() { e.pending, e.wedged = true, true }
