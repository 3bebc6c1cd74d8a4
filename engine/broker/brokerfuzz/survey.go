package brokerfuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/kafka"
)

// survey takes one view.
func (r *run) survey() view {
	var v view
	v.ids = r.describe()
	v.parts = r.partitions()
	if r.touched {
		v.lanes = r.offsets()
	}
	return v
}

func (r *run) describe() []transaction {
	out := make([]transaction, len(r.ids))
	if len(r.ids) == 0 {
		return out
	}
	if len(r.cluster.nodes) == 1 {
		r.describeSome(r.ids, out)
		return out
	}
	for i := range r.ids {
		r.describeSome(r.ids[i:i+1], out)
	}
	return out
}

func (r *run) describeSome(ids []string, out []transaction) {
	x, trouble := r.send(&request{
		to: target{coordinatorOf, ids[0], 0}, build: func() kmsg.Request { return describeRequest(ids) }, code: describeCode,
	})
	if trouble != "" {
		r.fail("describe: %s", trouble)
	}
	offsets := kafka.InternalPartition(r.group, r.cluster.offsets)
	for _, s := range x.(*kmsg.DescribeTransactionsResponse).TransactionStates {
		i := slices.Index(r.ids, s.TransactionalID)
		if i < 0 {
			continue
		}
		t := transaction{code: s.ErrorCode, state: s.State, pid: s.ProducerID, epoch: s.ProducerEpoch, timeoutMs: s.TimeoutMillis}
		for _, topic := range s.Topics {
			for _, p := range topic.Partitions {
				switch {
				case topic.Topic == r.topic:
					t.parts = append(t.parts, p)
				case topic.Topic == "__consumer_offsets" && p == offsets:
					t.offsets = true
				default:
					t.others = append(t.others, fmt.Sprintf("%s-%d", topic.Topic, p))
				}
			}
		}
		slices.Sort(t.parts)
		slices.Sort(t.others)
		out[i] = t
	}
}

// partitions asks the leaders for what they know, and for the batches since the view before.
func (r *run) partitions() []partition {
	out := make([]partition, r.seq.Partitions)
	for first := int32(0); first < r.seq.Partitions; {
		last := first + 1 // of those that one leader has; on one broker all
		for len(r.cluster.nodes) == 1 && last < r.seq.Partitions {
			last++
		}
		r.producers(first, last, out)
		for !r.fetched(first, last, out) {
		}
		first = last
	}
	return out
}

func (r *run) producers(first, last int32, out []partition) {
	x, trouble := r.send(&request{
		to: target{leaderOf, "", first},
		build: func() kmsg.Request {
			q := kmsg.NewPtrDescribeProducersRequest()
			t := kmsg.NewDescribeProducersRequestTopic()
			t.Topic = r.topic
			for i := first; i < last; i++ {
				t.Partitions = append(t.Partitions, i)
			}
			q.Topics = append(q.Topics, t)
			return q
		},
		code: func(x kmsg.Response) int16 {
			for _, p := range x.(*kmsg.DescribeProducersResponse).Topics[0].Partitions {
				if p.ErrorCode != 0 {
					return p.ErrorCode
				}
			}
			return 0
		},
	})
	if trouble != "" {
		r.fail("describe producers: %s", trouble)
	}
	for _, p := range x.(*kmsg.DescribeProducersResponse).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			r.fail("describe producers: code %d", p.ErrorCode)
		}
		for _, a := range p.ActiveProducers {
			out[p.Partition].producers = append(out[p.Partition].producers, producer{
				a.ProducerID, a.ProducerEpoch, a.LastSequence, a.CoordinatorEpoch, a.CurrentTxnStartOffset,
			})
		}
		slices.SortStableFunc(out[p.Partition].producers, func(a, b producer) int { // by order of appearance
			return cmp.Or(cmp.Compare(slices.Index(r.pids, a.pid), slices.Index(r.pids, b.pid)), cmp.Compare(a.pid, b.pid))
		})
	}
}

// fetched reads what is new in some partitions, and tells whether that was all.
func (r *run) fetched(first, last int32, out []partition) bool {
	q := r.newFetch(false)
	for i := first; i < last; i++ {
		from := out[i].high
		if from == 0 && r.seen != nil {
			from = r.seen[i]
		}
		r.alsoFetch(q, i, from)
	}
	x, trouble := r.send(&request{to: target{leaderOf, "", first}, build: func() kmsg.Request { return q }, code: fetchCode})
	if trouble != "" || fetchCode(x) != 0 {
		r.fail("fetch: %s code %d", trouble, fetchCode(x))
	}
	whole := true
	for i := range x.(*kmsg.FetchResponse).Topics[0].Partitions {
		p := &x.(*kmsg.FetchResponse).Topics[0].Partitions[i]
		d := &out[p.Partition]
		d.start, d.stable, d.high = p.LogStartOffset, p.LastStableOffset, p.HighWatermark
		lines, end, err := r.batches(p.RecordBatches)
		if err != nil {
			r.fail("partition %d: %w", p.Partition, err)
		}
		d.batches = append(d.batches, lines...)
		// An answer ends with a log segment; and it tells the high watermark of before the read, which a batch in it may pass.
		if end >= 0 && end != d.high {
			whole, d.high = false, end
		}
	}
	return whole
}

// batches prints batches, one a line; end is the offset behind them, -1 if there are none.
func (r *run) batches(b []byte) (lines []string, end int64, err error) {
	end = -1
	it := kafka.ReadBatches(b)
	for it.Next() {
		h := it.Batch
		s := fmt.Sprintf("%d %s", h.BaseOffset, r.identity(h.ProducerID, int32(h.ProducerEpoch)))
		end = h.LastOffset + 1
		if h.Control {
			commit, ok := it.Marker()
			s += map[bool]string{true: " COMMIT", false: " ABORT"}[commit]
			if !ok {
				s += " that is none"
			}
			lines = append(lines, s)
			continue
		}
		if h.ProducerID >= 0 {
			s += fmt.Sprintf(" seq %d", h.BaseSequence)
		}
		if h.Transactional {
			s += " transactional"
		}
		for it.NextRecord() {
			s += " " + string(it.Record.Value)
		}
		lines = append(lines, s)
	}
	return lines, end, it.Err()
}

// offsets reads the group, stable, and where that says "pending" what is below.
func (r *run) offsets() []string {
	read := func(stable bool) *kmsg.OffsetFetchResponse {
		x, trouble := r.send(r.offsetFetchRequest(stable, false))
		if trouble != "" {
			r.fail("offset fetch: %s", trouble)
		}
		return x.(*kmsg.OffsetFetchResponse)
	}
	x := read(true)
	if x.ErrorCode != 0 {
		return []string{"code " + code(x.ErrorCode)}
	}
	lanes := r.lanes(x)
	pending := slices.ContainsFunc(lanes, func(l string) bool { return strings.Contains(l, ":") })
	if !pending {
		return lanes
	}
	below := r.lanes(read(false))
	for i := range lanes {
		if strings.Contains(lanes[i], ":") && i < len(below) {
			_, value, _ := strings.Cut(below[i], "=")
			lanes[i] += ":over:" + value
		}
	}
	return lanes
}

// rest is what all readers see in the end.
func (r *run) rest() (lines []string) {
	for i := range r.seq.Partitions {
		for _, committed := range []bool{false, true} {
			for _, l := range r.again(r.fetchRequest(i, committed, r.view.parts[i].start)) {
				lines = append(lines, fmt.Sprintf(ending+"%d: %s: %s", i, map[bool]string{true: "committed", false: "uncommitted"}[committed], l))
			}
		}
	}
	return lines
}
