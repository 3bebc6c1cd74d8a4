package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() { handlers[8] = (*Broker).offsetCommit }

// offsetCommit stores offsets of a simple group at once. It wins over pending ones of transactions that began before.
func (b *Broker) offsetCommit(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.OffsetCommitRequest)
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	o := b.c.groupPartition(req.Group).group
	code := o.get(b, req.Group)
	if code == ok {
		code = o.admits(req.Group, req.Generation, req.Version >= 9)
	}
	if code == ok && o.p.underMinISR() {
		code = coordinatorNotAvailable
	}
	if code == ok {
		o.ensure(req.Group)
	}
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			q := &t.Partitions[j]
			c := code
			if c == ok {
				c = o.store(b, req.Group, offsetCommit{
					topic: b.topicOf(t.Topic, t.TopicID, req.Version >= 10), num: q.Partition, byID: req.Version >= 10,
					offset: q.Offset, leaderEpoch: q.LeaderEpoch, metadata: q.Metadata,
					h: header{producerID: -1, epoch: -1, sequence: -1},
				})
			}
			rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: q.Partition, ErrorCode: c})
		}
	}
	if code != ok {
		reply(resp)
		return
	}
	o.answer(b, func(code int16) {
		if code != ok {
			for i := range resp.Topics {
				for j := range resp.Topics[i].Partitions {
					resp.Topics[i].Partitions[j].ErrorCode = code
				}
			}
		}
		reply(resp)
	})
}
