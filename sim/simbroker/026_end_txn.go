package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[26] = (*Broker).endTxn }

// endTxn answers when the decision is durable; markers follow. The version of the request says which protocol it speaks,
// whatever the cluster's feature says; at level 0 of the feature the log cannot hold what version 5 decides.
func (b *Broker) endTxn(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.EndTxnRequest)
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	answer := func(code int16) {
		if code == producerFenced && req.Version < 2 {
			code = invalidProducerEpoch
		}
		resp.ErrorCode = code
		reply(resp)
	}
	s := b.coordinator(req.TransactionalID)
	e, code := s.get(b, req.TransactionalID)
	switch {
	case code != ok:
		answer(code)
	case e == nil:
		answer(invalidProducerID)
	case req.Version < 5:
		s.endOld(e, req, answer)
	default:
		s.endNew(e, req, resp, answer)
	}
}

// endOld is the order of checks up to version 4.
func (s *shard) endOld(e *txnEntry, req *kmsg.EndTxnRequest, answer func(int16)) {
	m := &e.mem
	switch {
	case m.pid != req.ProducerID:
		answer(invalidProducerID)
	case m.epoch != req.ProducerEpoch:
		answer(producerFenced)
	case e.pending:
		answer(concurrentTransactions)
	case m.state == Ongoing:
		s.end(e, req.Commit, 0, answer)
	case m.state == CompleteCommit && req.Commit, m.state == CompleteAbort && !req.Commit:
		answer(ok)
	case m.state.Prepared() && req.Commit == (m.state == PrepareCommit):
		answer(concurrentTransactions)
	default:
		answer(invalidTxnState)
	}
}

// endNew is the order of checks from version 5 on, where each end moves the epoch and a repeat is known by it.
func (s *shard) endNew(e *txnEntry, req *kmsg.EndTxnRequest, resp *kmsg.EndTxnResponse, answer func(int16)) {
	if e.pending {
		answer(concurrentTransactions)
		return
	}
	m, pid, epoch := &e.mem, req.ProducerID, req.ProducerEpoch
	rotated := m.prevPID == pid && epoch == s.maxEpoch()-1 && m.epoch == 0
	repeat := m.epoch == epoch+1 || rotated
	current := m.epoch == epoch
	same := req.Commit == (m.state == CompleteCommit || m.state == PrepareCommit)
	decide := func() {
		if s.broker().level() == 0 {
			e.wedge()
			answer(unsupportedVersion)
			return
		}
		s.end(e, req.Commit, 2, func(code int16) {
			if code == ok {
				resp.ProducerID, resp.ProducerEpoch = e.mem.after()
			}
			answer(code)
		})
	}
	switch {
	case m.pid != pid && !rotated:
		answer(invalidProducerID)
	case m.state == Ongoing && current:
		decide()
	case m.state == Ongoing, m.state == Empty && !current:
		answer(producerFenced)
	case m.state.Prepared() && !repeat, m.state.Complete() && !repeat && !current:
		answer(producerFenced)
	case m.state.Prepared() && same:
		answer(concurrentTransactions)
	case m.state.Complete() && repeat && same:
		resp.ProducerID, resp.ProducerEpoch = m.pid, m.epoch
		answer(ok)
	case m.state.Prepared(), repeat && m.state.Complete(), req.Commit:
		answer(invalidTxnState)
	default:
		decide() // an abort of nothing
	}
}
