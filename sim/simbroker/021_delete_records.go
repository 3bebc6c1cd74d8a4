package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[21] = (*Broker).deleteRecords }

// deleteRecords moves the start of logs; -1 means all that is visible.
func (b *Broker) deleteRecords(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DeleteRecordsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.DeleteRecordsResponseTopic{Topic: t.Topic}
		for _, q := range t.Partitions {
			r := kmsg.DeleteRecordsResponseTopicPartition{Partition: q.Partition, LowWatermark: -1}
			p := b.partition(t.Topic, q.Partition)
			switch {
			case p == nil:
				r.ErrorCode = unknownTopicOrPartition
			case p.leader != b.id:
				r.ErrorCode = notLeader
			case q.Offset > p.log.hw || q.Offset < -1:
				r.ErrorCode = offsetOutOfRange
			default:
				before := q.Offset
				if before == -1 {
					before = p.log.hw
				}
				p.log.deleteBefore(before)
				r.LowWatermark = p.log.start
			}
			rt.Partitions = append(rt.Partitions, r)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	reply(resp)
}
