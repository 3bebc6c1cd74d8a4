package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[25] = (*Broker).addOffsetsToTxn }

// addOffsetsToTxn puts the offsets partition of a group into a transaction.
func (b *Broker) addOffsetsToTxn(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.AddOffsetsToTxnRequest)
	resp := req.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	a := addition{
		id: req.TransactionalID, pid: req.ProducerID, epoch: req.ProducerEpoch,
		parts: []*partition{b.c.groupPartition(req.Group)},
	}
	b.coordinator(a.id).add(b, a, func(code int16) {
		if code == producerFenced && req.Version < 2 {
			code = invalidProducerEpoch
		}
		resp.ErrorCode = code
		reply(resp)
	})
}
