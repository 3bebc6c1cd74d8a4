package simbroker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim"
)

// fetchWait is a fetch that found too little and waits for more.
type fetchWait struct {
	b     *Broker
	conn  *serverConn
	req   *kmsg.FetchRequest
	resp  *kmsg.FetchResponse // space for the answer
	reply func(kmsg.Response)
	timer env.Timer
	done  bool
}

// fetch answers at once when there is enough, or an error; otherwise when the visible end of a partition moves, or
// MaxWait has passed.
func (b *Broker) fetch(conn *serverConn, req *kmsg.FetchRequest, reply func(kmsg.Response)) {
	resp, enough := b.fetchNow(req, nil)
	if enough || req.MaxWaitMillis <= 0 {
		b.read(conn, req, resp, reply)
		return
	}
	f := &fetchWait{b: b, conn: conn, req: req, resp: resp, reply: reply}
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			if p := b.fetchPartition(req, t, t.Partitions[j].Partition); p != nil {
				p.enlist(f)
			}
		}
	}
	f.timer = b.loop.After(time.Duration(req.MaxWaitMillis)*time.Millisecond, func() {
		if !f.done {
			f.finish(f.b.fetchNow(f.req, f.resp))
		}
	})
}

// read answers with what there is. A leader notes the bounds of a log and then reads it (UnifiedLog.read); one fetch in
// sixteen hangs between the two, and tells the bounds of before with what was appended since: records above its own high
// watermark.
func (b *Broker) read(conn *serverConn, req *kmsg.FetchRequest, noted *kmsg.FetchResponse, reply func(kmsg.Response)) {
	drawn := b.c.draw(kindOvertaken, uint64(b.id), uint64(b.c.w.Now()), 0)
	if drawn&15 != 0 {
		reply(noted)
		return
	}
	b.loop.After(sim.Between(drawn, 0, overtaking), func() {
		if conn.closed {
			return
		}
		resp, _ := b.fetchNow(req, nil)
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				p, was := &resp.Topics[i].Partitions[j], &noted.Topics[i].Partitions[j]
				if p.ErrorCode == ok && was.ErrorCode == ok {
					p.HighWatermark, p.LastStableOffset, p.LogStartOffset = was.HighWatermark, was.LastStableOffset, was.LogStartOffset
				}
			}
		}
		reply(resp)
	})
}

// overtaking is how long a fetch hangs at most between bounds and records: a pause of the collector, mostly.
const overtaking = 10 * time.Millisecond

func (f *fetchWait) finish(resp *kmsg.FetchResponse, _ bool) {
	f.done = true
	f.timer.Stop()
	f.reply(resp)
}

func (b *Broker) fetchPartition(req *kmsg.FetchRequest, t *kmsg.FetchRequestTopic, num int32) *partition {
	if req.Version >= 13 {
		return b.partitionByID(t.TopicID, num)
	}
	return b.partition(t.Topic, num)
}

// enlist adds a waiting fetch and drops those that are done.
func (p *partition) enlist(f *fetchWait) {
	kept := p.waiters[:0]
	for _, w := range p.waiters {
		if !w.done {
			kept = append(kept, w)
		}
	}
	clear(p.waiters[len(kept):])
	p.waiters = append(kept, f)
}

// wake looks at the waiting fetches again, since something in the partition has changed.
func (p *partition) wake() {
	if len(p.waiters) == 0 {
		return
	}
	waiters := p.waiters
	p.waiters, p.woken = p.woken, nil // an answer can lead to a fetch that waits here, and to a write that wakes it
	for _, f := range waiters {
		switch {
		case f.done || !f.b.up() || f.b.loop.Closed() || f.conn.closed:
			f.done = true
		default:
			if resp, enough := f.b.fetchNow(f.req, f.resp); enough {
				f.finish(resp, true)
			} else {
				p.waiters = append(p.waiters, f)
			}
		}
	}
	clear(waiters)
	p.woken = waiters[:0]
}

// fetchAnswer is a response with room for the usual one.
type fetchAnswer struct {
	resp   kmsg.FetchResponse
	topics [1]kmsg.FetchResponseTopic
	parts  [2]kmsg.FetchResponseTopicPartition
}

// sized is n zero values, in the place of space if it is large enough.
func sized[T any](space []T, n int) []T {
	if n > cap(space) {
		return make([]T, n)
	}
	clear(space[:n])
	return space[:n]
}

// fetchNow is the answer as things stand, in the place of one that was not sent; enough tells whether it may be sent before
// the wait is over.
func (b *Broker) fetchNow(req *kmsg.FetchRequest, unsent *kmsg.FetchResponse) (resp *kmsg.FetchResponse, enough bool) {
	resp = unsent
	if resp == nil {
		a := b.c.answers.New()
		resp = &a.resp
		resp.Default()
		resp.Version = req.Version
		resp.Topics = sized(a.topics[:0], len(req.Topics))
		for i := range req.Topics {
			var space []kmsg.FetchResponseTopicPartition
			if i == 0 {
				space = a.parts[:0]
			}
			resp.Topics[i].Partitions = sized(space, len(req.Topics[i].Partitions))
		}
	}
	room, total := int(req.MaxBytes), 0
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for j := range t.Partitions {
			q, r := &t.Partitions[j], &rt.Partitions[j]
			*r = kmsg.FetchResponseTopicPartition{}
			r.Default()
			r.Partition, r.PreferredReadReplica = q.Partition, -1
			p := b.fetchPartition(req, t, q.Partition)
			if code := b.fetchOne(req, p, q, r, room-total, total == 0); code != ok {
				r.ErrorCode, enough = code, true
				r.HighWatermark, r.LastStableOffset, r.LogStartOffset = -1, -1, -1
			}
			total += len(r.RecordBatches)
		}
	}
	return resp, enough || total >= int(req.MinBytes) && total > 0 || req.MinBytes <= 0
}

func (b *Broker) fetchOne(req *kmsg.FetchRequest, p *partition, q *kmsg.FetchRequestTopicPartition,
	r *kmsg.FetchResponseTopicPartition, room int, first bool,
) int16 {
	switch {
	case p == nil && req.Version >= 13:
		return unknownTopicID
	case p == nil:
		return unknownTopicOrPartition
	case p.leader != b.id:
		if req.Version >= 12 {
			r.CurrentLeader.LeaderID, r.CurrentLeader.LeaderEpoch = p.leader, p.leaderEpoch
		}
		return notLeader
	case req.Version >= 9 && p.epochCode(q.CurrentLeaderEpoch) != ok:
		return p.epochCode(q.CurrentLeaderEpoch)
	case q.FetchOffset < p.log.start || q.FetchOffset > p.log.leo:
		return offsetOutOfRange
	}
	l, committed := p.log, req.IsolationLevel == 1
	limit := l.limit(committed)
	r.HighWatermark, r.LastStableOffset, r.LogStartOffset = l.hw, b.stable(l), l.start
	if committed {
		r.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	}
	if q.FetchOffset >= limit || room <= 0 && !first {
		return ok
	}
	data, end := l.read(q.FetchOffset, limit, min(room, int(q.PartitionMaxBytes)))
	if !first && len(data) > room {
		return ok
	}
	r.RecordBatches = data
	if committed && len(l.aborted) > 0 && len(data) > 0 {
		var space [8]abortedTxn
		for _, a := range l.abortedFor(space[:0], q.FetchOffset, end) {
			r.AbortedTransactions = append(r.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{
				ProducerID: a.pid, FirstOffset: a.first,
			})
		}
	}
	return ok
}
