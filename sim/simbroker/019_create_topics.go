package simbroker

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	handlers[19] = (*Broker).createTopics
	handlers[20] = (*Broker).deleteTopics
	handlers[37] = (*Broker).createPartitions
}

// createTopics makes topics. It answers before every broker knows of them.
func (b *Broker) createTopics(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.CreateTopicsRequest)
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	for i := range req.Topics {
		q := &req.Topics[i]
		r := kmsg.NewCreateTopicsResponseTopic()
		r.Topic = q.Topic
		n := int(q.NumPartitions)
		if n == -1 {
			n = 1
		}
		copies := int(q.ReplicationFactor)
		if copies == -1 {
			copies = b.c.cfg.Replication.Factor
		}
		cfg, known := parseTopicConfig(q.Configs)
		switch {
		case q.Topic == "" || q.Topic == offsetsTopic:
			r.ErrorCode = invalidTopic
		case b.c.byName[q.Topic] != nil:
			r.ErrorCode = topicAlreadyExists
		case n <= 0:
			r.ErrorCode = invalidPartitions
		case q.ReplicationFactor == 0 || q.ReplicationFactor < -1 || int(q.ReplicationFactor) > len(b.c.brokers):
			r.ErrorCode = invalidReplication
		case !known:
			r.ErrorCode = invalidConfig
		case !req.ValidateOnly:
			t := b.c.addTopic(q.Topic, n, copies, 0, cfg, true)
			r.TopicID = t.id
		}
		r.NumPartitions, r.ReplicationFactor = int32(n), int16(copies)
		resp.Topics = append(resp.Topics, r)
	}
	reply(resp)
}

const invalidConfig int16 = 40

func parseTopicConfig(configs []kmsg.CreateTopicsRequestTopicConfig) (TopicConfig, bool) {
	var cfg TopicConfig
	for i := range configs {
		if configs[i].Value == nil {
			continue
		}
		v := *configs[i].Value
		number, err := strconv.ParseInt(v, 10, 64)
		switch configs[i].Name {
		case "message.timestamp.type":
			cfg.AppendTime, err = v == "LogAppendTime", nil
		case "cleanup.policy":
			cfg.Cleanup, err = v, nil
		case "retention.ms":
			cfg.RetentionMs = number
		case "retention.bytes":
			cfg.RetentionBytes = number
		case "segment.ms":
			cfg.SegmentMs = number
		case "segment.bytes":
			cfg.SegmentBytes = int(number)
		case "min.insync.replicas":
			cfg.MinISR = int(number)
			if number < 1 {
				return cfg, false
			}
		case "unclean.leader.election.enable":
			cfg.UncleanElection, err = strconv.ParseBool(v)
		case "delete.retention.ms":
			if cfg.DeleteRetention = number; number == 0 {
				cfg.DeleteRetention = -1
			}
		case "min.compaction.lag.ms":
			cfg.MinCompactionMs = number
		case "max.message.bytes":
			cfg.MaxMessageBytes = int(number)
		default:
			err = nil
		}
		if err != nil {
			return cfg, false
		}
	}
	return cfg, true
}

func (b *Broker) deleteTopics(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DeleteTopicsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	one := func(name *string, id [16]byte) {
		r := kmsg.NewDeleteTopicsResponseTopic()
		r.Topic, r.TopicID = name, id
		t := b.c.byID[id]
		if name != nil {
			t = b.c.byName[*name]
		}
		switch {
		case t == nil || t.deleted:
			r.ErrorCode = unknownTopicOrPartition
		case t.internal:
			r.ErrorCode = invalidTopic
		default:
			b.c.remove(t)
		}
		resp.Topics = append(resp.Topics, r)
	}
	for i := range req.TopicNames {
		one(&req.TopicNames[i], [16]byte{})
	}
	for i := range req.Topics {
		one(req.Topics[i].Topic, req.Topics[i].TopicID)
	}
	reply(resp)
}

// createPartitions adds partitions. Each broker knows of them at its own time, and answers 3 until then.
func (b *Broker) createPartitions(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.CreatePartitionsRequest)
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	for i := range req.Topics {
		q := &req.Topics[i]
		r := kmsg.NewCreatePartitionsResponseTopic()
		r.Topic = q.Topic
		switch t := b.c.byName[q.Topic]; {
		case t == nil:
			r.ErrorCode = unknownTopicOrPartition
		case t.internal || int(q.Count) <= len(t.parts):
			r.ErrorCode = invalidPartitions
		case !req.ValidateOnly:
			b.c.addPartitions(t, int(q.Count)-len(t.parts), 0, true)
		}
		resp.Topics = append(resp.Topics, r)
	}
	reply(resp)
}
