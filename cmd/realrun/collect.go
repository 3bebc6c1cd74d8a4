package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/checker"
)

// stuck is how long a reader may see nothing new before it gives up.
const stuck = 15 * time.Second

// collector gathers the evidence about a job's topics: the broker's truth, read uncommitted with the control records, and what
// a read_committed reader sees. Each round goes on where the one before ended.
type collector struct {
	cluster cluster
	oracle  checker.Oracle
	h       *checker.History
	topics  []string // by index in the history
	reader  int16
	began   time.Time

	parts []*partition
	of    map[string][]*partition // by topic
}

// partition is how far one partition has been read.
type partition struct {
	topic   int16
	name    string
	number  int32
	output  bool
	start   int64
	stable  int64
	high    int64
	truth   int64 // next offset to read uncommitted
	read    int64 // next offset to read committed
	visible int64 // the last offset below stable that a reader must see; -1: none
	open    []openRecord
}

// openRecord is a record whose transaction has no end marker yet.
type openRecord struct {
	producer int64
	record   int // index into the history's Records
}

func newCollector(k cluster, oracle checker.Oracle) *collector {
	c := &collector{cluster: k, oracle: oracle, h: checker.NewHistory(), of: map[string][]*partition{}, began: time.Now()}
	c.reader = c.h.AddReader("realrun verify", true)
	return c
}

func (c *collector) add(name string, role checker.Role, partitions int32) {
	t := c.h.AddTopic(name, role, partitions)
	c.topics = append(c.topics, name)
	for n := range partitions {
		p := &partition{topic: t, name: name, number: n, output: role == checker.Output, truth: -1, read: -1, visible: -1}
		c.parts = append(c.parts, p)
		c.of[name] = append(c.of[name], p)
	}
}

// round reads on to the present ends. Outputs' ends are asked for before inputs', so that everything that an output was made
// from is there; stable offsets before high watermarks, so that the end markers of what is stable are.
func (c *collector) round(ctx context.Context) error {
	cl, err := c.cluster.witness(ctx)
	if err != nil {
		return err
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	for _, outputs := range []bool{true, false} {
		if err := c.ends(ctx, admin, outputs); err != nil {
			return err
		}
	}
	if err := c.readTruth(ctx); err != nil {
		return err
	}
	c.decideStable()
	if err := c.readCommitted(ctx); err != nil {
		return err
	}
	c.h.Partitions = c.h.Partitions[:0]
	for _, p := range c.parts {
		c.h.Partitions = append(c.h.Partitions, checker.Partition{Topic: p.topic, Partition: p.number, Start: p.start, Stable: p.stable, High: p.high})
	}
	return nil
}

func (c *collector) ends(ctx context.Context, admin *kadm.Client, outputs bool) error {
	for i, name := range c.topics {
		if (c.h.Topics[i].Role == checker.Output) != outputs {
			continue
		}
		for _, ask := range []struct {
			list func(context.Context, ...string) (kadm.ListedOffsets, error)
			set  func(*partition, int64)
		}{
			{admin.ListStartOffsets, func(p *partition, o int64) { p.start = o }},
			{admin.ListCommittedOffsets, func(p *partition, o int64) { p.stable = o }},
			{admin.ListEndOffsets, func(p *partition, o int64) { p.high = o }},
		} {
			offsets, err := ask.list(ctx, name)
			if err == nil {
				err = offsets.Error()
			}
			if err != nil {
				return fmt.Errorf("offsets of %s: %w", name, err)
			}
			for _, p := range c.of[name] {
				o, ok := offsets.Lookup(name, p.number)
				if !ok {
					return fmt.Errorf("no offset of %s/%d", name, p.number)
				}
				ask.set(p, o.Offset)
			}
		}
	}
	for _, p := range c.parts {
		if p.truth < 0 {
			p.truth, p.read = p.start, p.start
		}
	}
	return nil
}

// consume reads from next up to end of each partition. Every record that is delivered is handed to take.
func (c *collector) consume(ctx context.Context, what string, next, end func(*partition) int64, take func(*partition, *kgo.Record), opts ...kgo.Opt) error {
	from := map[string]map[int32]kgo.Offset{}
	missing := 0
	for _, p := range c.parts {
		if next(p) >= end(p) {
			continue
		}
		if from[p.name] == nil {
			from[p.name] = map[int32]kgo.Offset{}
		}
		from[p.name][p.number] = kgo.NewOffset().At(next(p))
		missing++
	}
	if missing == 0 {
		return nil
	}
	cl, err := c.cluster.witness(ctx, append(opts, kgo.ConsumePartitions(from), kgo.FetchMaxPartitionBytes(4<<20))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for missing > 0 {
		wait, cancel := context.WithTimeout(ctx, stuck)
		fetches := cl.PollFetches(wait)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range fetches.Errors() {
			if wait.Err() != nil && e.Topic == "" {
				continue
			}
			return fmt.Errorf("%s of %s/%d: %w", what, e.Topic, e.Partition, e.Err)
		}
		got := 0
		fetches.EachRecord(func(r *kgo.Record) {
			p := c.of[r.Topic][r.Partition]
			if next(p) >= end(p) || r.Offset < next(p) {
				return
			}
			got++
			take(p, r)
			if next(p) >= end(p) {
				missing--
			}
		})
		if got == 0 && wait.Err() != nil {
			return c.behind(what, next, end)
		}
	}
	return nil
}

func (c *collector) behind(what string, next, end func(*partition) int64) error {
	for _, p := range c.parts {
		if next(p) < end(p) {
			return fmt.Errorf("%s of %s/%d stands at offset %d for %v, and the end is %d", what, p.name, p.number, next(p), stuck, end(p))
		}
	}
	return nil
}

// readTruth reads everything that is in the logs, control records included.
func (c *collector) readTruth(ctx context.Context) error {
	return c.consume(ctx, "reading uncommitted",
		func(p *partition) int64 { return p.truth }, func(p *partition) int64 { return p.high },
		func(p *partition, r *kgo.Record) {
			p.truth = r.Offset + 1
			if r.Attrs.IsControl() {
				c.control(p, r)
				return
			}
			c.record(p, r)
		}, kgo.FetchIsolationLevel(kgo.ReadUncommitted()), kgo.KeepControlRecords())
}

func (c *collector) record(p *partition, r *kgo.Record) {
	rec := checker.Record{Topic: p.topic, Partition: p.number, Offset: r.Offset, ProducerID: r.ProducerID, ProducerEpoch: r.ProducerEpoch}
	rec.Event = c.h.Decode(c.oracle, p.topic, r.Key, r.Value)
	if r.Attrs.IsTransactional() {
		rec.Outcome = checker.Open
		p.open = append(p.open, openRecord{r.ProducerID, len(c.h.Records)})
	}
	c.h.Records = append(c.h.Records, rec)
}

// control is an end marker: it decides all records of its producer id before it.
func (c *collector) control(p *partition, r *kgo.Record) {
	if len(r.Key) < 4 {
		return
	}
	kind := binary.BigEndian.Uint16(r.Key[2:])
	if kind > 1 {
		return
	}
	c.h.Controls = append(c.h.Controls, checker.Control{
		Topic: p.topic, Partition: p.number, Offset: r.Offset, ProducerID: r.ProducerID,
		ProducerEpoch: r.ProducerEpoch, Commit: kind == 1,
	})
	rest := p.open[:0]
	for _, o := range p.open {
		switch {
		case o.producer != r.ProducerID:
			rest = append(rest, o)
		case kind == 1:
			c.h.Records[o.record].Outcome = checker.Committed
		default:
			c.h.Records[o.record].Outcome = checker.Aborted
		}
	}
	p.open = rest
}

// decideStable takes records below the stable offset that have no end marker as aborted. A real broker has none such; the embedded
// one aborts what was open when it was killed without writing a marker. A reader that saw one all the same convicts.
func (c *collector) decideStable() {
	for _, p := range c.parts {
		rest := p.open[:0]
		for _, o := range p.open {
			if r := &c.h.Records[o.record]; r.Offset < p.stable {
				r.Outcome = checker.Aborted
			} else {
				rest = append(rest, o)
			}
		}
		p.open = rest
	}
}

// readCommitted reads the outputs as any consumer would, up to the stable offsets. The truth tells which record is the last
// that it must see: behind it there may be offsets that no reader is shown.
func (c *collector) readCommitted(ctx context.Context) error {
	for i := range c.h.Records {
		r := &c.h.Records[i]
		if p := c.of[c.topics[r.Topic]][r.Partition]; r.Outcome == checker.Plain || r.Outcome == checker.Committed {
			if r.Offset < p.stable {
				p.visible = max(p.visible, r.Offset)
			}
		}
	}
	return c.consume(ctx, "reading committed",
		func(p *partition) int64 { return p.read },
		func(p *partition) int64 {
			if !p.output {
				return 0
			}
			return p.visible + 1
		},
		func(p *partition, r *kgo.Record) {
			p.read = r.Offset + 1
			read := checker.Read{Reader: c.reader, Topic: p.topic, Partition: p.number, Offset: r.Offset, At: int64(time.Since(c.began))}
			read.Event = c.h.Decode(c.oracle, p.topic, r.Key, r.Value)
			c.h.Reads = append(c.h.Reads, read)
		}, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
}

// transactions asks for what is open on the output partitions. owner is who will end it; empty for nobody.
func (c *collector) transactions(ctx context.Context, owner string) error {
	cl, err := c.cluster.witness(ctx)
	if err != nil {
		return err
	}
	defer cl.Close()
	set := kadm.TopicsSet{}
	for _, p := range c.parts {
		if p.output {
			set.Add(p.name, p.number)
		}
	}
	described, err := kadm.NewClient(cl).DescribeProducers(ctx, set)
	if err != nil {
		return fmt.Errorf("describe producers: %w", err)
	}
	c.h.Transactions = c.h.Transactions[:0]
	for _, p := range described.SortedPartitions() {
		if p.Err != nil {
			return fmt.Errorf("producers of %s/%d: %w", p.Topic, p.Partition, p.Err)
		}
		for _, d := range p.ActiveProducers.Sorted() {
			if d.CurrentTxnStartOffset >= 0 {
				c.h.Transactions = append(c.h.Transactions, checker.OpenTransaction{
					Topic: c.h.TopicIndex(p.Topic), Partition: p.Partition,
					ProducerID: d.ProducerID, ProducerEpoch: d.ProducerEpoch, First: d.CurrentTxnStartOffset, Owner: owner,
				})
			}
		}
	}
	return nil
}
