package kafka

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// NewTopic describes a topic to create.
type NewTopic struct {
	Name        string
	Partitions  int32
	Replication int16 // -1: the cluster's default
	Configs     []ConfigEntry
}

// ConfigEntry is one configuration value.
type ConfigEntry struct{ Name, Value string }

// TopicConfigs are the settings of a topic as the broker sent them.
type TopicConfigs struct {
	Topic   string
	Code    Code
	Entries []ConfigEntry
}

// Settings that an audit asks for by name.
const (
	ConfigTimestampType      = "message.timestamp.type"
	ConfigRetentionMs        = "retention.ms"
	ConfigRetentionBytes     = "retention.bytes"
	ConfigCleanupPolicy      = "cleanup.policy"
	ConfigMinCompactionLagMs = "min.compaction.lag.ms"
	ConfigMinInsyncReplicas  = "min.insync.replicas"
	ConfigUncleanElection    = "unclean.leader.election.enable"
)

// Get is a setting by name; false when the broker did not tell it.
func (t TopicConfigs) Get(name string) (string, bool) {
	for _, e := range t.Entries {
		if e.Name == name {
			return e.Value, true
		}
	}
	return "", false
}

// LogAppendTime reports whether the broker overwrites timestamps.
func (t TopicConfigs) LogAppendTime() bool {
	v, _ := t.Get(ConfigTimestampType)
	return v == "LogAppendTime"
}

// brokerTimeoutMs is how long a broker may take over what needs other brokers.
func (c *Client) brokerTimeoutMs() int32 { return int32(c.cfg.RequestTimeout / time.Millisecond) }

// CreateTopics creates topics at the controller and answers per topic, in the order asked.
func (c *Client) CreateTopics(topics []NewTopic, done func([]Code, error)) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = c.brokerTimeoutMs()
	for _, n := range topics {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = n.Name, n.Partitions, n.Replication
		for _, e := range n.Configs {
			x := kmsg.NewCreateTopicsRequestTopicConfig()
			x.Name, x.Value = e.Name, kmsg.StringPtr(e.Value)
			t.Configs = append(t.Configs, x)
		}
		req.Topics = append(req.Topics, t)
	}
	c.toController(one{req: req, version: 7, extra: c.cfg.RequestTimeout}, func(r kmsg.Response, err error) {
		c.controllerSays(OK, err)
		if err != nil {
			done(nil, err)
			return
		}
		codes := make([]Code, len(topics))
		for i, n := range topics {
			codes[i] = UnknownServerError
			for _, t := range r.(*kmsg.CreateTopicsResponse).Topics {
				if t.Topic == n.Name {
					codes[i] = Code(t.ErrorCode)
				}
			}
			c.controllerSays(codes[i], nil)
		}
		done(codes, nil)
	})
}

// CreatePartitions raises a topic to count partitions. InvalidPartitions: it has as many or more.
func (c *Client) CreatePartitions(topic string, count int32, done func(Code, error)) {
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = c.brokerTimeoutMs()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, count
	req.Topics = append(req.Topics, t)
	c.toController(one{req: req, version: 3, extra: c.cfg.RequestTimeout}, func(r kmsg.Response, err error) {
		code := UnknownServerError
		if err == nil {
			for _, t := range r.(*kmsg.CreatePartitionsResponse).Topics {
				if t.Topic == topic {
					code = Code(t.ErrorCode)
				}
			}
		} else {
			code = OK
		}
		c.controllerSays(code, err)
		done(code, err)
	})
}

// Types of resources in DescribeConfigs.
const (
	topicResource  kmsg.ConfigResourceType = 2
	brokerResource kmsg.ConfigResourceType = 4
)

// DescribeConfigs asks once for all settings of topics, in the order asked.
func (c *Client) DescribeConfigs(topics []string, done func([]TopicConfigs, error)) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range topics {
		req.Resources = append(req.Resources, configResource(topicResource, name))
	}
	c.toNode(c.cluster.anyNode(), one{req: req, version: 4}, func(r kmsg.Response, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		out := make([]TopicConfigs, len(topics))
		for i, name := range topics {
			code, entries := readConfigs(r, name)
			out[i] = TopicConfigs{Topic: name, Code: code, Entries: entries}
		}
		done(out, nil)
	})
}

// BrokerConfigs asks one broker once for its own settings.
func (c *Client) BrokerConfigs(node int32, done func([]ConfigEntry, Code, error)) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	name := strconv.Itoa(int(node))
	req.Resources = append(req.Resources, configResource(brokerResource, name))
	c.toNode(node, one{req: req, version: 4}, func(r kmsg.Response, err error) {
		if err != nil {
			done(nil, OK, err)
			return
		}
		code, entries := readConfigs(r, name)
		done(entries, code, nil)
	})
}

func configResource(kind kmsg.ConfigResourceType, name string) kmsg.DescribeConfigsRequestResource {
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	return r
}

func readConfigs(r kmsg.Response, name string) (Code, []ConfigEntry) {
	for _, res := range r.(*kmsg.DescribeConfigsResponse).Resources {
		if res.ResourceName != name {
			continue
		}
		var entries []ConfigEntry
		for _, e := range res.Configs {
			if e.Value != nil {
				entries = append(entries, ConfigEntry{e.Name, *e.Value})
			}
		}
		return Code(res.ErrorCode), entries
	}
	return UnknownServerError, nil
}
