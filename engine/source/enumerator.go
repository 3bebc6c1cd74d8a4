package source

import (
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
)

type enumerator struct{ k Kafka }

// Discover lists the partitions of the topic: known ones where they were, new ones at a resolved position.
func (e enumerator) Discover(loop env.Loop, p *proc.Process, known []operator.Split, done func([]operator.Split, error)) {
	config := e.k.Client
	config.Process, config.Loop = p, loop
	d := &discovery{k: e.k, client: kafka.New(config), known: known}
	d.done = func(splits []operator.Split, err error) {
		d.client.Close()
		if err != nil {
			err = fmt.Errorf("source %s: %w", e.k.Topic, err)
		}
		done(splits, err)
	}
	d.client.Topics([]string{e.k.Topic}, d.topic)
}

// discovery is one Discover in its middle.
type discovery struct {
	k      Kafka
	client *kafka.Client
	known  []operator.Split
	splits []operator.Split
	fresh  []bool // by split: no checkpoint knows it
	done   func([]operator.Split, error)
}

// topic makes the list of splits.
func (d *discovery) topic(topics []kafka.Topic, err error) {
	if err == nil && topics[0].Code != kafka.OK {
		err = permanent(topics[0].Code)
	}
	if err != nil {
		d.done(nil, err)
		return
	}
	for _, p := range topics[0].Partitions {
		s := operator.Split{Topic: d.k.Topic, Partition: p.Number, Position: -1, Stop: -1}
		at := slices.IndexFunc(d.known, func(k operator.Split) bool { return k.Topic == s.Topic && k.Partition == s.Partition })
		if at >= 0 {
			s = d.known[at]
		}
		d.splits, d.fresh = append(d.splits, s), append(d.fresh, at < 0)
	}
	for _, k := range d.known {
		if !slices.ContainsFunc(d.splits, func(s operator.Split) bool { return s.Topic == k.Topic && s.Partition == k.Partition }) {
			d.done(nil, permanent(fmt.Errorf("partition %s/%d was read up to %d and is missing now", k.Topic, k.Partition, k.Position)))
			return
		}
	}
	d.start()
}

// permanent marks an error that no restart mends.
func permanent(err error) error { return fmt.Errorf("%w: %w", operator.ErrPermanent, err) }

// start resolves where new splits begin. The declared start is for the job's first discovery; a partition that appears
// later begins at its first record.
func (d *discovery) start() {
	timestamp := kafka.Earliest
	if len(d.known) == 0 {
		switch d.k.Start.kind {
		case latest:
			timestamp = kafka.Latest
		case at:
			timestamp = d.k.Start.timestamp
		}
	}
	var ask []int
	for i := range d.splits {
		if d.fresh[i] {
			ask = append(ask, i)
		}
	}
	d.list(ask, timestamp, func(i int, o kafka.ListedOffset) { d.splits[i].Position = o.Offset }, func() { d.unwritten(ask) })
}

// unwritten lets splits without a record at or after the timestamp begin at their end.
func (d *discovery) unwritten(ask []int) {
	ask = slices.DeleteFunc(ask, func(i int) bool { return d.splits[i].Position >= 0 })
	d.list(ask, kafka.Latest, func(i int, o kafka.ListedOffset) { d.splits[i].Position = o.Offset }, d.stop)
}

// stop resolves where splits end: once, when they are first discovered.
func (d *discovery) stop() {
	var ask []int
	for i := range d.splits {
		if !d.k.Bounded {
			d.splits[i].Stop = -1
		} else if d.splits[i].Stop < 0 {
			ask = append(ask, i)
		}
	}
	end := func(i int, o kafka.ListedOffset) { d.splits[i].Stop = max(o.Offset, d.splits[i].Position) }
	d.list(ask, kafka.Latest, end, func() { d.done(d.splits, nil) })
}

// list asks for offsets of some splits and hands each answer to set.
func (d *discovery) list(ask []int, timestamp int64, set func(int, kafka.ListedOffset), next func()) {
	if len(ask) == 0 {
		next()
		return
	}
	parts := make([]id.TopicPartition, len(ask))
	for j, i := range ask {
		parts[j] = id.TopicPartition{Topic: d.splits[i].Topic, Partition: d.splits[i].Partition}
	}
	d.client.ListOffsets(parts, timestamp, d.k.isolation(), func(offsets []kafka.ListedOffset, err error) {
		if err != nil {
			d.done(nil, err)
			return
		}
		for j, i := range ask {
			set(i, offsets[j])
		}
		next()
	})
}
