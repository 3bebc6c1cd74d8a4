package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[61] = (*Broker).describeProducers }

// describeProducers shows what the leader of a partition knows of its producers; the one place where a dropped marker
// shows. It works for the partitions of offsets, too.
func (b *Broker) describeProducers(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DescribeProducersRequest)
	resp := req.ResponseKind().(*kmsg.DescribeProducersResponse)
	for i := range req.Topics {
		rt := kmsg.DescribeProducersResponseTopic{Topic: req.Topics[i].Topic}
		for _, num := range req.Topics[i].Partitions {
			r := kmsg.NewDescribeProducersResponseTopicPartition()
			r.Partition = num
			switch p := b.partition(rt.Topic, num); {
			case p == nil:
				r.ErrorCode = unknownTopicOrPartition
			case p.leader != b.id:
				r.ErrorCode = notLeader
			default:
				r.ActiveProducers = p.log.activeProducers()
			}
			rt.Partitions = append(rt.Partitions, r)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	reply(resp)
}

func (l *log) activeProducers() []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	out := make([]kmsg.DescribeProducersResponseTopicPartitionActiveProducer, 0, len(l.producers))
	for i := range l.producers {
		s := &l.producers[i]
		out = append(out, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
			ProducerID: s.id, ProducerEpoch: int32(s.epoch), LastSequence: s.lastSequence(), LastTimestamp: s.lastTime,
			CoordinatorEpoch: s.coord, CurrentTxnStartOffset: s.openFirst,
		})
	}
	return out
}
