package brokertest

import (
	"fmt"
	"slices"
	"strings"
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
func (p *property) heldReplicas(b stage.Breaker) {
	x := p.pair(b)
	plain := p.Plain()
	p.Write(x.tp, plain, 0, "kept")
	p.Sleep(time.Second) // until the follower has heard of the high watermark

	x.with(b.PauseBroker, x.follower)
	p.becomes("in sync without its follower", func() string { return p.copies(x.leader, x.tp) }, ledBy(x.leader, x.leader))
	p.Sleep(2 * time.Second) // a broker shows what it is about to do, and a fetch of the follower's may wait there still
	p.is("acks=1 below the minimum", p.sendWith(1, x.leader, x.tp, plain, 1, "unsure"), kafka.OK)
	p.is("acks=-1 below the minimum", p.sendWith(-1, x.leader, x.tp, plain, 2, "refused"), kafka.NotEnoughReplicas)
	p.is("visible below the minimum", p.visible(x.leader, x.tp), map[bool]int64{true: 1, false: 2}[p.HoldsHigh])
	if p.DescribesTopics {
		p.is("eligible below the minimum", p.eligible(x.other, x.tp), set(p.Eligible, x.follower))
	}

	x.with(b.PauseBroker, x.leader)
	x.with(b.ResumeBroker, x.follower)
	led := ledBy(-1, x.leader)
	if p.Eligible {
		led = ledBy(x.follower, x.follower)
	}
	p.becomes("led without its leader", func() string { return p.copies(x.other, x.tp) }, led)
	if p.DescribesTopics {
		p.is("eligible without its leader", p.eligible(x.other, x.tp), set(p.Eligible, x.leader))
	}
	if p.Eligible {
		p.is("visible without its leader", p.visible(x.follower, x.tp), 1)
	} else {
		p.Sleep(2 * time.Second)
		p.is("led without its leader, still", p.copies(x.other, x.tp), led)
	}

	x.with(b.ResumeBroker, x.leader)
	p.becomes("in sync in the end", func() string { return p.inSync(x.other, x.tp) }, fmt.Sprint(sorted(x.leader, x.follower)))
	want := "0:kept 1:unsure"
	if p.Eligible {
		want = "0:kept"
	}
	p.becomes("log in the end", func() string { return p.Dump(x.tp) }, want)
}

// killedReplicas is the same with brokers that do not stop cleanly, which are eligible no more when they are back: the last
// leader is the first to return, and leads when nobody is eligible any more, which is when the follower is back as well.
func (p *property) killedReplicas(b stage.Breaker) {
	x := p.pair(b)
	p.Write(x.tp, p.Plain(), 0, "kept")
	x.with(b.KillBroker, x.follower)
	p.becomes("in sync, its follower dead", func() string { return p.copies(x.other, x.tp) }, ledBy(x.leader, x.leader))
	x.with(b.KillBroker, x.leader)
	x.with(b.StartBroker, x.leader)
	p.Sleep(2 * time.Second)
	p.Wait("the leader's return", func() bool {
		m, ok := p.View(x.other)
		return ok && slices.Contains(m.Brokers, x.leader)
	})
	led, fact := ledBy(x.leader, x.leader), "led, its follower dead"
	if p.Eligible {
		led = ledBy(-1)
	}
	p.becomes(fact, func() string { return p.copies(x.other, x.tp) }, led)
	p.Sleep(2 * time.Second)
	p.is(fact+", still", p.copies(x.other, x.tp), led)
	if p.DescribesTopics {
		p.is("eligible, its follower dead", p.eligible(x.other, x.tp), set(p.Eligible, x.follower))
	}
	x.with(b.StartBroker, x.follower)
	p.becomes("led, both back", func() string { return p.copies(x.other, x.tp) }, ledBy(x.leader, x.leader, x.follower))
	p.becomes("log, both back", func() string { return p.Dump(x.tp) }, "0:kept")
}

// pair is a partition with two replicas, both of which must be in sync, and a third broker.
type pair struct {
	tp                      id.TopicPartition
	leader, follower, other int32
	with                    func(do func(broker int) error, node int32)
}

func (p *property) pair(b stage.Breaker) (x pair) {
	name := p.TopicOf(1, 2,
		kafka.ConfigEntry{Name: "min.insync.replicas", Value: "2"}, kafka.ConfigEntry{Name: kafka.ConfigRetentionMs, Value: "-1"})
	m, _ := p.View(broker.Bootstrap, name)
	part := m.Topics[0].Partitions[0]
	p.Check(len(m.Brokers) == 3 && len(part.Replicas) == 2 && part.Leader == part.Replicas[0],
		"brokers %v, replicas %v, leader %d", m.Brokers, part.Replicas, part.Leader)
	x.tp, x.leader, x.follower = stage.Part(name, 0), part.Replicas[0], part.Replicas[1]
	x.other = m.Brokers[0] + m.Brokers[1] + m.Brokers[2] - x.leader - x.follower
	x.with = func(do func(int) error, node int32) {
		err := do(slices.Index(m.Brokers, node))
		p.Check(err == nil, "broker %d: %v", node, err)
	}
	return x
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
	return ledBy(x.Leader, x.ISR...)
}

// ledBy is the same of a partition whose leader and replicas in sync are known; -1: nobody leads.
func ledBy(leader int32, inSync ...int32) string { return fmt.Sprint(leader, " ", sorted(inSync...)) }

// inSync is the second half of that.
func (p *property) inSync(at int32, tp id.TopicPartition) string {
	_, isr, _ := strings.Cut(p.copies(at, tp), " ")
	return isr
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
