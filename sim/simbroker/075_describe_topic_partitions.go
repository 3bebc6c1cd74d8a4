package simbroker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() { handlers[75] = (*Broker).describeTopicPartitions }

// describeTopicPartitions shows topics in the order of their names, from a cursor on and up to a limit of partitions. It is
// where a client can see eligible leader replicas. A partition without a leader is no error here, as it is in Metadata. The
// partitions of __transaction_state, which have no replicas, are not shown.
func (b *Broker) describeTopicPartitions(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DescribeTopicPartitionsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	var from kmsg.DescribeTopicPartitionsRequestCursor
	if req.Cursor != nil {
		from = *req.Cursor
	}
	left := max(1, min(int(req.ResponsePartitionLimit), maxDescribed))
	for _, name := range b.described(req, from.Topic) {
		if left == 0 {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name}
			break
		}
		rt := kmsg.NewDescribeTopicPartitionsResponseTopic()
		rt.Topic = kmsg.StringPtr(name)
		t := b.c.byName[name]
		if t == nil || !b.seesTopic(t) {
			rt.ErrorCode = unknownTopicOrPartition
			resp.Topics = append(resp.Topics, rt)
			continue
		}
		rt.TopicID, rt.IsInternal = t.id, t.internal
		for _, p := range t.parts {
			switch {
			case !b.sees(p) || name == from.Topic && p.num < from.Partition:
			case left == 0:
				if resp.NextCursor == nil {
					resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: p.num}
				}
			default:
				left--
				rt.Partitions = append(rt.Partitions, p.describe())
			}
		}
		resp.Topics = append(resp.Topics, rt)
		if resp.NextCursor != nil {
			break
		}
	}
	reply(resp)
}

// maxDescribed is max.request.partition.size.limit.
const maxDescribed = 2000

// described is the topics that are asked for, or all, from a name on.
func (b *Broker) described(req *kmsg.DescribeTopicPartitionsRequest, from string) []string {
	var names []string
	add := func(name string) {
		if name >= from {
			names = append(names, name)
		}
	}
	for i := range req.Topics {
		add(req.Topics[i].Topic)
	}
	if len(req.Topics) == 0 {
		for _, t := range b.c.topics {
			if !t.deleted && b.seesTopic(t) {
				add(t.name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *partition) describe() kmsg.DescribeTopicPartitionsResponseTopicPartition {
	q := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	q.Partition, q.LeaderID, q.LeaderEpoch = p.num, p.leader, p.leaderEpoch
	q.EligibleLeaderReplicas, q.LastKnownELR = []int32{}, []int32{}
	for i := range p.replicas {
		r := &p.replicas[i]
		q.Replicas = append(q.Replicas, r.broker)
		switch {
		case r.isr:
			q.ISR = append(q.ISR, r.broker)
		case r.elr:
			q.EligibleLeaderReplicas = append(q.EligibleLeaderReplicas, r.broker)
		}
		if !p.c.brokers[r.broker].led {
			q.OfflineReplicas = append(q.OfflineReplicas, r.broker)
		}
	}
	if p.leader < 0 && p.c.elr && p.replicated() {
		q.LastKnownELR = append(q.LastKnownELR, p.lastLeader)
	}
	return q
}
