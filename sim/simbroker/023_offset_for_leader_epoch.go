package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[23] = (*Broker).offsetForLeaderEpoch }

// offsetForLeaderEpoch tells where a leader's term ended, so that a reader notices that what it read was truncated.
func (b *Broker) offsetForLeaderEpoch(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.OffsetForLeaderEpochRequest)
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for j := range t.Partitions {
			q := &t.Partitions[j]
			r := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			r.Partition, r.LeaderEpoch, r.EndOffset = q.Partition, -1, -1
			p := b.partition(t.Topic, q.Partition)
			switch {
			case p == nil:
				r.ErrorCode = unknownTopicOrPartition
			case p.leader != b.id:
				r.ErrorCode = notLeader
			case p.epochCode(q.CurrentLeaderEpoch) != ok:
				r.ErrorCode = p.epochCode(q.CurrentLeaderEpoch)
			default:
				r.LeaderEpoch, r.EndOffset = p.log.endOfEpoch(q.LeaderEpoch)
				if q.LeaderEpoch == p.leaderEpoch && req.ReplicaID == -1 { // a reader is told what it can see
					r.EndOffset = p.log.hw
				}
			}
			rt.Partitions = append(rt.Partitions, r)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	reply(resp)
}

// epochCode compares the leader epoch that a reader knows, if it names one, with the leader's.
func (p *partition) epochCode(known int32) int16 {
	switch {
	case known >= 0 && known < p.leaderEpoch:
		return fencedLeaderEpoch
	case known > p.leaderEpoch:
		return unknownLeaderEpoch
	}
	return ok
}
