package brokerfuzz

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/kafka"
)

// layout is what a run knows of the cluster.
type layout struct {
	nodes    []int32
	versions [128]struct{ min, max int16 }
	leaders  []int32 // of the topic's partitions; -1: ask
	at       []place // of coordinators, as they were found
	shards   []int32 // leader epochs of __transaction_state
	offsets  int32   // partitions of __consumer_offsets
}

type place struct {
	to   target
	node int32
}

// target is whom a request is for: the leader of a partition, the coordinator of an id or of a group, or anybody.
type target struct {
	kind int8 // below
	key  string
	num  int32
}

const (
	anybody int8 = iota
	leaderOf
	coordinatorOf
	coordinatorOfGroup
)

func (l *layout) offers(req kmsg.Request) bool {
	v := l.versions[req.Key()]
	return req.GetVersion() >= v.min && req.GetVersion() <= v.max
}

// newest is a version, or the newest offered if that is below.
func (l *layout) newest(key, version int16) int16 { return min(version, l.versions[key].max) }

// node finds whom to ask.
func (r *run) node(to target) int32 {
	if len(r.cluster.nodes) == 1 || to.kind == anybody || to.kind == coordinatorOf && to.key == "" {
		return r.cluster.nodes[0]
	}
	if to.kind == leaderOf {
		if r.cluster.leaders[to.num] < 0 {
			r.patiently("leaders of the topic", r.findLeaders)
		}
		return r.cluster.leaders[to.num]
	}
	for _, p := range r.cluster.at {
		if p.to == to {
			return p.node
		}
	}
	return r.findCoordinator(to)
}

// forget drops what was known of whom to ask.
func (r *run) forget(to target) {
	if to.kind == leaderOf {
		r.cluster.leaders[to.num] = -1
	}
	for i, p := range r.cluster.at {
		if p.to == to {
			r.cluster.at = append(r.cluster.at[:i], r.cluster.at[i+1:]...)
			return
		}
	}
}

// patiently repeats a step of the preparation until it is done.
func (r *run) patiently(what string, step func() bool) {
	for until := r.process.Now().Add(60 * time.Second); !step(); r.sleep(20 * time.Millisecond) {
		if r.process.Now() >= until {
			r.fail("%s: not within a minute", what)
		}
	}
}

func (r *run) must(node int32, req kmsg.Request) kmsg.Response {
	resp, err := r.once(node, req)
	if err != nil {
		r.fail("%s: %w", kmsg.NameForKey(req.Key()), err)
	}
	return resp
}

// prepare makes the names of the sequence and learns where everything is.
func (r *run) prepare() {
	v := kmsg.NewPtrApiVersionsRequest()
	v.Version, v.ClientSoftwareName, v.ClientSoftwareVersion = 3, "onefold", "1"
	for _, k := range r.must(broker.Bootstrap, v).(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey >= 0 && int(k.ApiKey) < len(r.cluster.versions) {
			r.cluster.versions[k.ApiKey].min, r.cluster.versions[k.ApiKey].max = k.MinVersion, k.MaxVersion
		}
	}
	r.patiently("brokers", func() bool {
		m := r.metadata(broker.Bootstrap)
		r.cluster.nodes = r.cluster.nodes[:0]
		for _, b := range m.Brokers {
			r.cluster.nodes = append(r.cluster.nodes, b.NodeID)
		}
		return len(r.cluster.nodes) > 0
	})
	r.patiently("create the topic", r.createTopic)
	r.patiently("leaders of the topic", r.findLeaders)
	r.findCoordinator(target{coordinatorOf, "nobody-" + r.o.Name, 0}) // who asks first makes the log
	r.findCoordinator(target{coordinatorOfGroup, r.group, 0})
	r.patiently("partitions of the coordinators", r.findShards)
	r.name()
	for _, id := range r.ids {
		r.findCoordinator(target{coordinatorOf, id, 0})
	}
}

// name makes the actors and their ids.
func (r *run) name() {
	for _, p := range r.seq.Producers {
		a := &actor{Producer: p, pid: -1, epoch: -1, parts: make([]written, r.seq.Partitions), index: -1}
		if p.ID != "" {
			a.index = slices.Index(r.words, p.ID)
			if a.index < 0 {
				a.index = len(r.ids)
				r.words, r.ids = append(r.words, p.ID), append(r.ids, r.apart(p.ID))
			}
			a.id = r.ids[a.index]
		}
		r.actors = append(r.actors, a)
	}
	r.view.ids = make([]transaction, len(r.ids))
}

// apart is a name for an id. Where coordinators move, no two ids of the sequence share a partition of their log: one would move
// with the other, in one cluster and not in another.
func (r *run) apart(word string) string {
	id := word + "-" + r.o.Name
	if r.o.Mover == nil || len(r.ids) >= len(r.cluster.shards) {
		return id
	}
	shard := func(id string) int32 { return kafka.InternalPartition(id, int32(len(r.cluster.shards))) }
	for n := 0; slices.ContainsFunc(r.ids, func(other string) bool { return shard(other) == shard(id) }); n++ {
		id = fmt.Sprintf("%s-%s-%d", word, r.o.Name, n)
	}
	return id
}

func (r *run) metadata(node int32, topics ...string) *kmsg.MetadataResponse {
	q := kmsg.NewPtrMetadataRequest()
	q.Version, q.AllowAutoTopicCreation = 9, false
	q.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		q.Topics = append(q.Topics, t)
	}
	return r.must(node, q).(*kmsg.MetadataResponse)
}

// createTopic makes a topic whose records never expire and whose segments never end, whatever their timestamps.
func (r *run) createTopic() bool {
	q := kmsg.NewPtrCreateTopicsRequest()
	q.Version, q.TimeoutMillis = 5, 10000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = r.topic, r.seq.Partitions, int16(min(3, len(r.cluster.nodes)))
	for _, c := range [][2]string{{"retention.ms", "-1"}, {"segment.ms", "9223372036854775807"}} {
		x := kmsg.NewCreateTopicsRequestTopicConfig()
		x.Name, x.Value = c[0], kmsg.StringPtr(c[1])
		t.Configs = append(t.Configs, x)
	}
	q.Topics = append(q.Topics, t)
	got := r.must(r.cluster.nodes[0], q).(*kmsg.CreateTopicsResponse).Topics[0]
	switch got.ErrorCode {
	case 0, 36:
		return true
	case 7, 14, 41, 49, 60:
		return false
	}
	text := ""
	if got.ErrorMessage != nil {
		text = *got.ErrorMessage
	}
	r.fail("create topic: code %d %s", got.ErrorCode, text)
	return false
}

// findLeaders learns the leaders of the topic; every broker must know them.
func (r *run) findLeaders() bool {
	leaders := make([]int32, r.seq.Partitions)
	for _, node := range r.cluster.nodes {
		m := r.metadata(node, r.topic)
		if len(m.Topics) != 1 || m.Topics[0].ErrorCode != 0 || len(m.Topics[0].Partitions) != int(r.seq.Partitions) {
			return false
		}
		for _, p := range m.Topics[0].Partitions {
			if p.Leader < 0 {
				return false
			}
			leaders[p.Partition] = p.Leader
		}
	}
	r.cluster.leaders = leaders
	return true
}

func (r *run) findCoordinator(to target) (node int32) {
	r.patiently("coordinator of "+to.key, func() bool {
		q := kmsg.NewPtrFindCoordinatorRequest()
		q.Version, q.CoordinatorKey = 3, to.key
		if to.kind == coordinatorOf {
			q.CoordinatorType = 1
		}
		resp := r.must(r.cluster.nodes[0], q).(*kmsg.FindCoordinatorResponse)
		node = resp.NodeID
		return resp.ErrorCode == 0
	})
	r.cluster.at = append(r.cluster.at, place{to, node})
	return node
}

// findShards learns what names are hashed over, and the epochs of the transaction coordinators.
func (r *run) findShards() bool {
	m := r.metadata(r.cluster.nodes[0], "__transaction_state", "__consumer_offsets")
	if len(m.Topics) != 2 {
		return false
	}
	for _, t := range m.Topics {
		if t.ErrorCode != 0 || t.Topic == nil {
			return false
		}
		if *t.Topic == "__consumer_offsets" {
			r.cluster.offsets = int32(len(t.Partitions))
			continue
		}
		r.cluster.shards = make([]int32, len(t.Partitions))
		for _, p := range t.Partitions {
			if p.Leader < 0 {
				return false
			}
			r.cluster.shards[p.Partition] = p.LeaderEpoch
		}
	}
	return true
}

// term is the epoch of an id's coordinator when the sequence began.
func (r *run) term(id string) int32 {
	if id == "" {
		return 0
	}
	return r.cluster.shards[kafka.InternalPartition(id, int32(len(r.cluster.shards)))]
}

// clean removes the topic. A group coordinator before 4.0 takes the end of any topic as an occasion to forget all groups that
// are empty, those of other sequences, too: there the topic stays.
func (r *run) clean() {
	if r.cluster.versions[0].max < 12 {
		return
	}
	q := kmsg.NewPtrDeleteTopicsRequest()
	q.Version, q.TimeoutMillis, q.TopicNames = 4, 1000, []string{r.topic}
	r.must(r.cluster.nodes[0], q)
}
