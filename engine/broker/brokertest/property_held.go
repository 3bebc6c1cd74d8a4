package brokertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// heldReplicas is the part of P25 that needs brokers which can be held: what readers see, and who leads, while a partition has
// fewer replicas in sync than its minimum. Steps 3 and 4 tell eligible leader replicas from their absence:
//
//  1. Both replicas have a record. The follower is held and leaves the ISR.
//  2. A record with acks=1 is taken and stays invisible, one with acks=-1 is refused.
//  3. The leader is held, and the follower wakes up: it leads, or nobody does.
//  4. The leader wakes up: the record of step 2 is gone without having been visible, or becomes visible.
func (p *property) heldReplicas() {
	b, can := p.Backend.(stage.Breaker)
	if !can {
		return
	}
	tp, leader, follower := p.pair()
	m, _ := p.View(broker.Bootstrap)
	p.Check(len(m.Brokers) == 3, "brokers %v", m.Brokers)
	other := m.Brokers[0] + m.Brokers[1] + m.Brokers[2] - leader - follower
	hold := func(node int32, do func(int) error) {
		err := do(slices.Index(m.Brokers, node))
		p.Check(err == nil, "broker %d: %v", node, err)
	}
	plain := p.Plain()
	p.Write(tp, plain, 0, "kept")
	p.Sleep(time.Second) // until the follower has heard of the high watermark

	hold(follower, b.PauseBroker)
	p.becomes("in sync without its follower", func() string { return p.copies(leader, tp) }, fmt.Sprint(leader, " ", []int32{leader}))
	p.Sleep(time.Second) // a broker shows what it is about to do
	p.is("acks=1 below the minimum", p.sendWith(1, leader, tp, plain, 1, "unsure"), kafka.OK)
	p.is("acks=-1 below the minimum", p.sendWith(-1, leader, tp, plain, 2, "refused"), kafka.NotEnoughReplicas)
	p.is("visible below the minimum", p.visible(leader, tp), map[bool]int64{true: 1, false: 2}[p.HoldsHigh])
	if p.DescribesTopics {
		p.is("eligible below the minimum", p.eligible(other, tp), set(p.Eligible, follower))
	}

	hold(leader, b.PauseBroker)
	hold(follower, b.ResumeBroker)
	led := fmt.Sprint(-1, " ", []int32{leader})
	if p.Eligible {
		led = fmt.Sprint(follower, " ", []int32{follower})
	}
	p.becomes("led without its leader", func() string { return p.copies(other, tp) }, led)
	if p.DescribesTopics {
		p.is("eligible without its leader", p.eligible(other, tp), set(p.Eligible, leader))
	}
	if p.Eligible {
		p.is("visible without its leader", p.visible(follower, tp), 1)
	} else {
		p.Sleep(2 * time.Second)
		p.is("led without its leader, still", p.copies(other, tp), led)
	}

	hold(leader, b.ResumeBroker)
	p.becomes("in sync in the end", func() string { return p.copies(other, tp)[2:] }, fmt.Sprint(sorted(leader, follower)))
	want := "0:kept 1:unsure"
	if p.Eligible {
		want = "0:kept"
	}
	p.becomes("log in the end", func() string { return p.Dump(tp) }, want)
}

// pair is a partition with two replicas, both of which must be in sync.
func (p *property) pair() (tp id.TopicPartition, leader, follower int32) {
	name := p.TopicOf(1, 2, kafka.ConfigEntry{Name: "min.insync.replicas", Value: "2"}, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"})
	m, _ := p.View(broker.Bootstrap, name)
	x := m.Topics[0].Partitions[0]
	p.Check(len(x.Replicas) == 2 && x.Leader == x.Replicas[0], "%s has replicas %v and leader %d", name, x.Replicas, x.Leader)
	return stage.Part(name, 0), x.Replicas[0], x.Replicas[1]
}

// visible is the high watermark of a partition as a broker tells a reader.
func (p *property) visible(at int32, tp id.TopicPartition) int64 {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes = 11, -1, 1<<20
	x := kmsg.NewFetchRequestTopicPartition()
	x.Partition, x.PartitionMaxBytes, x.CurrentLeaderEpoch = tp.Partition, 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.Partitions = tp.Topic, []kmsg.FetchRequestTopicPartition{x}
	req.Topics = []kmsg.FetchRequestTopic{t}
	r, err := p.Raw(at, req)
	p.Check(err == nil, "fetch of %s: %v", tp, err)
	return r.(*kmsg.FetchResponse).Topics[0].Partitions[0].HighWatermark
}

// copies is the leader of a partition and its replicas in sync, as a broker shows them.
func (p *property) copies(at int32, tp id.TopicPartition) string {
	m, ok := p.View(at, tp.Topic)
	if !ok || len(m.Topics) != 1 || len(m.Topics[0].Partitions) != 1 {
		return "not shown"
	}
	x := m.Topics[0].Partitions[0]
	return fmt.Sprint(x.Leader, " ", sorted(x.ISR...))
}

// eligible is the eligible leader replicas of a partition.
func (p *property) eligible(at int32, tp id.TopicPartition) string {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	t := kmsg.NewDescribeTopicPartitionsRequestTopic()
	t.Topic = tp.Topic
	req.Topics = append(req.Topics, t)
	r, err := p.Raw(at, req)
	p.Check(err == nil, "describe %s: %v", tp, err)
	x := r.(*kmsg.DescribeTopicPartitionsResponse).Topics
	p.Check(len(x) == 1 && len(x[0].Partitions) == 1, "describe %s: %+v", tp, x)
	return fmt.Sprint(sorted(x[0].Partitions[0].EligibleLeaderReplicas...))
}

// sendWith produces one record with other acks than an engine's.
func (p *property) sendWith(acks int16, at int32, tp id.TopicPartition, who kafka.Identity, sequence int32, value string) kafka.Code {
	req := p.produceRequest(min(11, p.Features.Max(produceKey)), tp, who, sequence, value)
	req.Acks = acks
	r, err := p.Raw(at, req)
	p.Check(err == nil, "produce to %s: %v", tp, err)
	return codeOf(r)
}

// set is a broker as a set, or none.
func set(is bool, node int32) string {
	if is {
		return fmt.Sprint([]int32{node})
	}
	return fmt.Sprint([]int32{})
}

func sorted(nodes ...int32) []int32 {
	nodes = slices.Clone(nodes)
	slices.Sort(nodes)
	return nodes
}
