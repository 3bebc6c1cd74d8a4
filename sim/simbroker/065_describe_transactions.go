package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[65] = (*Broker).describeTransactions }

// describeTransactions shows what is in force: a decision that is being written does not show. While markers are under
// way only partitions without one are listed.
func (b *Broker) describeTransactions(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DescribeTransactionsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, name := range req.TransactionalIDs {
		resp.TransactionStates = append(resp.TransactionStates, b.describeTransaction(name))
	}
	reply(resp)
}

func (b *Broker) describeTransaction(name string) kmsg.DescribeTransactionsResponseTransactionState {
	r := kmsg.NewDescribeTransactionsResponseTransactionState()
	r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.StartTimestamp = name, -1, -1, -1
	e, code := b.coordinator(name).get(b, name)
	if code == ok && e == nil {
		code = transactionalIDNotFound
	}
	if r.ErrorCode = code; code != ok {
		return r
	}
	m := &e.mem
	r.State, r.ProducerID, r.ProducerEpoch = m.state.String(), m.pid, m.epoch
	r.TimeoutMillis, r.StartTimestamp = m.timeoutMs, m.startMs
	parts := m.parts
	if m.state.Prepared() {
		parts = e.left
	}
	for _, p := range parts {
		i := 0
		for i < len(r.Topics) && r.Topics[i].Topic != p.topic.name {
			i++
		}
		if i == len(r.Topics) {
			r.Topics = append(r.Topics, kmsg.DescribeTransactionsResponseTransactionStateTopic{Topic: p.topic.name})
		}
		r.Topics[i].Partitions = append(r.Topics[i].Partitions, p.num)
	}
	return r
}
