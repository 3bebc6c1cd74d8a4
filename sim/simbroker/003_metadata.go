package simbroker

import "github.com/twmb/franz-go/pkg/kmsg"

func init() {
	handlers[3] = (*Broker).metadata
	handlers[60] = (*Broker).describeCluster
}

const clusterID = "onefold-simulated"

// metadata shows topics as this broker knows them: a new partition reaches each broker at its own time.
func (b *Broker) metadata(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.MetadataRequest)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	id := clusterID
	resp.ClusterID = &id
	resp.ControllerID = b.c.controllerID()
	for _, k := range b.c.brokers {
		if k.led {
			r := kmsg.NewMetadataResponseBroker()
			r.NodeID, r.Host, r.Port = k.id, k.node.Name(), 9092
			resp.Brokers = append(resp.Brokers, r)
		}
	}
	if req.Topics == nil || req.Version == 0 && len(req.Topics) == 0 {
		for _, t := range b.c.topics {
			if !t.deleted && b.seesTopic(t) {
				resp.Topics = append(resp.Topics, b.describeTopic(t))
			}
		}
		reply(resp)
		return
	}
	for i := range req.Topics {
		q := &req.Topics[i]
		var t *topic
		if q.Topic != nil && *q.Topic == coordinatorTopic {
			resp.Topics = append(resp.Topics, b.describeCoordinators())
			continue
		}
		if q.Topic != nil {
			t = b.c.byName[*q.Topic]
		} else {
			t = b.c.byID[q.TopicID]
		}
		if t != nil && !t.deleted && b.seesTopic(t) {
			resp.Topics = append(resp.Topics, b.describeTopic(t))
			continue
		}
		r := kmsg.NewMetadataResponseTopic()
		r.Topic, r.TopicID, r.ErrorCode = q.Topic, q.TopicID, unknownTopicOrPartition
		if q.Topic == nil {
			r.ErrorCode = unknownTopicID
		}
		resp.Topics = append(resp.Topics, r)
	}
	reply(resp)
}

const coordinatorTopic = "__transaction_state"

// describeCoordinators shows who leads the partitions of the transaction coordinators' topic, which is no topic here.
func (b *Broker) describeCoordinators() kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	r.Topic, r.IsInternal = kmsg.StringPtr(coordinatorTopic), true
	for _, s := range b.c.shards {
		q := kmsg.NewMetadataResponseTopicPartition()
		q.Partition, q.Leader, q.LeaderEpoch = s.ix, s.leader, s.epoch
		if s.leader < 0 {
			q.ErrorCode = leaderNotAvailable
		}
		r.Partitions = append(r.Partitions, q)
	}
	return r
}

func (b *Broker) seesTopic(t *topic) bool { return len(t.parts) > 0 && b.sees(t.parts[0]) }

func (b *Broker) describeTopic(t *topic) kmsg.MetadataResponseTopic {
	r := kmsg.NewMetadataResponseTopic()
	name := t.name
	r.Topic, r.TopicID, r.IsInternal = &name, t.id, t.internal
	r.Partitions = make([]kmsg.MetadataResponseTopicPartition, 0, len(t.parts))
	for _, p := range t.parts {
		if !b.sees(p) {
			continue
		}
		q := kmsg.NewMetadataResponseTopicPartition()
		q.Partition, q.Leader, q.LeaderEpoch = p.num, p.leader, p.leaderEpoch
		for i := range p.replicas {
			r := &p.replicas[i]
			q.Replicas = append(q.Replicas, r.broker)
			if r.isr && (p.leader >= 0 || p.replicated()) {
				q.ISR = append(q.ISR, r.broker)
			}
			if k := b.c.brokers[r.broker]; !k.led || p.leader < 0 && !p.replicated() {
				q.OfflineReplicas = append(q.OfflineReplicas, r.broker)
			}
		}
		if p.leader < 0 {
			q.ErrorCode = leaderNotAvailable
		}
		r.Partitions = append(r.Partitions, q)
	}
	return r
}

// controllerID is where requests to change topics should go. Every broker forwards them, so that it is advice only.
func (c *Cluster) controllerID() int32 {
	for _, b := range c.brokers {
		if b.led {
			return b.id
		}
	}
	return -1
}

func (b *Broker) describeCluster(kreq kmsg.Request, reply func(kmsg.Response)) {
	resp := kreq.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID, resp.ControllerID = clusterID, b.c.controllerID()
	for _, k := range b.c.brokers {
		if k.led {
			resp.Brokers = append(resp.Brokers, kmsg.DescribeClusterResponseBroker{
				NodeID: k.id, Host: k.node.Name(), Port: 9092,
			})
		}
	}
	reply(resp)
}
