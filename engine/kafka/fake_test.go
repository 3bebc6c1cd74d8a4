package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/trace"
)

// fakeLoop is a loop in virtual time that also plays the brokers: each request is handed to script and answered after a
// millisecond.
type fakeLoop struct {
	t       testing.TB
	now     env.Instant
	order   int
	queue   []event
	cluster *fakeCluster
	sent    []string // one line per request
}

type event struct {
	at    env.Instant
	order int
	fn    func()
	off   *bool
}

type fakeTimer struct{ off *bool }

func (t fakeTimer) Stop() bool { was := !*t.off; *t.off = true; return was }

func (l *fakeLoop) Post(fn func()) { l.After(0, fn) }
func (l *fakeLoop) After(d time.Duration, fn func()) env.Timer {
	l.order++
	off := new(bool)
	l.queue = append(l.queue, event{l.now.Add(d), l.order, fn, off})
	return fakeTimer{off}
}
func (l *fakeLoop) Spend(time.Duration) {}
func (l *fakeLoop) OnClose(func())      {}
func (l *fakeLoop) Close()              {}
func (l *fakeLoop) Now() env.Instant    { return l.now }
func (l *fakeLoop) Wall() time.Time     { return time.UnixMilli(int64(l.now) / 1e6) }
func (l *fakeLoop) Draw(kind env.Kind, a, b, c uint64) uint64 {
	return uint64(kind)*31 + a*7 + b*13 + c*101
}
func (l *fakeLoop) Hook(hook.Event)                                  {}
func (l *fakeLoop) Reached(probe.Probe)                              {}
func (l *fakeLoop) Entry(trace.Kind, uint64, uint64, uint64, uint64) {}
func (l *fakeLoop) Log(string, ...any)                               {}

// run runs until cond holds; it fails the test when nothing is left to do or a virtual hour has passed.
func (l *fakeLoop) run(cond func() bool) {
	l.t.Helper()
	for !cond() {
		if len(l.queue) == 0 || l.now > env.Instant(time.Hour) {
			l.t.Fatalf("nothing more happens at %s; sent:\n%s", time.Duration(l.now), l.tail())
		}
		l.step()
	}
}

// step runs the next event.
func (l *fakeLoop) step() {
	next := 0
	for i, e := range l.queue {
		if n := l.queue[next]; e.at < n.at || e.at == n.at && e.order < n.order {
			next = i
		}
	}
	e := l.queue[next]
	l.queue = slices.Delete(l.queue, next, next+1)
	if *e.off {
		return
	}
	l.now = max(l.now, e.at)
	*e.off = true
	e.fn()
}

// idle runs until nothing is left to do.
func (l *fakeLoop) idle() {
	for len(l.queue) > 0 {
		l.step()
	}
}

func (l *fakeLoop) tail() (s string) {
	for _, line := range l.sent[max(0, len(l.sent)-20):] {
		s += line + "\n"
	}
	return s
}

// count is how many requests of a kind were sent.
func (l *fakeLoop) count(name string) (n int) {
	for _, line := range l.sent {
		if strings.HasPrefix(line, name) {
			n++
		}
	}
	return n
}

// Send plays the port.
func (l *fakeLoop) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	l.sent = append(l.sent, fmt.Sprintf("%s v%d to %d", kmsg.NameForKey(req.Key()), req.GetVersion(), node))
	l.After(time.Millisecond, func() {
		resp, err := l.cluster.answer(node, req)
		if resp == nil && err == nil {
			return // lost for ever
		}
		done(resp, err)
	})
}

func (l *fakeLoop) SendBoth(node int32, a, b kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	l.sent = append(l.sent, fmt.Sprintf("%s v%d + %s v%d to %d", kmsg.NameForKey(a.Key()), a.GetVersion(), kmsg.NameForKey(b.Key()), b.GetVersion(), node))
	l.After(time.Millisecond, func() {
		x, err := l.cluster.answer(node, a)
		y, err2 := l.cluster.answer(node, b)
		done(x, y, errors.Join(err, err2))
	})
}

// fakeCluster is topics whose partitions are logs, and a script that may answer first.
type fakeCluster struct {
	logs        []*fakeLog // of topic "t", by partition
	topicID     byte
	coordinator int32
	txnVersion  int16
	lag         map[int32]bool                                            // nodes that show old metadata
	script      func(node int32, req kmsg.Request) (kmsg.Response, error) // nil, nil: not scripted
	silent      func(node int32, req kmsg.Request) bool                   // processed, but the answer is lost
}

type fakeLog struct {
	leader, epoch int32
	start, next   int64
	batches       [][]byte
	lastSeq       int32
	lastBase      int64
	open          []AbortedTxn // open transactions
	aborted       []abortedRange
	appendTime    int64
}

type abortedRange struct {
	pid, first, marker int64
}

func newFake(t testing.TB, partitions int) (*fakeLoop, *Client) {
	l := &fakeLoop{t: t, cluster: &fakeCluster{coordinator: 1, txnVersion: 2, lag: map[int32]bool{}}}
	for i := range partitions {
		l.cluster.logs = append(l.cluster.logs, &fakeLog{leader: int32(1 + i%2), epoch: 1, lastSeq: -1, appendTime: -1})
	}
	p := &proc.Process{Clock: l, Rand: l, Observer: l, Nonce: 1, Broker: func(env.Loop, broker.Class) broker.Requests { return l }}
	return l, New(Config{Process: p, Loop: l})
}

func (c *fakeCluster) answer(node int32, req kmsg.Request) (kmsg.Response, error) {
	if c.script != nil {
		if resp, err := c.script(node, req); resp != nil || err != nil {
			return resp, err
		}
	}
	resp := c.process(node, req)
	if c.silent != nil && c.silent(node, req) {
		return nil, nil
	}
	return resp, nil
}

func (c *fakeCluster) process(node int32, r kmsg.Request) kmsg.Response {
	resp := r.ResponseKind()
	switch req := r.(type) {
	case *kmsg.ApiVersionsRequest:
		resp := resp.(*kmsg.ApiVersionsResponse)
		for key := int16(0); key < 90; key++ {
			resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: 99})
		}
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{Name: "transaction.version", MaxVersionLevel: c.txnVersion})
	case *kmsg.MetadataRequest:
		c.metadata(node, req, resp.(*kmsg.MetadataResponse))
	case *kmsg.FindCoordinatorRequest:
		resp := resp.(*kmsg.FindCoordinatorResponse)
		resp.Coordinators = append(resp.Coordinators, kmsg.FindCoordinatorResponseCoordinator{Key: req.CoordinatorKeys[0], NodeID: c.coordinator})
	case *kmsg.ProduceRequest:
		c.produce(node, req, resp.(*kmsg.ProduceResponse))
	case *kmsg.FetchRequest:
		c.fetch(node, req, resp.(*kmsg.FetchResponse))
	case *kmsg.ListOffsetsRequest:
		c.listOffsets(req, resp.(*kmsg.ListOffsetsResponse))
	case *kmsg.AddPartitionsToTxnRequest:
		resp := resp.(*kmsg.AddPartitionsToTxnResponse)
		for _, t := range req.Topics {
			x := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				x.Partitions = append(x.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p})
			}
			resp.Topics = append(resp.Topics, x)
		}
	}
	return resp
}

func (c *fakeCluster) metadata(node int32, req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	resp.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 2}, {NodeID: 1}}
	resp.ControllerID = 2
	for _, t := range req.Topics {
		x := kmsg.MetadataResponseTopic{Topic: t.Topic, TopicID: [16]byte{c.topicID}}
		if *t.Topic != "t" {
			x.ErrorCode, x.TopicID = int16(UnknownTopicOrPartition), [16]byte{}
		} else {
			for i, l := range c.logs {
				leader, epoch := l.leader, l.epoch
				if c.lag[node] {
					leader, epoch = 3-leader, epoch-1
				}
				x.Partitions = append(x.Partitions, kmsg.MetadataResponseTopicPartition{Partition: int32(i), Leader: leader, LeaderEpoch: epoch})
			}
		}
		resp.Topics = append(resp.Topics, x)
	}
}

func (c *fakeCluster) produce(node int32, req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	for _, t := range req.Topics {
		x := kmsg.ProduceResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			l := c.logs[p.Partition]
			y := kmsg.ProduceResponseTopicPartition{Partition: p.Partition, LogAppendTime: l.appendTime}
			if l.leader != node {
				y.ErrorCode = int16(NotLeaderOrFollower)
			} else {
				known := len(l.batches)
				var code Code
				y.BaseOffset, code = l.append(p.Records)
				if y.ErrorCode = int16(code); code == OK && len(l.batches) == known {
					// To a repeat Kafka tells the batch's own time, whatever the topic's setting.
					y.LogAppendTime = int64(binary.BigEndian.Uint64(l.batchAt(y.BaseOffset)[35:]))
				}
			}
			x.Partitions = append(x.Partitions, y)
		}
		resp.Topics = append(resp.Topics, x)
	}
}

// append appends a produced batch once, by its sequence.
func (l *fakeLog) append(raw []byte) (int64, Code) {
	b, err := parseBatch(raw)
	if err != nil {
		return -1, CorruptMessage
	}
	last := b.BaseSequence + b.Count - 1
	if last == l.lastSeq {
		return l.lastBase, OK
	}
	if l.lastSeq >= 0 && b.BaseSequence != l.lastSeq+1 {
		return -1, OutOfOrderSequence
	}
	l.lastSeq, l.lastBase = last, l.next
	l.store(raw)
	return l.lastBase, OK
}

func (l *fakeLog) batchAt(base int64) []byte {
	i := slices.IndexFunc(l.batches, func(b []byte) bool { return int64(binary.BigEndian.Uint64(b)) == base })
	return l.batches[i]
}

// store puts a batch at the end of the log.
func (l *fakeLog) store(raw []byte) {
	raw = slices.Clone(raw)
	binary.BigEndian.PutUint64(raw, uint64(l.next))
	if l.appendTime >= 0 {
		raw[attributesAt+1] |= attrLogAppendTime
		binary.BigEndian.PutUint64(raw[35:], uint64(l.appendTime))
		binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[attributesAt:], castagnoli))
	}
	l.batches = append(l.batches, raw)
	l.next = batchLast(raw) + 1
}

// marker ends a transaction of a producer.
func (l *fakeLog) marker(pid int64, commit bool) {
	var b builder
	b.reset(nil)
	key := []byte{0, 0, 0, 0}
	if commit {
		key[3] = 1
	}
	b.append(key, []byte{0, 0, 0, 0, 0, 0}, nil, 1)
	sealBatch(b.buf, &b, Identity{TransactionalID: "x", ProducerID: pid}, -1, NoCompression)
	b.buf[attributesAt+1] |= attrControl
	binary.BigEndian.PutUint32(b.buf[crcAt:], crc32.Checksum(b.buf[attributesAt:], castagnoli))
	for i, o := range l.open {
		if o.ProducerID == pid {
			if !commit {
				l.aborted = append(l.aborted, abortedRange{pid, o.First, l.next})
			}
			l.open = slices.Delete(l.open, i, i+1)
			break
		}
	}
	l.store(b.buf)
}

// transact appends records of a transaction of a producer.
func (l *fakeLog) transact(pid int64, raw []byte) {
	if !slices.ContainsFunc(l.open, func(o AbortedTxn) bool { return o.ProducerID == pid }) {
		l.open = append(l.open, AbortedTxn{pid, l.next})
	}
	l.store(raw)
}

func (l *fakeLog) stable() int64 {
	s := l.next
	for _, o := range l.open {
		s = min(s, o.First)
	}
	return s
}

func (c *fakeCluster) fetch(node int32, req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	for _, t := range req.Topics {
		x := kmsg.FetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			l := c.logs[p.Partition]
			y := kmsg.FetchResponseTopicPartition{Partition: p.Partition, HighWatermark: l.next, LastStableOffset: l.stable(), LogStartOffset: l.start}
			limit := l.next
			if req.IsolationLevel == 1 {
				limit = l.stable()
			}
			switch {
			case l.leader != node:
				y.ErrorCode = int16(NotLeaderOrFollower)
			case p.FetchOffset < l.start || p.FetchOffset > l.next:
				y.ErrorCode = int16(OffsetOutOfRange)
			default:
				y.RecordBatches = l.read(p.FetchOffset, limit, int(p.PartitionMaxBytes))
				for _, a := range l.aborted {
					if a.marker >= p.FetchOffset && a.first < limit {
						y.AbortedTransactions = append(y.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.pid, FirstOffset: a.first})
					}
				}
			}
			x.Partitions = append(x.Partitions, y)
		}
		resp.Topics = append(resp.Topics, x)
	}
}

// read returns at least one whole batch and cuts behind max bytes.
func (l *fakeLog) read(offset, limit int64, most int) (out []byte) {
	for _, b := range l.batches {
		if batchLast(b) < offset || int64(binary.BigEndian.Uint64(b)) >= limit {
			continue
		}
		if len(out) > 0 && len(out)+len(b) > most {
			return append(out, b[:max(0, min(len(b), most-len(out)))]...)
		}
		out = append(out, b...)
	}
	return out
}

func (c *fakeCluster) listOffsets(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for _, t := range req.Topics {
		x := kmsg.ListOffsetsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			l := c.logs[p.Partition]
			offset := l.start
			if p.Timestamp == Latest {
				if offset = l.next; req.IsolationLevel == 1 {
					offset = l.stable()
				}
			}
			x.Partitions = append(x.Partitions, kmsg.ListOffsetsResponseTopicPartition{Partition: p.Partition, Offset: offset})
		}
		resp.Topics = append(resp.Topics, x)
	}
}
