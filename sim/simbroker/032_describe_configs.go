package simbroker

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() { handlers[32] = (*Broker).describeConfigs }

type setting struct{ name, value string }

// settings are the configurations of the cluster that an audit asks for.
func (b *Broker) settings() []setting {
	c := b.c
	ms := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []setting{
		{"transaction.max.timeout.ms", ms(c.cfg.MaxTxnTimeout.Milliseconds())},
		{"transaction.abort.timed.out.transaction.cleanup.interval.ms", ms(c.cfg.ScanInterval.Milliseconds())},
		{"transaction.partition.verification.enable", strconv.FormatBool(b.profile.Verify)},
		{"transaction.two.phase.commit.enable", "false"},
		{"transactional.id.expiration.ms", ms(c.idExpirationMs())},
		{"offsets.retention.minutes", ms(int64(c.cfg.OffsetsRetention / time.Minute))},
		{"offset.metadata.max.bytes", ms(maxMetadata)},
		{"min.insync.replicas", ms(int64(c.cfg.MinISR))},
		{"unclean.leader.election.enable", strconv.FormatBool(c.cfg.UncleanElection)},
		{"replica.lag.time.max.ms", ms(c.cfg.ReplicaLag.Milliseconds())},
		{"producer.id.expiration.ms", ms(c.cfg.Housekeeping.ProducerExpiration.Milliseconds())},
		{"message.max.bytes", "1048588"},
		{"default.replication.factor", ms(int64(c.cfg.Replication.Factor))},
		{"auto.create.topics.enable", "false"},
		{"num.partitions", "1"},
	}
}

func (c *Cluster) idExpirationMs() int64 {
	if c.cfg.IDExpiration > 0 {
		return c.cfg.IDExpiration.Milliseconds()
	}
	return 7 * 24 * 3600 * 1000
}

func (t *topic) settings(c *Cluster) []setting {
	or := func(n, d int64) string {
		if n == 0 {
			n = d
		}
		return strconv.FormatInt(n, 10)
	}
	cleanup, stamp := t.cfg.Cleanup, "CreateTime"
	if cleanup == "" {
		cleanup = "delete"
	}
	if t.cfg.AppendTime {
		stamp = "LogAppendTime"
	}
	deleteRetention := strconv.FormatInt(t.cfg.deleteRetention().Milliseconds(), 10)
	return []setting{
		{"cleanup.policy", cleanup},
		{"compression.type", "producer"},
		{"max.message.bytes", strconv.Itoa(t.maxBytes())},
		{"message.timestamp.type", stamp},
		{"min.compaction.lag.ms", or(t.cfg.MinCompactionMs, 0)},
		{"delete.retention.ms", deleteRetention},
		{"min.insync.replicas", or(int64(t.cfg.MinISR), int64(c.cfg.MinISR))},
		{"retention.bytes", or(t.cfg.RetentionBytes, -1)},
		{"retention.ms", or(t.cfg.RetentionMs, 7*24*3600*1000)},
		{"segment.bytes", strconv.Itoa(t.cfg.rolls().bytes)},
		{"segment.ms", or(t.cfg.rolls().ms, 0)},
		{"unclean.leader.election.enable", strconv.FormatBool(t.cfg.UncleanElection || c.cfg.UncleanElection)},
	}
}

func (b *Broker) describeConfigs(kreq kmsg.Request, reply func(kmsg.Response)) {
	req := kreq.(*kmsg.DescribeConfigsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for i := range req.Resources {
		q := &req.Resources[i]
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName = q.ResourceType, q.ResourceName
		var all []setting
		switch t := b.c.byName[q.ResourceName]; {
		case q.ResourceType == kmsg.ConfigResourceTypeBroker &&
			(q.ResourceName == "" || q.ResourceName == strconv.Itoa(int(b.id))):
			all = b.settings()
		case q.ResourceType == kmsg.ConfigResourceTypeTopic && t != nil && b.seesTopic(t):
			all = t.settings(b.c)
		case q.ResourceType == kmsg.ConfigResourceTypeTopic:
			r.ErrorCode = unknownTopicOrPartition
		default:
			r.ErrorCode = invalidRequest
		}
		for _, s := range all {
			if wantsConfig(q.ConfigNames, s.name) {
				c := kmsg.NewDescribeConfigsResponseResourceConfig()
				value := s.value
				c.Name, c.Value = s.name, &value
				r.Configs = append(r.Configs, c)
			}
		}
		resp.Resources = append(resp.Resources, r)
	}
	reply(resp)
}

func wantsConfig(names []string, name string) bool {
	if names == nil {
		return true
	}
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
