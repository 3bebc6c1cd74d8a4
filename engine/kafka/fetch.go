package kafka

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// schedule runs pump soon, once.
func (f *Fetcher) schedule() {
	if f.posted || f.closed || f.err != nil || !f.client.feat.known {
		return
	}
	for _, p := range f.parts {
		if f.wants(p) {
			f.posted = true
			f.client.later(func() { f.posted = false; f.pump() })
			return
		}
	}
}

// wants reports whether a partition could be asked for.
func (f *Fetcher) wants(p *fetchPart) bool {
	if p.busy || p.held || p.ended() || p.lost && len(p.chunks) > 0 {
		return false
	}
	return p.bytes < f.cfg.BufferBytes && !(p.split.Stop >= 0 && p.next >= p.split.Stop)
}

// pump asks each leader that is not being asked for the partitions that want more.
func (f *Fetcher) pump() {
	if f.closed || f.err != nil || len(f.parts) == 0 {
		return
	}
	asks := f.asks[:0]
	full := false
	f.turn++
	for i := range f.parts {
		p := f.parts[(i+f.turn)%len(f.parts)]
		full = full || p.bytes >= f.cfg.BufferBytes
		if !f.wants(p) {
			continue
		}
		if p.lost {
			f.outOfRange(p)
			continue
		}
		node, epoch, ok := f.client.cluster.leader(p.tp)
		if !ok {
			f.hold(p, LeaderNotAvailable, nil)
			continue
		}
		if !f.sameTopic(p) {
			return
		}
		if slices.Contains(f.busy, node) {
			continue
		}
		asks = addAsk(asks, node, epoch, p)
	}
	for _, a := range asks {
		f.fetch(a, full)
	}
	clear(asks)
	f.asks = asks
}

// fetchAsk is one request under construction: the partitions of one leader.
type fetchAsk struct {
	node  int32
	parts []*fetchPart
}

// addAsk adds a partition to the request to its leader. One that must be asked for alone has it for itself.
func addAsk(asks []fetchAsk, node, epoch int32, p *fetchPart) []fetchAsk {
	for i := range asks {
		if asks[i].node != node {
			continue
		}
		if !asks[i].parts[0].solo && !p.solo {
			p.epoch = epoch
			asks[i].parts = append(asks[i].parts, p)
		}
		return asks
	}
	p.epoch = epoch
	return append(asks, fetchAsk{node, []*fetchPart{p}})
}

// sameTopic fails the fetcher when a topic was deleted and created again: its offsets mean other records now.
func (f *Fetcher) sameTopic(p *fetchPart) bool {
	topicID := f.client.cluster.topics[p.tp.Topic].ID
	if !p.seen {
		p.topicID, p.seen = topicID, true
	}
	if p.topicID != topicID {
		f.fail(fmt.Errorf("topic %s was deleted and created again while it was read", p.tp.Topic))
		return false
	}
	return true
}

// fetchCall is a request under way, with room for the usual one.
type fetchCall struct {
	req        kmsg.FetchRequest
	topics     [1]kmsg.FetchRequestTopic
	partitions [2]kmsg.FetchRequestTopicPartition // of the first topic
}

func (f *Fetcher) fetch(a fetchAsk, full bool) {
	wait := f.cfg.MaxWait
	if full {
		wait = min(wait, shortWait)
	}
	// Half of the answer is left free, so that it is never full before a partition is: see fetchSlack.
	share := max(f.cfg.MaxBytes/int32(2*len(a.parts)), 1)
	c := new(fetchCall)
	req := &c.req
	fillFetch(req, f.cfg.Isolation, int32(wait/time.Millisecond), f.cfg.MaxBytes)
	req.Topics = c.topics[:0]
	for i, p := range a.parts {
		p.busy, p.got = true, false
		at := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == p.tp.Topic })
		if at < 0 {
			t := kmsg.NewFetchRequestTopic()
			t.Topic = p.tp.Topic
			at = len(req.Topics)
			if t.Partitions = c.partitions[:0]; at > 0 || len(a.parts) > len(c.partitions) {
				t.Partitions = make([]kmsg.FetchRequestTopicPartition, 0, len(a.parts)-i)
			}
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[at]
		t.Partitions = append(t.Partitions, fetchPartition(p.tp.Partition, p.epoch, p.next, p.most(share)))
	}
	if err := f.client.pin(req, fetchVersion); err != nil {
		f.fail(err)
		return
	}
	f.busy = append(f.busy, a.node)
	f.client.send(broker.Fetch, a.node, req, wait, func(r kmsg.Response, err error) {
		f.busy = slices.DeleteFunc(f.busy, func(n int32) bool { return n == a.node })
		for _, p := range a.parts {
			p.busy = false
		}
		if f.closed {
			return
		}
		code := OK
		if err == nil {
			code = Code(r.(*kmsg.FetchResponse).ErrorCode)
		}
		if err != nil || code != OK {
			for _, p := range a.parts {
				f.hold(p, code, err)
			}
		} else {
			f.take(a, r.(*kmsg.FetchResponse))
		}
		f.pump()
		if f.news && f.waiting {
			f.waiting = false
			f.tell() // nobody is in the middle of a call
		}
		f.news = false
	})
}

// most is how much to ask for: the partition's share, or more after a batch that was larger.
func (p *fetchPart) most(share int32) int32 {
	if p.max > p.usual {
		return p.max
	}
	return min(p.max, share)
}

// take keeps what came and wakes the reader.
func (f *Fetcher) take(a fetchAsk, resp *kmsg.FetchResponse) {
	for ti := range resp.Topics {
		t := &resp.Topics[ti]
		for pi := range t.Partitions {
			tp := id.TopicPartition{Topic: t.Topic, Partition: t.Partitions[pi].Partition}
			at := slices.IndexFunc(a.parts, func(p *fetchPart) bool { return p.tp == tp })
			if at >= 0 && !a.parts[at].got {
				a.parts[at].got = true
				f.takePart(a.parts[at], &t.Partitions[pi], resp.ThrottleMillis > 0)
			}
		}
	}
	for _, p := range a.parts {
		if !p.got {
			f.hold(p, UnknownServerError, nil)
		}
	}
}

func (f *Fetcher) takePart(p *fetchPart, resp *kmsg.FetchResponseTopicPartition, throttled bool) {
	switch code := Code(resp.ErrorCode); code {
	case OK:
	case OffsetOutOfRange:
		p.lost = true
		return
	default:
		f.hold(p, code, nil)
		return
	}
	p.try, p.missing = 0, 0
	p.stable = resp.LastStableOffset
	if f.cfg.Isolation == ReadUncommitted || p.stable < 0 {
		p.stable = resp.HighWatermark
	}
	rest, next := resp.RecordBatches, p.next
	for {
		batch, tail, ok := cutBatch(rest)
		if !ok {
			break
		}
		next, rest = max(next, batchLast(batch)+1), tail
	}
	whole := resp.RecordBatches[:len(resp.RecordBatches)-len(rest)]
	switch {
	case len(whole) > 0:
		p.chunks = append(p.chunks, chunk{rest: whole, aborted: newAbortedList(resp.AbortedTransactions)})
		p.bytes += len(whole)
		p.next, p.solo, p.max = next, false, f.cfg.PartitionMaxBytes
		f.news = true
	case len(rest) > 0:
		p.max = min(p.max, 1<<29) * 2 // the first batch is larger than was asked for
	case p.split.Stop >= 0 && p.stable >= p.split.Stop && !throttled:
		f.emptyTail(p)
	}
}

// emptyTail handles an empty answer below the stop. Other partitions may have used up the answer; asked for alone it says
// that nothing is left there, as compaction can do, and the split has ended.
func (f *Fetcher) emptyTail(p *fetchPart) {
	if !p.solo {
		p.solo = true
		return
	}
	p.next = p.split.Stop
	f.stop(p)
	f.news = true
}

// hold lets a partition rest before the next try, and refreshes the view.
func (f *Fetcher) hold(p *fetchPart, code Code, err error) {
	if err == nil && !fetchRepeats(code) {
		f.fail(fmt.Errorf("fetch of %s at offset %d: %w", p.tp, p.next, code))
		return
	}
	if p.held {
		return
	}
	p.held = true
	f.client.cfg.Process.Reached(fetchRepeated)
	pause := f.client.pause(p.tp.Topic, p.try)
	f.client.cfg.Loop.After(pause, func() {
		if f.closed || f.client.closed {
			return
		}
		f.client.cluster.refresh(func(err error) {
			p.held = false
			if err == nil && f.gone(p, pause) {
				return
			}
			f.pump()
		})
	})
	p.try++
}

// gone fails the fetcher when the cluster has long said that the partition does not exist.
func (f *Fetcher) gone(p *fetchPart, pause time.Duration) bool {
	if _, known := f.client.cluster.partition(p.tp); known && f.client.cluster.topics[p.tp.Topic].Code != UnknownTopicOrPartition {
		return false
	}
	if p.missing += pause; p.missing < f.client.cfg.ReadTimeout {
		return false
	}
	f.fail(fmt.Errorf("partition %s does not exist", p.tp))
	return true
}

// fetchRepeats lists the codes after which a fetch is repeated for as long as it takes; the source waits meanwhile.
func fetchRepeats(code Code) bool {
	switch code {
	case OK, UnknownServerError, CorruptMessage, InconsistentTopicID:
		return true
	}
	class := code.Class()
	return class == Retry || class == RefreshLeader
}

// outOfRange asks for the span of the log and lets the policy decide. A position inside of it was answered by a leader
// that is none any more: the fetch is repeated.
func (f *Fetcher) outOfRange(p *fetchPart) {
	p.held = true
	parts := []id.TopicPartition{p.tp}
	failed := func(err error) bool {
		if err != nil {
			f.fail(fmt.Errorf("position %d of %s is out of range: %w", p.next, p.tp, err))
		}
		return err != nil || f.closed
	}
	f.client.ListOffsets(parts, Earliest, ReadUncommitted, func(start []ListedOffset, err error) {
		if failed(err) {
			return
		}
		f.client.ListOffsets(parts, Latest, ReadUncommitted, func(end []ListedOffset, err error) {
			if failed(err) {
				return
			}
			f.resolveRange(p, start[0].Offset, end[0].Offset)
		})
	})
}

func (f *Fetcher) resolveRange(p *fetchPart, start, end int64) {
	p.held, p.lost = false, false
	if p.next >= start && p.next <= end {
		f.hold(p, OK, nil)
		return
	}
	if f.cfg.OutOfRange == nil {
		f.fail(fmt.Errorf("position %d of %s is out of range: the log spans %d to %d, and records in between are gone", p.next, p.tp, start, end))
		return
	}
	position, err := f.cfg.OutOfRange(p.split, start, end)
	if err != nil {
		f.fail(err)
		return
	}
	f.client.cfg.Process.Log("position %d of %s is out of range %d to %d: going on at %d", p.next, p.tp, start, end, position)
	p.split.Position, p.next = position, position
	f.pump()
}
