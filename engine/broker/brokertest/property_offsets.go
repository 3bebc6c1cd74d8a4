package brokertest

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// txnOffsets is P20: offsets inside a transaction.
func txnOffsets(p *property) {
	for _, protocol := range p.protocols() {
		for _, commit := range []bool{true, false} {
			p.offsetsUntil(protocol, commit)
		}
	}
	tp := stage.Part(p.Topic(1), 0)
	p.is("an unknown group", p.lane(p.Name("nobody"), tp, true), none)
	p.is("an unknown group, plain read", p.lane(p.Name("nobody"), tp, false), none)
}

// lane reads one offset, once, as "6 meta" or "UNSTABLE_OFFSET_COMMIT (88)".
func (p *property) lane(group string, tp id.TopicPartition, stable bool) string {
	o, code := p.Lane(group, tp, stable)
	switch {
	case code != kafka.OK:
		return "group: " + code.String()
	case o.Code != kafka.OK:
		return o.Code.String()
	}
	return fmt.Sprintf("%d %s", o.Offset, o.Metadata)
}

// none is what lane tells where there is no offset.
const none = "-1 "

func (p *property) offsetsUntil(protocol int16, commit bool) {
	fact := func(what string) string { return named(protocol, "%s, %s", verdict(commit), what) }
	name := p.Topic(6)
	part := func(n int32) id.TopicPartition { return stage.Part(name, n) }
	group := p.Name("group")
	const marked, untouched, twice, overtaken, fresh, data = 0, 1, 2, 3, 4, 5
	for _, n := range []int32{marked, untouched, twice, overtaken} {
		p.Seed(group, part(n), 5, "seed")
	}
	who := p.writer(protocol)
	p.Write(part(data), who, 0, "a")
	p.Mark(who, group, part(marked), 6, "meta")
	p.Mark(who, group, part(twice), 7, "first")
	p.Mark(who, group, part(twice), 8, "last")
	p.Mark(who, group, part(overtaken), 9, "meta")
	p.Mark(who, group, part(fresh), 10, "meta")
	p.Seed(group, part(overtaken), 4, "plain")

	read := func(when string, stable bool, want ...string) {
		for n, w := range want {
			which := []string{"marked", "untouched", "twice", "overtaken", "fresh"}[n]
			p.is(fact(when+", "+which), p.lane(group, part(int32(n)), stable), w)
		}
	}
	unstable := kafka.UnstableOffsetCommit.String()
	read("plain read", false, "5 seed", "5 seed", "5 seed", "4 plain", none)
	read("stable read", true, unstable, "5 seed", unstable, unstable, unstable)
	p.is(fact("partitions of the group"), p.allOffsets(group, name), "0 1 2 3")

	p.Finish(who, commit, part(data))
	for n := range int32(5) {
		p.StableLane(group, part(n))
	}
	if commit {
		read("ended", true, "6 meta", "5 seed", "8 last", "4 plain", "10 meta")
		p.is(fact("partitions of the group in the end"), p.allOffsets(group, name), "0 1 2 3 4")
	} else {
		read("ended", true, "5 seed", "5 seed", "5 seed", "4 plain", none)
		p.is(fact("partitions of the group in the end"), p.allOffsets(group, name), "0 1 2 3")
	}

	// Offsets alone are a transaction as well, and the first thing that a group hears of.
	alone := p.Name("group")
	next := p.writer(protocol)
	p.Mark(next, alone, part(marked), 11, "alone")
	p.is(fact("a group that is pending only"), p.lane(alone, part(marked), true), unstable)
	p.is(fact("a group that is pending only, plain read"), p.lane(alone, part(marked), false), none)
	p.Finish(next, commit)
	ended := ""
	p.Wait("offsets alone ended", func() bool { ended = p.lane(alone, part(marked), true); return ended != unstable })
	p.is(fact("offsets alone, ended"), ended, map[bool]string{true: "11 alone", false: none}[commit])
}

// allOffsets are the partitions of a topic that a group lists when it is asked for all.
func (p *property) allOffsets(group, topic string) string {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 8, true
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	r, code := p.ask(stage.GroupCoordinator(group), req)
	p.Check(code == kafka.OK, "all offsets: %v", code)
	var numbers []int32
	for _, t := range r.(*kmsg.OffsetFetchResponse).Groups[0].Topics {
		if t.Topic != topic {
			continue
		}
		for _, q := range t.Partitions {
			numbers = append(numbers, q.Partition)
		}
	}
	return sortedNumbers(numbers)
}
