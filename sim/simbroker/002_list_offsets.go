package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[2] = (*Broker).listOffsets }

// listOffsets finds an offset by time; -1 is the visible end, -2 the start, -3 the record with the largest time.
func (b *Broker) listOffsets(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.ListOffsetsRequest)
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.ListOffsetsResponseTopic{Topic: t.Topic}
		for j := range t.Partitions {
			q := &t.Partitions[j]
			r := kmsg.NewListOffsetsResponseTopicPartition()
			r.Partition, r.Offset, r.Timestamp = q.Partition, -1, -1
			p := b.partition(t.Topic, q.Partition)
			switch {
			case p == nil:
				r.ErrorCode = unknownTopicOrPartition
			case p.leader != b.id:
				r.ErrorCode = notLeader
			case req.Version >= 4 && p.epochCode(q.CurrentLeaderEpoch) != ok:
				r.ErrorCode = p.epochCode(q.CurrentLeaderEpoch)
			case q.Timestamp != -2 && p.log.hw < p.termStart():
				r.ErrorCode = offsetNotAvailable // a new leader does not know yet what its replicas have
				if req.Version < 5 {
					r.ErrorCode = leaderNotAvailable
				}
			default:
				limit := p.log.hw
				if req.IsolationLevel == 1 {
					limit = b.stable(p.log)
				}
				r.Offset, r.Timestamp = p.log.offsetAt(q.Timestamp, limit)
				r.LeaderEpoch = p.leaderEpoch
			}
			rt.Partitions = append(rt.Partitions, r)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	reply(resp)
}

// offsetAt is the offset of a time, or of what a negative one stands for, below a limit.
func (l *log) offsetAt(timestamp, limit int64) (offset, at int64) {
	switch {
	case timestamp == -1:
		return limit, -1
	case timestamp == -2:
		return l.start, -1
	case timestamp == -3:
		most, found := int64(-1), false
		for i := range l.batches {
			if b := &l.batches[i]; b.last < limit && (!found || b.maxTime > most) {
				most, found = b.maxTime, true
			}
		}
		if !found {
			return -1, -1
		}
		return l.offsetForTime(most, limit)
	case timestamp < 0:
		return -1, -1
	}
	return l.offsetForTime(timestamp, limit)
}
