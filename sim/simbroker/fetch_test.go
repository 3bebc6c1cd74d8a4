package simbroker

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

func fetchReq(part int32, offset int64, committed bool, maxBytes int32, wait time.Duration) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.Version, q.MaxWaitMillis, q.MinBytes, q.MaxBytes = 12, int32(wait.Milliseconds()), 1, 1<<20
	q.SessionEpoch = -1
	if committed {
		q.IsolationLevel = 1
	}
	t := kmsg.NewFetchRequestTopic()
	t.Topic = "out"
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = part, offset, maxBytes
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return q
}

func (r *rig) fetch(part int32, offset int64, committed bool, maxBytes int32) kmsg.FetchResponseTopicPartition {
	r.t.Helper()
	f := ask1[*kmsg.FetchResponse](r, int32(r.c.Leader("out", part)), fetchReq(part, offset, committed, maxBytes, 0))
	return f.Topics[0].Partitions[0]
}

// consume reads a partition from an offset as a correct read_committed client does: by the batches and the aborted list,
// which is another way than the truth's.
func (r *rig) consume(part int32, offset int64, maxBytes int32) (out []string, position int64) {
	r.t.Helper()
	for {
		f := r.fetch(part, offset, true, maxBytes)
		equal(r.t, "fetch code", f.ErrorCode, ok)
		if len(f.RecordBatches) == 0 {
			equal(r.t, "an empty fetch is at the stable offset", offset, f.LastStableOffset)
			return out, offset
		}
		aborted := map[int64]bool{}
		for b := f.RecordBatches; len(b) > 0; {
			size := 12 + int(binary.BigEndian.Uint32(b[atLength:]))
			h := readHeader(b)
			last := int64(binary.BigEndian.Uint64(b)) + int64(h.count) - 1
			for _, a := range f.AbortedTransactions {
				if a.ProducerID == h.producerID && a.FirstOffset <= last && a.FirstOffset >= 0 {
					aborted[h.producerID] = true
				}
			}
			records := readRecords(nil, b[:size])
			switch {
			case h.control():
				if !records[0].Commit {
					// Of this transaction nothing follows; a later one of the producer has an entry of its own.
					for i := range f.AbortedTransactions {
						if a := &f.AbortedTransactions[i]; a.ProducerID == h.producerID && a.FirstOffset <= last {
							a.FirstOffset = -1
						}
					}
					aborted[h.producerID] = false
				}
			case h.txn() && aborted[h.producerID]:
			default:
				for _, l := range records {
					if l.Offset >= offset {
						out = append(out, string(l.Record.Value))
					}
				}
			}
			offset = max(offset, last+1)
			b = b[size:]
		}
	}
}

// Whatever interleaves: the stable offset is below the oldest open transaction, and a reader gets exactly what was
// committed, from any offset and with any limit.
func TestReadCommittedUnderInterleaving(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, rapid.Uint64().Draw(rt, "seed"), "k44", func(c *Config) { c.Encode = false })
		type writer struct {
			pid   int64
			epoch int16
			seq   int32
			first int64 // -1: nothing open
			mine  []int // indices of its open records in the model
		}
		type modelled struct {
			value   string
			decided bool
			keep    bool
		}
		var model []modelled // by offset; markers have no value
		writers := make([]writer, 4)
		for i := range writers {
			writers[i] = writer{pid: int64(5000 + i), first: -1}
		}
		p := r.c.mustFind("out", 0)
		end := func(w *writer, commit bool) {
			w.epoch++
			_, code := p.log.appendMarker(marker{pid: w.pid, epoch: w.epoch, commit: commit, version: 2}, 0, &r.c.brokers[0].profile, 0)
			equal(t, "marker", code, ok)
			for _, i := range w.mine {
				model[i].decided, model[i].keep = true, commit
			}
			model = append(model, modelled{decided: true})
			w.first, w.mine, w.seq = -1, nil, 0
		}
		n := rapid.IntRange(5, 60).Draw(rt, "steps")
		for range n {
			w := &writers[rapid.IntRange(0, 3).Draw(rt, "writer")]
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				model = append(model, modelled{fmt.Sprint("plain", len(model)), true, true})
				r.c.Append("out", 0, []Record{{Value: []byte(model[len(model)-1].value)}})
			case 1, 2, 3:
				var values []string
				at := int64(len(model))
				for range rapid.IntRange(1, 3).Draw(rt, "records") {
					v := fmt.Sprint("txn", len(model))
					w.mine = append(w.mine, len(model))
					model = append(model, modelled{value: v})
					values = append(values, v)
				}
				b := batchOf(identity{"", w.pid, w.epoch}, w.seq, true, values...)
				h := readHeader(b)
				equal(t, "base", p.log.appendBatch(b, &h, 0, -1), at)
				w.seq += int32(len(values))
				if w.first < 0 {
					w.first = at
				}
			default:
				if w.first >= 0 {
					end(w, rapid.Bool().Draw(rt, "commit"))
				}
			}
			stable := int64(len(model))
			for i := range writers {
				if writers[i].first >= 0 {
					stable = min(stable, writers[i].first)
				}
			}
			equal(t, "last stable offset", r.c.Bounds("out", 0).Stable, stable)
		}
		r.c.Check()
		stable := r.c.Bounds("out", 0).Stable
		from := rapid.Int64Range(0, stable).Draw(rt, "from")
		var want []string
		for i := from; i < stable; i++ {
			if m := model[i]; m.keep && m.value != "" {
				want = append(want, m.value)
			}
		}
		got, position := r.consume(0, from, rapid.SampledFrom([]int32{1, 100, 400, 1 << 20}).Draw(rt, "max bytes"))
		sameStrings(t, "consumed", got, want...)
		equal(t, "position", position, stable)
		var truth []string
		for _, l := range r.c.ReadCommitted("out", 0) {
			if l.Offset >= from {
				truth = append(truth, string(l.Record.Value))
			}
		}
		sameStrings(t, "truth", truth, want...)
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// A waiting fetch costs one event, and it is answered when there is something to see, not before.
func TestLongPollIsAnsweredWhenThereIsSomething(t *testing.T) {
	r := newRig(t, 1, "k44")
	leader := int32(r.c.Leader("out", 0))
	a := r.start(leader, fetchReq(0, 0, true, 1<<20, 5*time.Second))
	b := r.start((leader+1)%3, fetchReq(0, 0, true, 1<<20, 5*time.Second))
	r.w.RunFor(time.Second)
	equal(t, "waits", a.done, false)
	equal(t, "an error does not wait", b.done, true)
	before := r.w.Entries()
	r.w.RunFor(3 * time.Second)
	if n := r.w.Entries() - before; n > 3*35 {
		t.Errorf("%d entries while nothing happens", n)
	}
	base, end := r.c.OpenTxn("out", 0, []Record{{Value: []byte("x")}})
	equal(t, "base", base, 0)
	r.w.RunFor(200 * time.Millisecond)
	equal(t, "open transaction is not visible", a.done, false)
	end(true)
	r.w.RunFor(50 * time.Millisecond)
	equal(t, "answered", a.done, true)
	equal(t, "has both batches", len(a.resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches) > 120, true)

	a = r.start(leader, fetchReq(0, 2, true, 1<<20, time.Second))
	r.w.RunFor(900 * time.Millisecond)
	equal(t, "waits", a.done, false)
	r.w.RunFor(200 * time.Millisecond)
	equal(t, "empty after MaxWait", a.done, true)
	a = r.start(leader, fetchReq(0, 2, true, 1<<20, 5*time.Second))
	r.w.RunFor(100 * time.Millisecond)
	r.c.MoveLeader("out", 0, int(leader+1)%3)
	r.w.RunFor(100 * time.Millisecond)
	equal(t, "told of the move", a.done, true)
	equal(t, "code", a.resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].ErrorCode, notLeader)
}

// An answer has records above the high watermark that it tells if they were appended between bounds and read; never after
// an append that was over when the fetch was sent.
func TestFetchIsOvertakenByAnAppend(t *testing.T) {
	r := newRig(t, 1, "k44")
	var overtaken, held int
	leader := int32(r.c.Leader("out", 0))
	for i := range int64(400) {
		before := r.c.Bounds("out", 0)
		a := r.start(leader, fetchReq(0, max(before.High-5, 0), i%2 == 0, 1<<20, 0))
		r.w.RunFor(time.Duration(i%10) * time.Millisecond / 4)
		_, end := r.c.OpenTxn("out", 0, []Record{{Value: []byte("x")}})
		end(true)
		after := r.c.Bounds("out", 0)
		r.w.RunFor(20 * time.Millisecond)
		equal(t, "answered", a.done, true)
		f := a.resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		read := f.HighWatermark
		for b := f.RecordBatches; len(b) > 0; b = b[12+int(binary.BigEndian.Uint32(b[atLength:])):] {
			h := readHeader(b)
			read = int64(binary.BigEndian.Uint64(b)) + int64(h.count)
		}
		switch {
		case f.HighWatermark == before.High && read == after.High:
			overtaken++
			if f.LastStableOffset == before.Stable {
				held++
			}
		case f.HighWatermark != read && read != 0:
			t.Fatalf("fetch %d: high watermark %d, records up to %d, log from %+v to %+v", i, f.HighWatermark, read, before, after)
		}
		equal(t, "afterwards", r.fetch(0, 0, true, 1<<20).HighWatermark, after.High)
	}
	if overtaken < 5 || overtaken > 50 || held != overtaken {
		t.Errorf("%d of 400 answers tell an older high watermark, %d an older stable offset", overtaken, held)
	}
}

func TestFetchOutOfBoundsIsRefused(t *testing.T) {
	r := newRig(t, 1, "k44")
	for i := range 10 {
		r.c.Append("out", 0, []Record{{Value: []byte{byte(i)}, Time: int64(1000 + i)}})
	}
	equal(t, "delete", r.c.DeleteRecords("out", 0, 4), true)
	equal(t, "delete above the end", r.c.DeleteRecords("out", 0, 11), false)
	equal(t, "below the start", r.fetch(0, 3, true, 100).ErrorCode, offsetOutOfRange)
	equal(t, "above the end", r.fetch(0, 11, true, 100).ErrorCode, offsetOutOfRange)
	f := r.fetch(0, 4, true, 1)
	equal(t, "start", f.LogStartOffset, 4)
	equal(t, "one batch", len(f.RecordBatches) > 0 && len(f.RecordBatches) < 100, true)
	list := func(ts int64) int64 {
		q := kmsg.NewPtrListOffsetsRequest()
		q.Version, q.IsolationLevel = 7, 1
		lt := kmsg.NewListOffsetsRequestTopic()
		lt.Topic = "out"
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = ts
		lt.Partitions = append(lt.Partitions, p)
		q.Topics = append(q.Topics, lt)
		return ask1[*kmsg.ListOffsetsResponse](r, int32(r.c.Leader("out", 0)), q).Topics[0].Partitions[0].Offset
	}
	equal(t, "earliest", list(-2), 4)
	equal(t, "latest", list(-1), 10)
	equal(t, "by time", list(1006), 6)
	equal(t, "by time below the start", list(0), 4)
	equal(t, "by time above", list(2000), -1)
	r.c.OpenTxn("out", 0, []Record{{}})
	r.c.Append("out", 0, []Record{{}})
	equal(t, "latest is the stable offset", list(-1), 10)
	f = r.fetch(0, 11, true, 100)
	equal(t, "between stable and end", f.ErrorCode, ok)
	equal(t, "empty", len(f.RecordBatches), 0)
}

func TestAppendTimeRestampsTheBatch(t *testing.T) {
	r := newRig(t, 1, "k44")
	r.c.CreateTopic(TopicSpec{Name: "stamped", Partitions: 1, Start: 1000, Config: TopicConfig{AppendTime: true}})
	equal(t, "base", r.c.Append("stamped", 0, []Record{{Value: []byte("x"), Time: 5}}), 1000)
	l := r.c.ReadAll("stamped", 0)[0]
	equal(t, "offset", l.Offset, 1000)
	equal(t, "time", l.Record.Time, r.w.Wall().UnixMilli())
	log := r.c.mustFind("stamped", 0).log
	b := log.bytes(&log.batches[0])
	if _, code := parseBatch(b); code != ok {
		t.Errorf("restamped batch is corrupt: %d", code)
	}
}
