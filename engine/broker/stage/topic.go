package stage

import (
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// Topic makes a topic and waits until every partition has a leader. It keeps its records, whose timestamps are of long ago,
// unless the configs tell for how long.
func (t *T) Topic(partitions int32, configs ...kafka.ConfigEntry) string {
	if !slices.ContainsFunc(configs, func(c kafka.ConfigEntry) bool { return c.Name == kafka.ConfigRetentionMs }) {
		configs = append(slices.Clone(configs), kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"})
	}
	m, _ := t.View(-1)
	return t.TopicOf(partitions, int16(max(1, min(3, len(m.Brokers)))), configs...)
}

// TopicOf makes a topic with so many replicas of each partition and no other configs than these, and waits until every broker
// knows it.
func (t *T) TopicOf(partitions int32, replicas int16, configs ...kafka.ConfigEntry) string {
	name := t.Name("topic")
	code := t.Settle("create topic", func(done func(kafka.Code, error)) {
		t.CreateTopics([]kafka.NewTopic{{Name: name, Partitions: partitions, Replication: replicas, Configs: configs}}, func(codes []kafka.Code, err error) {
			if err != nil {
				done(kafka.OK, err)
				return
			}
			done(codes[0], nil)
		})
	})
	t.Check(code == kafka.OK || code == kafka.TopicAlreadyExists, "create topic: %v", code)
	t.Visible(name, partitions)
	return name
}

// Visible waits until every broker shows all partitions with leaders: each learns of them in its own time.
func (t *T) Visible(name string, partitions int32) {
	t.Wait("topic "+name+" on every broker", func() bool { return t.showing(name, partitions) })
}

func (t *T) showing(name string, partitions int32) bool {
	m, ok := t.View(-1)
	for _, node := range m.Brokers {
		seen, known := t.View(node, name)
		ok = ok && known && len(seen.Topics) == 1 && len(seen.Topics[0].Partitions) == int(partitions)
		for i := 0; ok && i < int(partitions); i++ {
			ok = seen.Topics[0].Partitions[i].Leader >= 0
		}
	}
	return ok && len(m.Brokers) > 0
}

// View is one broker's metadata.
func (t *T) View(node int32, names ...string) (m kafka.Metadata, ok bool) {
	t.Do(func(done func()) {
		t.MetadataFrom(node, names, func(x kafka.Metadata, _ kafka.Code, err error) { m, ok = x, err == nil; done() })
	})
	return m, ok
}

// Describe is what the cluster tells of a topic.
func (t *T) Describe(name string) kafka.Topic {
	var topics []kafka.Topic
	var err error
	t.Do(func(done func()) {
		t.Topics([]string{name}, func(ts []kafka.Topic, e error) { topics, err = ts, e; done() })
	})
	t.Check(err == nil && len(topics) == 1, "metadata of %s: %v", name, err)
	return topics[0]
}

// Part names a partition.
func Part(topic string, partition int32) id.TopicPartition {
	return id.TopicPartition{Topic: topic, Partition: partition}
}
