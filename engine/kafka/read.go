package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
)

// Isolation chooses what a read sees.
type Isolation int8

// The two isolation levels.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Symbolic timestamps of ListOffsets.
const (
	Latest   int64 = -1 // high watermark, or last stable offset with ReadCommitted
	Earliest int64 = -2
)

// ListedOffset is the answer of ListOffsets for one partition. Offset -1: no record at or after the timestamp.
type ListedOffset struct {
	id.TopicPartition
	Offset, Timestamp int64
	LeaderEpoch       int32
	Code              Code
}

const (
	listOffsetsVersion = 7
	fetchVersion       = 12
)

// ListOffsets asks the leaders for offsets at a timestamp (or Earliest, Latest), repeated until ReadTimeout. The answer is
// in the order of parts. A partition that stays unknown ends it with an error as well.
func (c *Client) ListOffsets(parts []id.TopicPartition, timestamp int64, isolation Isolation, done func([]ListedOffset, error)) {
	l := &offsetList{c: c, timestamp: timestamp, isolation: isolation, out: make([]ListedOffset, len(parts)), missing: make([]bool, len(parts))}
	for i, tp := range parts {
		c.cluster.want(tp.Topic)
		l.out[i] = ListedOffset{TopicPartition: tp, Offset: -1}
		l.missing[i] = true
	}
	c.later(func() {
		c.repeat("list offsets", c.cfg.ReadTimeout, func(again func(error)) {
			c.withLeaders(parts, again, func() { l.ask(func() { done(l.out, nil) }, again) })
		}, func(err error) { done(nil, err) })
	})
}

// offsetList is an answer of ListOffsets that grows try by try.
type offsetList struct {
	c         *Client
	timestamp int64
	isolation Isolation
	out       []ListedOffset
	missing   []bool // of out: not answered yet
}

// ask asks the leaders of all that is missing.
func (l *offsetList) ask(done func(), again func(error)) {
	var ask []id.TopicPartition
	for i, m := range l.missing {
		if m {
			ask = append(ask, l.out[i].TopicPartition)
		}
	}
	groups, lost := l.c.cluster.byLeader(ask)
	var trouble error
	if len(lost) > 0 {
		trouble = fmt.Errorf("partition %s: %w", lost[0], LeaderNotAvailable)
	}
	left := len(groups) + 1
	finish := func(err error) {
		if err != nil {
			trouble = err
		}
		if left--; left > 0 {
			return
		}
		if trouble == nil {
			done()
			return
		}
		again(trouble)
	}
	for _, g := range groups {
		l.c.listOffsets(g, l.timestamp, l.isolation, func(answers []ListedOffset, err error) {
			if e := l.take(answers); e != nil {
				err = e
			}
			finish(err)
		})
	}
	finish(nil)
}

// take puts answers into their places; its error is the last refusal among them.
func (l *offsetList) take(answers []ListedOffset) (err error) {
	for _, a := range answers {
		if a.Code != OK {
			err = fmt.Errorf("partition %s: %w", a.TopicPartition, a.Code)
			l.c.misled(a.TopicPartition, a.Code, nil)
			continue
		}
		for i := range l.out {
			if l.out[i].TopicPartition == a.TopicPartition {
				l.out[i], l.missing[i] = a, false
			}
		}
	}
	return err
}

func (c *Client) listOffsets(g byNode, timestamp int64, isolation Isolation, done func([]ListedOffset, error)) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, int8(isolation)
	asked := 0
	for _, run := range byTopic(g.parts) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = run[0].Topic
		for _, tp := range run {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			_, epoch, _ := c.cluster.leader(tp)
			p.Partition, p.Timestamp, p.CurrentLeaderEpoch = tp.Partition, timestamp, epoch
			t.Partitions = append(t.Partitions, p)
			asked++
		}
		req.Topics = append(req.Topics, t)
	}
	c.toNode(g.node, one{req: req, version: listOffsetsVersion}, func(r kmsg.Response, err error) {
		if err != nil {
			c.misled(g.parts[0], OK, err)
			done(nil, err)
			return
		}
		var answers []ListedOffset
		for _, t := range r.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				answers = append(answers, ListedOffset{
					id.TopicPartition{Topic: t.Topic, Partition: p.Partition},
					p.Offset, p.Timestamp,
					p.LeaderEpoch, Code(p.ErrorCode),
				})
			}
		}
		if len(answers) < asked {
			err = answered("ListOffsets", g.parts)
		}
		done(answers, err)
	})
}

// AbortedTxn is one entry of the aborted list of a fetch.
type AbortedTxn struct {
	ProducerID int64
	First      int64
}

// Fetched is the answer to one fetch of one partition.
type Fetched struct {
	HighWatermark, LastStable, LogStart int64
	Aborted                             []AbortedTxn
	Records                             []byte // whole and maybe one cut record batch; see Batches
}

// fetchSlack is the room that a request leaves above what its partitions may fill: kfake leaves out the aborted list of a
// partition at which the whole answer is full.
const fetchSlack = 32 << 20

// FetchOnce fetches once from a partition's leader at one offset, without waiting for more. The answer may end with a log
// segment: whoever wants a range goes on until its position is there.
func (c *Client) FetchOnce(tp id.TopicPartition, offset int64, isolation Isolation, maxBytes int32, done func(Fetched, Code, error)) {
	build := func(epoch int32) one {
		req := newFetch(isolation, 0, min(maxBytes, 1<<30)+fetchSlack)
		t := kmsg.NewFetchRequestTopic()
		t.Topic = tp.Topic
		t.Partitions = append(t.Partitions, fetchPartition(tp.Partition, epoch, offset, maxBytes))
		req.Topics = append(req.Topics, t)
		return one{req: req, version: fetchVersion}
	}
	c.toLeader(tp, broker.Fetch, build, func(r kmsg.Response) Code { return onlyFetched(r, tp).code }, func(r kmsg.Response, code Code, err error) {
		if err != nil || code != OK {
			done(Fetched{}, code, err)
			return
		}
		done(onlyFetched(r, tp).Fetched, OK, nil)
	})
}

func newFetch(isolation Isolation, waitMs, maxBytes int32) *kmsg.FetchRequest {
	req := new(kmsg.FetchRequest)
	fillFetch(req, isolation, waitMs, maxBytes)
	return req
}

func fillFetch(req *kmsg.FetchRequest, isolation Isolation, waitMs, maxBytes int32) {
	req.Default()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, waitMs, 1, maxBytes
	req.IsolationLevel, req.SessionID, req.SessionEpoch = int8(isolation), 0, -1
}

func fetchPartition(partition, epoch int32, offset int64, maxBytes int32) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.FetchOffset, p.PartitionMaxBytes = partition, epoch, offset, maxBytes
	p.LastFetchedEpoch, p.LogStartOffset = -1, -1
	return p
}

type fetchedPartition struct {
	Fetched
	code Code
}

func onlyFetched(r kmsg.Response, tp id.TopicPartition) fetchedPartition {
	resp := r.(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 {
		return fetchedPartition{code: Code(resp.ErrorCode)}
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; p.Partition == tp.Partition {
				return readFetched(p)
			}
		}
	}
	return fetchedPartition{code: UnknownServerError}
}

func readFetched(p *kmsg.FetchResponseTopicPartition) fetchedPartition {
	f := fetchedPartition{code: Code(p.ErrorCode), Fetched: Fetched{
		HighWatermark: p.HighWatermark, LastStable: p.LastStableOffset,
		LogStart: p.LogStartOffset, Records: p.RecordBatches,
	}}
	for _, a := range p.AbortedTransactions {
		f.Aborted = append(f.Aborted, AbortedTxn{a.ProducerID, a.FirstOffset})
	}
	return f
}
