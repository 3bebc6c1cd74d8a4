package simbroker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/sim"
)

func init() { handlers[22] = (*Broker).initProducerID }

func (b *Broker) initProducerID(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.InitProducerIDRequest)
	resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
	answer := func(code int16, pid int64, epoch int16) {
		if code == producerFenced && req.Version < 4 {
			code = invalidProducerEpoch
		}
		resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, pid, epoch
		reply(resp)
	}
	if req.TransactionalID == nil {
		answer(ok, b.c.newPID(), 0)
		return
	}
	in := initialisation{id: *req.TransactionalID, timeoutMs: req.TransactionTimeoutMillis, pid: -1, epoch: -1}
	if req.Version >= 3 {
		in.pid, in.epoch = req.ProducerID, req.ProducerEpoch
	}
	b.coordinator(in.id).initialise(b, in, answer)
}

// initialisation is a request for a producer id and epoch. pid and epoch are what the producer believes to be; -1: a new
// incarnation.
type initialisation struct {
	id        string
	timeoutMs int32
	pid       int64
	epoch     int16
}

func (s *shard) initialise(b *Broker, in initialisation, answer func(code int16, pid int64, epoch int16)) {
	refuse := func(code int16) { answer(code, -1, -1) }
	e, code := s.get(b, in.id)
	switch {
	case in.id == "", (in.pid == -1) != (in.epoch == -1):
		refuse(invalidRequest)
		return
	case code != ok:
		refuse(code)
		return
	case in.timeoutMs <= 0 || int64(in.timeoutMs) > s.c.cfg.MaxTxnTimeout.Milliseconds():
		refuse(invalidTxnTimeout)
		return
	}
	if e == nil {
		e = s.create(in.id)
	}
	m, expected := &e.mem, in.pid >= 0
	exhausted := s.maxEpoch() - 1
	switch {
	case e.pending:
		refuse(concurrentTransactions)
	case expected && m.epoch >= 0 && in.pid != m.pid && !(in.pid == m.prevPID && in.epoch >= exhausted):
		refuse(producerFenced)
	case m.state == Ongoing:
		b.reached(probeFenced)
		s.fence(e, func(code int16) {
			if code == ok {
				code = concurrentTransactions
			}
			refuse(code)
		})
	case m.state.Prepared():
		refuse(concurrentTransactions)
	default:
		s.renew(b, e, in, answer)
	}
}

func (s *shard) create(transactionalID string) *txnEntry {
	e := &txnEntry{id: transactionalID, key: sim.NameKey(transactionalID)}
	e.mem = txnRecord{pid: s.c.newPID(), prevPID: -1, nextPID: -1, epoch: -1, lastEpoch: -1, startMs: -1}
	s.entries = append(s.entries, e)
	s.byID[transactionalID] = e
	return e
}

// renew gives the next epoch, or a new producer id when epochs are exhausted. A repeat of a renewal with its expected
// epoch gets the same answer.
func (s *shard) renew(b *Broker, e *txnEntry, in initialisation, answer func(code int16, pid int64, epoch int16)) {
	next, expected := e.mem, in.pid >= 0
	switch {
	case next.epoch >= s.maxEpoch()-1 && (!expected || in.epoch == next.epoch):
		next.prevPID, next.pid = next.pid, s.c.newPID()
		next.lastEpoch = -1
		if expected {
			next.lastEpoch = next.epoch
		}
		next.epoch = 0
	case !expected:
		next.epoch, next.lastEpoch = next.epoch+1, -1
	case next.epoch < 0 || in.epoch == next.epoch:
		next.epoch, next.lastEpoch = next.epoch+1, next.epoch
	case in.epoch == next.lastEpoch:
	default:
		answer(producerFenced, -1, -1)
		return
	}
	next.state, next.parts, next.startMs, next.timeoutMs = Empty, nil, -1, in.timeoutMs
	next.version, next.nextPID = int8(s.broker().level()), -1
	before := e.mem.startMs
	s.write(e, next, func(code int16) {
		if code != ok {
			answer(code, -1, -1)
			return
		}
		if s.broker().profile.KeepsStart {
			e.mem.startMs = before // in memory only
		}
		answer(ok, next.pid, next.epoch)
	})
}
