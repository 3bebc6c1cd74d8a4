package simbroker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/env"
)

// LateAnswer is what a broker said to a request that arrived when nobody waited for its answer any more: one that was late,
// or the second copy of one that was repeated.
type LateAnswer struct {
	At         env.Instant
	Key        int16  // of the request
	ID         string // transactional id
	ProducerID int64
	Epoch      int16
	Sequence   int32 // of a batch; -1 for other requests
	Code       int16
	Open       bool // the id had a transaction open when the answer was given
}

// Late are the answers that nobody heard, in order.
func (c *Cluster) Late() []LateAnswer { return c.late }

// noteLate keeps an answer that nobody hears. Requests that are not about a transaction are left out.
func (c *Cluster) noteLate(req kmsg.Request, resp kmsg.Response) {
	a := LateAnswer{At: c.w.Now(), Key: req.Key(), ProducerID: -1, Epoch: -1, Sequence: -1}
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		if len(r.Topics) == 0 || len(r.Topics[0].Partitions) == 0 || len(r.Topics[0].Partitions[0].Records) < batchHeader {
			return
		}
		h := readHeader(r.Topics[0].Partitions[0].Records)
		a.ProducerID, a.Epoch, a.Sequence = h.producerID, h.epoch, h.sequence
		if r.TransactionID != nil {
			a.ID = *r.TransactionID
		}
	case *kmsg.EndTxnRequest:
		a.ID, a.ProducerID, a.Epoch = r.TransactionalID, r.ProducerID, r.ProducerEpoch
	case *kmsg.InitProducerIDRequest:
		if r.TransactionalID != nil {
			a.ID = *r.TransactionalID
		}
	case *kmsg.TxnOffsetCommitRequest:
		a.ID, a.ProducerID, a.Epoch = r.TransactionalID, r.ProducerID, r.ProducerEpoch
	case *kmsg.AddPartitionsToTxnRequest:
		a.ID, a.ProducerID, a.Epoch = r.TransactionalID, r.ProducerID, r.ProducerEpoch
	case *kmsg.WriteTxnMarkersRequest:
		if len(r.Markers) == 0 {
			return
		}
		a.ProducerID, a.Epoch = r.Markers[0].ProducerID, r.Markers[0].ProducerEpoch
	default:
		return
	}
	a.Code = lateCode(resp)
	if e := c.coordinator(a.ID).byID[a.ID]; e != nil {
		a.Open = e.mem.state == Ongoing
	}
	c.late = append(c.late, a)
}

func lateCode(resp kmsg.Response) int16 {
	switch r := resp.(type) {
	case *kmsg.ProduceResponse:
		return produceCode(r)
	case *kmsg.EndTxnResponse:
		return r.ErrorCode
	case *kmsg.InitProducerIDResponse:
		return r.ErrorCode
	case *kmsg.TxnOffsetCommitResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				return p.ErrorCode
			}
		}
	case *kmsg.WriteTxnMarkersResponse:
		for _, m := range r.Markers {
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					return p.ErrorCode
				}
			}
		}
	case *kmsg.AddPartitionsToTxnResponse:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				return p.ErrorCode
			}
		}
	}
	return networkException
}
