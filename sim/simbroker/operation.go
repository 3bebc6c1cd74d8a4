package simbroker

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/env"
)

// Operation is one call about a transaction, as its caller saw it; or the coordinator's own abort of one past its timeout.
// A sequential model judges them: there has to be an order in which one coordinator could have said all that.
type Operation struct {
	Client       int // the port that asked; -1: the coordinator itself
	Call, Return env.Instant
	ID           string // transactional id
	Kind         OperationKind
	ProducerID   int64 // sent; of Initialise: received
	Epoch        int16
	Result       OperationResult
}

// OperationKind is what was asked.
type OperationKind uint8

// The kinds.
const (
	Initialise OperationKind = iota
	Write                    // the first write of an identity that succeeded, and refused ones
	EndCommit
	EndAbort
	TimedOut
	FencedInMemory // the abort was not written, and the epoch has moved all the same; refused: that memory is gone
)

// OperationResult is what the caller was told.
type OperationResult uint8

// The results.
const (
	OperationDone OperationResult = iota
	OperationFenced
	OperationRefused // any other definite refusal
	OperationUnknown // may have had its effect, or have it later; Return is the end of time
)

// never is when an operation returns whose caller does not know what became of it.
const never = env.Instant(math.MaxInt64)

// operations is the record of a run. The tries of a call are one operation: it begins with the first of them.
type operations struct {
	list []*Operation
	of   map[operationKey]*Operation // the one whose outcome is unknown, or known; looked up, never walked
	// former is when a coordinator that was one no more spoke last about an id: what it refuses out of its memory says
	// nothing about the log either.
	former map[string]env.Instant
}

type operationKey struct {
	id     string
	client int // of Initialise, whose identity is not known before
	pid    int64
	epoch  int16
	kind   OperationKind
	result OperationResult
}

// Operations are all that was recorded, in the order in which calls began or outcomes became known. Config.Record turns
// recording on.
func (c *Cluster) Operations() []Operation {
	out := make([]Operation, 0, len(c.ops.list))
	for _, op := range c.ops.list {
		out = append(out, *op)
	}
	return out
}

func (o *Operation) key(r OperationResult) operationKey {
	if o.Kind == Initialise {
		return operationKey{id: o.ID, client: o.Client, kind: o.Kind, result: r}
	}
	return operationKey{id: o.ID, client: -1, pid: o.ProducerID, epoch: o.Epoch, kind: o.Kind, result: r}
}

// begin makes the record of a request, if it is about a transaction and not known already.
func (c *client) begin(req kmsg.Request) *Operation {
	if !c.c.cfg.Record {
		return nil
	}
	o := Operation{Client: c.number, Call: c.c.w.Now(), Return: never, Result: OperationUnknown}
	switch r := req.(type) {
	case *kmsg.InitProducerIDRequest:
		if r.TransactionalID == nil {
			return nil
		}
		o.ID, o.Kind, o.ProducerID, o.Epoch = *r.TransactionalID, Initialise, -1, -1
	case *kmsg.EndTxnRequest:
		o.ID, o.Kind, o.ProducerID, o.Epoch = r.TransactionalID, EndAbort, r.ProducerID, r.ProducerEpoch
		if r.Commit {
			o.Kind = EndCommit
		}
	case *kmsg.ProduceRequest:
		if r.TransactionID == nil || len(r.Topics) == 0 || len(r.Topics[0].Partitions) == 0 ||
			len(r.Topics[0].Partitions[0].Records) < batchHeader {
			return nil
		}
		h := readHeader(r.Topics[0].Partitions[0].Records)
		o.ID, o.Kind, o.ProducerID, o.Epoch = *r.TransactionID, Write, h.producerID, h.epoch
	case *kmsg.TxnOffsetCommitRequest:
		o.ID, o.Kind, o.ProducerID, o.Epoch = r.TransactionalID, Write, r.ProducerID, r.ProducerEpoch
	case *kmsg.AddPartitionsToTxnRequest:
		o.ID, o.Kind, o.ProducerID, o.Epoch = r.TransactionalID, Write, r.ProducerID, r.ProducerEpoch
	case *kmsg.AddOffsetsToTxnRequest:
		o.ID, o.Kind, o.ProducerID, o.Epoch = r.TransactionalID, Write, r.ProducerID, r.ProducerEpoch
	default:
		return nil
	}
	if o.Kind == Write {
		if first := c.c.ops.of[o.key(OperationDone)]; first != nil {
			return first // until this one is lost
		}
	}
	// What is never answered stays unknown.
	kept := new(Operation)
	*kept = o
	c.c.ops.list = append(c.c.ops.list, kept)
	return kept
}

// written reports whether the operation stands for another write of an identity whose first one is in the record.
func (o *Operation) written() bool { return o.Kind == Write && o.Result == OperationDone }

// endOperation takes the answer into the record.
func (c *Cluster) endOperation(o *Operation, resp kmsg.Response) {
	if o.written() {
		return
	}
	code := networkException
	switch r := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		if code = r.ErrorCode; code == concurrentTransactions {
			code = networkException // it may have aborted what is open
		}
	case *kmsg.EndTxnResponse:
		code = r.ErrorCode
	case *kmsg.ProduceResponse:
		code = produceCode(r)
	case *kmsg.TxnOffsetCommitResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			code = r.Topics[0].Partitions[0].ErrorCode
		}
	case *kmsg.AddPartitionsToTxnResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			code = r.Topics[0].Partitions[0].ErrorCode
		}
	case *kmsg.AddOffsetsToTxnResponse:
		code = r.ErrorCode
	}
	switch code {
	case ok:
		c.doneOperation(o)
		if r, isInit := resp.(*kmsg.InitProducerIDResponse); isInit {
			o.ProducerID, o.Epoch = r.ProducerID, r.ProducerEpoch
		}
	case producerFenced, invalidProducerEpoch, invalidProducerID:
		if c.formerSpoke(o) {
			c.drop(o)
			return
		}
		o.Result, o.Return = OperationFenced, c.w.Now()
	case networkException, coordinatorNotAvailable, notCoordinator, notEnoughReplicas, unknownServerError:
		c.unknownOperation(o) // the record may be durable all the same
	case invalidTxnState, transactionAbortable, outOfOrderSequence:
		if c.formerSpoke(o) {
			c.drop(o)
			return
		}
		o.Result, o.Return = OperationRefused, c.w.Now()
	default:
		c.drop(o) // asked at the wrong place or time: nothing happened
	}
}

// doneOperation makes one operation of a call that succeeded and the tries before it, except of writes: a lost try may
// arrive behind the end of its transaction, and begin another.
func (c *Cluster) doneOperation(o *Operation) {
	o.Result, o.Return = OperationDone, c.w.Now()
	k := o.key(OperationUnknown)
	if first := c.ops.of[k]; first != nil && o.Kind != Write {
		o.Call = first.Call
		c.drop(first)
		delete(c.ops.of, k)
	}
	if k = o.key(OperationDone); o.Kind == Write && c.ops.of[k] != nil {
		c.drop(o)
		return
	}
	c.ops.of[k] = o
}

// unknownOperation keeps the first of several tries.
func (c *Cluster) unknownOperation(o *Operation) {
	k := o.key(OperationUnknown)
	if c.ops.of[k] != nil {
		c.drop(o)
		return
	}
	c.ops.of[k] = o
}

// lostOperation takes a broken connection into the record.
func (c *Cluster) lostOperation(o *Operation, notSent bool) {
	if notSent {
		if !o.written() {
			c.drop(o)
		}
		return
	}
	if o.written() { // below transaction.version 2 it begins another transaction if it arrives behind the end of the first
		again := new(Operation)
		*again = *o
		again.Return, again.Result = never, OperationUnknown
		if c.ops.of[again.key(OperationUnknown)] == nil {
			c.ops.list = append(c.ops.list, again)
			c.unknownOperation(again)
		}
		return
	}
	if o.Kind != Initialise { // which may abort what its sender has opened meanwhile, if it arrives late
		c.unknownOperation(o)
	}
}

// produceCode is ok when one partition was written, and otherwise the first refusal.
func produceCode(r *kmsg.ProduceResponse) int16 {
	code := networkException
	for i := len(r.Topics) - 1; i >= 0; i-- {
		for j := len(r.Topics[i].Partitions) - 1; j >= 0; j-- {
			if code = r.Topics[i].Partitions[j].ErrorCode; code == ok {
				return ok
			}
		}
	}
	return code
}

func (c *Cluster) drop(o *Operation) {
	for i := len(c.ops.list) - 1; i >= 0; i-- {
		if c.ops.list[i] == o {
			c.ops.list = append(c.ops.list[:i], c.ops.list[i+1:]...)
			return
		}
	}
}

// recordFormer notes that a former coordinator speaks about an id.
func (c *Cluster) recordFormer(id string) {
	if c.ops.former == nil {
		c.ops.former = map[string]env.Instant{}
	}
	c.ops.former[id] = c.w.Now()
}

// formerSpoke tells whether the answer to an operation may be one of a former coordinator.
func (c *Cluster) formerSpoke(o *Operation) bool {
	at, spoke := c.ops.former[o.ID]
	return spoke && at >= o.Call
}

// recordMemoryFence notes that an identity is fenced in the coordinator's memory, although its transaction is still open, or
// is so no more.
func (c *Cluster) recordMemoryFence(e *txnEntry, epoch int16, r OperationResult) {
	if c.cfg.Record {
		c.ops.list = append(c.ops.list, &Operation{
			Client: -1, Call: c.w.Now(), Return: c.w.Now(), ID: e.id, Kind: FencedInMemory, ProducerID: e.mem.pid, Epoch: epoch, Result: r,
		})
	}
}

// recordTimeout notes that the coordinator is about to abort a transaction by itself. It counts once the abort is durable.
func (c *Cluster) recordTimeout(e *txnEntry) {
	if c.cfg.Record {
		e.timedOut = &Operation{Client: -1, Call: c.w.Now(), ID: e.id, Kind: TimedOut, ProducerID: e.disk.pid, Epoch: e.disk.epoch}
	}
}
