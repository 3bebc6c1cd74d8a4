package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// Versions of the transaction requests. InitProducerId 4 tells 90 from 47; AddPartitionsToTxn 3 is the last that a client
// may send; EndTxn, Produce and TxnOffsetCommit go by the protocol of the identity.
const (
	initProducerIDVersion     = 4
	addPartitionsToTxnVersion = 3
	addOffsetsToTxnVersion    = 3
)

// byProtocol is an EndTxn or a TxnOffsetCommit, whose versions are numbered as the protocol is: from 5 on it must be exactly
// that one.
func (i Identity) byProtocol(req kmsg.Request) one {
	return one{req: req, version: i.Protocol, exact: i.Protocol >= 5}
}

// InitProducerID initialises an identity: a transactional id, or with an empty one an idempotent producer. It never names
// an expected producer id: initialising with one aborts an open transaction on every version.
func (c *Client) InitProducerID(transactionalID string, timeout time.Duration, protocol int16, done func(Identity, Code, error)) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.ProducerID, req.ProducerEpoch = -1, -1
	req.TransactionTimeoutMillis = int32(timeout / time.Millisecond)
	read := func(r kmsg.Response) Code { return Code(r.(*kmsg.InitProducerIDResponse).ErrorCode) }
	finish := func(r kmsg.Response, code Code, err error) {
		who := Identity{TransactionalID: transactionalID, ProducerID: -1, ProducerEpoch: -1, Protocol: protocol}
		if err == nil && code == OK {
			resp := r.(*kmsg.InitProducerIDResponse)
			who.ProducerID, who.ProducerEpoch = resp.ProducerID, resp.ProducerEpoch
		}
		done(who, code, err)
	}
	o := one{req: req, version: initProducerIDVersion}
	if transactionalID != "" {
		req.TransactionalID = kmsg.StringPtr(transactionalID)
		c.toCoordinator(txnCoordinator, transactionalID, o, read, finish)
		return
	}
	c.toNode(c.cluster.anyNode(), o, func(r kmsg.Response, err error) {
		if err != nil {
			finish(nil, OK, err)
			return
		}
		finish(r, read(r), nil)
	})
}

// EndTxn ends the transaction of an identity, in the version of its Protocol. The Identity handed to done is the next one
// on protocol 5, the same on 4.
func (c *Client) EndTxn(who Identity, commit bool, done func(Identity, Code, error)) {
	req := who.endTxnRequest(commit)
	c.toCoordinator(txnCoordinator, who.TransactionalID, who.byProtocol(req),
		func(r kmsg.Response) Code { return Code(r.(*kmsg.EndTxnResponse).ErrorCode) },
		func(r kmsg.Response, code Code, err error) {
			next := who
			if err == nil && code == OK && who.Protocol >= 5 {
				resp := r.(*kmsg.EndTxnResponse)
				next.ProducerID, next.ProducerEpoch = resp.ProducerID, resp.ProducerEpoch
			}
			done(next, code, err)
		})
}

func (i Identity) endTxnRequest(commit bool) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = i.TransactionalID, i.ProducerID, i.ProducerEpoch, commit
	return req
}

// AddPartitionsToTxn adds partitions by version 3 (protocol 4, and repairs). Code is the first one that is neither OK nor
// OperationNotAttempted.
func (c *Client) AddPartitionsToTxn(who Identity, parts []id.TopicPartition, done func([]PartitionCode, Code, error)) {
	req := who.addPartitionsRequest(parts)
	c.toCoordinator(txnCoordinator, who.TransactionalID, one{req: req, version: addPartitionsToTxnVersion, exact: true},
		func(r kmsg.Response) Code { return firstCode(readAdded(r)) },
		func(r kmsg.Response, code Code, err error) {
			if err != nil {
				done(nil, code, err)
				return
			}
			done(readAdded(r), code, nil)
		})
}

func (i Identity) addPartitionsRequest(parts []id.TopicPartition) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = i.TransactionalID, i.ProducerID, i.ProducerEpoch
	for _, run := range byTopic(parts) {
		t := kmsg.NewAddPartitionsToTxnRequestTopic()
		t.Topic = run[0].Topic
		for _, tp := range run {
			t.Partitions = append(t.Partitions, tp.Partition)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

func readAdded(r kmsg.Response) []PartitionCode {
	var codes []PartitionCode
	for _, t := range r.(*kmsg.AddPartitionsToTxnResponse).Topics {
		for _, p := range t.Partitions {
			codes = append(codes, PartitionCode{id.TopicPartition{Topic: t.Topic, Partition: p.Partition}, Code(p.ErrorCode)})
		}
	}
	return codes
}

// firstCode is the code that says why, if any.
func firstCode(codes []PartitionCode) Code {
	first := OK
	for _, p := range codes {
		if p.Code != OK && (first == OK || first == OperationNotAttempted) {
			first = p.Code
		}
	}
	return first
}

// AddOffsetsToTxn adds a group's offsets partition by version 3 (protocol 4, and repairs).
func (c *Client) AddOffsetsToTxn(who Identity, group string, done func(Code, error)) {
	req := who.addOffsetsRequest(group)
	c.toCoordinator(txnCoordinator, who.TransactionalID, one{req: req, version: addOffsetsToTxnVersion},
		func(r kmsg.Response) Code { return Code(r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode) },
		func(_ kmsg.Response, code Code, err error) { done(code, err) })
}

func (i Identity) addOffsetsRequest(group string) *kmsg.AddOffsetsToTxnRequest {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = i.TransactionalID, i.ProducerID, i.ProducerEpoch, group
	return req
}

// RepairPartitions sends AddPartitionsToTxn v3 and EndTxn as two frames in one write: the repair of partitions that an end
// marker never reached, with ordinary rights.
func (c *Client) RepairPartitions(who Identity, parts []id.TopicPartition, commit bool, done func(added, ended Code, err error)) {
	req := who.addPartitionsRequest(parts)
	c.repair(who, one{req: req, version: addPartitionsToTxnVersion, exact: true}, commit,
		func(r kmsg.Response) Code { return firstCode(readAdded(r)) }, done)
}

// RepairOffsets sends AddOffsetsToTxn v3 and EndTxn as two frames in one write: the same for the group's offsets
// partition.
func (c *Client) RepairOffsets(who Identity, group string, commit bool, done func(added, ended Code, err error)) {
	c.repair(who, one{req: who.addOffsetsRequest(group), version: addOffsetsToTxnVersion}, commit,
		func(r kmsg.Response) Code { return Code(r.(*kmsg.AddOffsetsToTxnResponse).ErrorCode) }, done)
}

func (c *Client) repair(who Identity, add one, commit bool, read func(kmsg.Response) Code, done func(added, ended Code, err error)) {
	end := who.byProtocol(who.endTxnRequest(commit))
	c.later(func() {
		c.findCoordinator(txnCoordinator, who.TransactionalID, func(node int32, code Code, err error) {
			if err == nil {
				err = c.pinOne(add)
			}
			if err == nil {
				err = c.pinOne(end)
			}
			if err != nil {
				c.later(func() { done(code, code, err) })
				return
			}
			c.sendBoth(node, add.req, end.req, func(a, b kmsg.Response, err error) {
				added, ended := OK, OK
				if err == nil {
					added, ended = read(a), Code(b.(*kmsg.EndTxnResponse).ErrorCode)
				}
				c.heard(txnCoordinator, who.TransactionalID, added, err)
				c.heard(txnCoordinator, who.TransactionalID, ended, err)
				done(added, ended, err)
			})
		})
	})
}

// MarkerWrite is one request to write an end marker at partitions of one leader: the repair with cluster rights.
type MarkerWrite struct {
	ProducerID       int64
	ProducerEpoch    int16
	Commit           bool
	CoordinatorEpoch int32 // exactly what DescribeProducers shows: a higher one closes the partition to the coordinator
	Partitions       []id.TopicPartition
}

const writeTxnMarkersVersion = 1

// WriteTxnMarkers writes end markers by version 1 at the leader of the partitions, which all must have the same one: the
// first partition's. It needs cluster rights. Code is the first one that is not OK.
func (c *Client) WriteTxnMarkers(w MarkerWrite, done func([]PartitionCode, Code, error)) {
	if len(w.Partitions) == 0 {
		c.later(func() { done(nil, OK, nil) })
		return
	}
	build := func(int32) one {
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch = w.ProducerID, w.ProducerEpoch, w.Commit, w.CoordinatorEpoch
		for _, run := range byTopic(w.Partitions) {
			t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
			t.Topic = run[0].Topic
			for _, tp := range run {
				t.Partitions = append(t.Partitions, tp.Partition)
			}
			m.Topics = append(m.Topics, t)
		}
		req.Markers = append(req.Markers, m)
		return one{req: req, version: writeTxnMarkersVersion, exact: true}
	}
	c.toLeader(w.Partitions[0], broker.Control, build,
		func(r kmsg.Response) Code { return firstCode(readMarked(r)) },
		func(r kmsg.Response, code Code, err error) {
			if err != nil {
				done(nil, code, err)
				return
			}
			done(readMarked(r), code, nil)
		})
}

func readMarked(r kmsg.Response) []PartitionCode {
	var codes []PartitionCode
	for _, m := range r.(*kmsg.WriteTxnMarkersResponse).Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				codes = append(codes, PartitionCode{id.TopicPartition{Topic: t.Topic, Partition: p.Partition}, Code(p.ErrorCode)})
			}
		}
	}
	return codes
}
