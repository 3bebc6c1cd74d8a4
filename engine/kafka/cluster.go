package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// Topic is what the cluster tells of one topic.
type Topic struct {
	Name       string
	ID         [16]byte
	Code       Code
	Partitions []Partition // ascending by number

	misses int // answers since that did not know it
}

// Partition is what the cluster tells of one partition.
type Partition struct {
	Number, Leader int32 // Leader -1: none at present
	LeaderEpoch    int32
	Replicas, ISR  []int32
	Code           Code
}

// Metadata is one broker's view of the cluster.
type Metadata struct {
	Brokers    []int32 // ascending
	Controller int32
	Topics     []Topic
}

const metadataVersion = 12

// cluster is the view that routing goes by: the newest leaders heard of, for the topics that were asked for.
type cluster struct {
	client     *Client
	brokers    []int32
	controller int32
	topics     map[string]*Topic
	names      []string // of topics, sorted
	turn       int      // counts asks, to go round the brokers
	asking     bool
	asked      []string // what the running ask names
	waiting    []func(error)
	next       []func(error) // wait for the ask behind the running one
}

// anyNode is the bootstrap node and then each broker in turn, so that one that is cut off and answers with an old view is
// not asked for ever.
func (v *cluster) anyNode() int32 {
	i := v.turn % (len(v.brokers) + 1)
	v.turn++
	if i == 0 {
		return broker.Bootstrap
	}
	return v.brokers[i-1]
}

// partition is the newest view of one partition.
func (v *cluster) partition(tp id.TopicPartition) (Partition, bool) {
	t := v.topics[tp.Topic]
	if t == nil {
		return Partition{}, false
	}
	if p := t.partition(tp.Partition); p != nil {
		return *p, true
	}
	return Partition{}, false
}

// partition is the one of a number, or nil. Numbers have no gaps in almost all answers.
func (t *Topic) partition(n int32) *Partition {
	if n >= 0 && int(n) < len(t.Partitions) && t.Partitions[n].Number == n {
		return &t.Partitions[n]
	}
	i, ok := slices.BinarySearchFunc(t.Partitions, n, func(p Partition, n int32) int { return int(p.Number - n) })
	if !ok {
		return nil
	}
	return &t.Partitions[i]
}

// leader is who leads a partition as far as is known.
func (v *cluster) leader(tp id.TopicPartition) (node, epoch int32, ok bool) {
	t := v.topics[tp.Topic]
	if t == nil {
		return -1, -1, false
	}
	p := t.partition(tp.Partition)
	if p == nil || p.Leader < 0 {
		return -1, -1, false
	}
	return p.Leader, p.LeaderEpoch, true
}

// want adds a topic to those that are asked for.
func (v *cluster) want(name string) {
	if i, ok := slices.BinarySearch(v.names, name); !ok {
		v.names = slices.Insert(v.names, i, name)
	}
}

// refresh asks once for all wanted topics. Asks while one is running wait for the next one, unless it names all they want.
func (v *cluster) refresh(done func(error)) {
	if v.asking {
		if len(v.asked) == len(v.names) {
			v.waiting = append(v.waiting, done)
		} else {
			v.next = append(v.next, done)
		}
		return
	}
	v.asking = true
	v.asked = slices.Clone(v.names)
	v.waiting = append(v.waiting, done)
	v.client.metadata(v.anyNode(), v.asked, func(m Metadata, _ Code, err error) {
		if err == nil {
			v.take(m)
		}
		waiting := v.waiting
		v.waiting, v.asking = v.next, false
		v.next = nil
		for _, fn := range waiting {
			fn(err)
		}
		if len(v.waiting) > 0 && !v.asking {
			v.refresh(func(error) {})
		}
	})
}

// take folds a broker's view in. An answer may be older than what is known: within one topic id a leader epoch never goes
// back.
func (v *cluster) take(m Metadata) {
	if len(m.Brokers) > 0 {
		v.brokers = m.Brokers
	}
	v.controller = m.Controller
	for i := range m.Topics {
		fresh := &m.Topics[i]
		if fresh.Name == "" {
			continue
		}
		known := v.topics[fresh.Name]
		if known != nil && known.Code == OK && fresh.Code != OK && len(fresh.Partitions) == 0 {
			// A broker may not know the topic yet, or not at the moment. Only when all say so it is believed.
			if known.misses++; fresh.Code != UnknownTopicOrPartition || known.misses <= len(v.brokers) {
				continue
			}
		}
		if known != nil && known.ID == fresh.ID {
			keepNewerLeaders(known, fresh)
		}
		v.topics[fresh.Name] = fresh
	}
}

func keepNewerLeaders(known, fresh *Topic) {
	for _, k := range known.Partitions {
		i, ok := slices.BinarySearchFunc(fresh.Partitions, k.Number, func(p Partition, n int32) int { return int(p.Number - n) })
		if !ok {
			fresh.Partitions = slices.Insert(fresh.Partitions, i, k)
		} else if fresh.Partitions[i].LeaderEpoch < k.LeaderEpoch {
			fresh.Partitions[i] = k
		}
	}
}

// Topics asks for named topics, repeated while a partition has no leader, until ReadTimeout. A topic that does not exist
// comes back with its Code and is no error; the answer is in the order of names.
func (c *Client) Topics(names []string, done func([]Topic, error)) {
	for _, n := range names {
		c.cluster.want(n)
	}
	c.later(func() {
		c.repeat("metadata", c.cfg.ReadTimeout, func(again func(error)) {
			c.cluster.refresh(func(err error) {
				if err != nil {
					again(err)
					return
				}
				topics := make([]Topic, len(names))
				for i, n := range names {
					topics[i] = Topic{Name: n, Code: UnknownTopicOrPartition}
					if t := c.cluster.topics[n]; t != nil {
						topics[i] = *t
						topics[i].Partitions = slices.Clone(t.Partitions)
					}
					if err := leaderless(topics[i]); err != nil {
						again(err)
						return
					}
				}
				done(topics, nil)
			})
		}, func(err error) { done(nil, err) })
	})
}

// leaderless is an error when the topic is there but cannot be used at present.
func leaderless(t Topic) error {
	if class := t.Code.Class(); t.Code != UnknownTopicOrPartition && (class == Retry || class == RefreshLeader) {
		return notSent("topic %s: %w", t.Name, t.Code)
	}
	for _, p := range t.Partitions {
		if p.Leader < 0 {
			return notSent("partition %s/%d has no leader", t.Name, p.Number)
		}
	}
	return nil
}

// MetadataFrom asks one broker once for its own view; no names: brokers only.
func (c *Client) MetadataFrom(node int32, names []string, done func(Metadata, Code, error)) {
	c.later(func() { c.metadata(node, names, done) })
}

func (c *Client) metadata(node int32, names []string, done func(Metadata, Code, error)) {
	c.withFeatures(func(err error) {
		req := kmsg.NewPtrMetadataRequest()
		if err == nil {
			err = c.pin(req, metadataVersion)
		}
		if err != nil {
			c.later(func() { done(Metadata{}, OK, err) })
			return
		}
		req.Topics = []kmsg.MetadataRequestTopic{} // nil would mean all
		for _, n := range names {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(n)
			req.Topics = append(req.Topics, t)
		}
		c.send(broker.Control, node, req, 0, func(r kmsg.Response, err error) {
			if err != nil {
				done(Metadata{}, OK, err)
				return
			}
			resp := r.(*kmsg.MetadataResponse)
			done(readMetadata(resp), Code(resp.ErrorCode), nil)
		})
	})
}

func readMetadata(resp *kmsg.MetadataResponse) Metadata {
	m := Metadata{Controller: resp.ControllerID}
	for _, b := range resp.Brokers {
		m.Brokers = append(m.Brokers, b.NodeID)
	}
	slices.Sort(m.Brokers)
	for _, t := range resp.Topics {
		topic := Topic{ID: t.TopicID, Code: Code(t.ErrorCode)}
		if t.Topic != nil {
			topic.Name = *t.Topic
		}
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, Partition{
				Number: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
				Replicas: p.Replicas, ISR: p.ISR, Code: Code(p.ErrorCode),
			})
		}
		slices.SortStableFunc(topic.Partitions, func(a, b Partition) int { return int(a.Number - b.Number) })
		m.Topics = append(m.Topics, topic)
	}
	return m
}
