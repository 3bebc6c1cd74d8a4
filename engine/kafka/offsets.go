package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/id"
)

// Offset is a committed offset of a group for one partition.
type Offset struct {
	Topic     string
	Partition int32
	Offset    int64 // -1: none
	Metadata  string
	Code      Code
}

func (o Offset) part() id.TopicPartition {
	return id.TopicPartition{Topic: o.Topic, Partition: o.Partition}
}

// offsetRuns groups offsets by topic; of several for one partition the last counts.
func offsetRuns(offsets []Offset) [][]Offset {
	sorted := slices.Clone(offsets)
	slices.SortStableFunc(sorted, func(a, b Offset) int { return a.part().Compare(b.part()) })
	var runs [][]Offset
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Topic == sorted[0].Topic {
			n++
		}
		runs = append(runs, sorted[:n])
		sorted = sorted[n:]
	}
	return runs
}

const (
	offsetCommitVersion = 8
	offsetFetchVersion  = 8
)

// TxnOffsetCommit writes offsets of a group inside the transaction of who (generation -1, no member). Below
// transaction.version 2 AddOffsetsToTxn must have been answered before. Code is the first one that is not OK.
func (c *Client) TxnOffsetCommit(who Identity, group string, offsets []Offset, done func(Code, error)) {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.Generation = who.TransactionalID, group, -1
	req.ProducerID, req.ProducerEpoch = who.ProducerID, who.ProducerEpoch
	for _, run := range offsetRuns(offsets) {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = run[0].Topic
		for _, o := range run {
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, -1, kmsg.StringPtr(o.Metadata)
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	read := func(r kmsg.Response) Code {
		for _, t := range r.(*kmsg.TxnOffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return Code(p.ErrorCode)
				}
			}
		}
		return OK
	}
	c.toCoordinator(groupCoordinator, group, who.byProtocol(req), read, func(_ kmsg.Response, code Code, err error) { done(code, err) })
}

// OffsetCommit commits offsets of a group plainly (generation -1, no member). Code is the first one that is not OK.
func (c *Client) OffsetCommit(group string, offsets []Offset, done func(Code, error)) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	for _, run := range offsetRuns(offsets) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = run[0].Topic
		for _, o := range run {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, -1, kmsg.StringPtr(o.Metadata)
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	read := func(r kmsg.Response) Code {
		for _, t := range r.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					return Code(p.ErrorCode)
				}
			}
		}
		return OK
	}
	c.toCoordinator(groupCoordinator, group, one{req: req, version: offsetCommitVersion}, read, func(_ kmsg.Response, code Code, err error) { done(code, err) })
}

// OffsetFetch reads offsets of named partitions, in the order of parts. With requireStable a partition with a pending
// transactional commit answers UnstableOffsetCommit in its own Code. The other Code is the group's.
func (c *Client) OffsetFetch(group string, parts []id.TopicPartition, requireStable bool, done func([]Offset, Code, error)) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = requireStable
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	for _, run := range byTopic(parts) {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic = run[0].Topic
		for _, tp := range run {
			t.Partitions = append(t.Partitions, tp.Partition)
		}
		g.Topics = append(g.Topics, t)
	}
	req.Groups = append(req.Groups, g)
	read := func(r kmsg.Response) Code {
		if groups := r.(*kmsg.OffsetFetchResponse).Groups; len(groups) == 1 {
			return Code(groups[0].ErrorCode)
		}
		return UnknownServerError
	}
	c.toCoordinator(groupCoordinator, group, one{req: req, version: offsetFetchVersion, exact: true}, read, func(r kmsg.Response, code Code, err error) {
		if err != nil || code != OK {
			done(nil, code, err)
			return
		}
		offsets, err := readOffsets(r.(*kmsg.OffsetFetchResponse), parts)
		done(offsets, code, err)
	})
}

func readOffsets(resp *kmsg.OffsetFetchResponse, parts []id.TopicPartition) ([]Offset, error) {
	var got []Offset
	for _, t := range resp.Groups[0].Topics {
		for _, p := range t.Partitions {
			o := Offset{Topic: t.Topic, Partition: p.Partition, Offset: p.Offset, Code: Code(p.ErrorCode)}
			if p.Metadata != nil {
				o.Metadata = *p.Metadata
			}
			got = append(got, o)
		}
	}
	out := make([]Offset, len(parts))
	for i, tp := range parts {
		at := slices.IndexFunc(got, func(o Offset) bool { return o.part() == tp })
		if at < 0 {
			return nil, answered("OffsetFetch", tp)
		}
		out[i] = got[at]
	}
	return out, nil
}

const offsetsTopic = "__consumer_offsets"

// GroupPartition is the partition of the offsets topic that holds a group: where its pending offsets get their markers.
func (c *Client) GroupPartition(group string, done func(id.TopicPartition, error)) {
	c.Topics([]string{offsetsTopic}, func(topics []Topic, err error) {
		if err == nil && topics[0].Code != OK {
			err = topics[0].Code
		}
		if err == nil && len(topics[0].Partitions) == 0 {
			err = answered("Metadata", offsetsTopic)
		}
		if err != nil {
			done(id.TopicPartition{}, err)
			return
		}
		done(id.TopicPartition{Topic: offsetsTopic, Partition: InternalPartition(group, int32(len(topics[0].Partitions)))}, nil)
	})
}
