package simbroker

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

// BenchmarkRequest is one small request and its answer over the simulated network: 4 events or so.
func BenchmarkRequest(b *testing.B) {
	r := newRig(b, 1, "k44", func(c *Config) { c.Encode = false })
	q := kmsg.NewPtrFindCoordinatorRequest()
	q.Version, q.CoordinatorType, q.CoordinatorKeys = 4, 1, []string{"a"}
	n := 0
	var again func(kmsg.Response, error)
	again = func(kmsg.Response, error) {
		if n++; n < b.N {
			r.port.Send(0, q, again)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	r.loop.Post(func() { r.port.Send(0, q, again) })
	r.w.RunUntil(func() bool { return n >= b.N }, 1<<62)
	r.alive()
}

// BenchmarkSteps is what partitions do, without a network around it: a step is a batch checked and appended, a marker, a
// fetch of both readers, an answer to a writer whose replicas have it.
func BenchmarkSteps(b *testing.B) {
	for _, copies := range []int{1, 3} {
		b.Run(fmt.Sprintf("copies=%d", copies), func(b *testing.B) {
			r := newRig(b, 1, "k44", func(c *Config) { c.Encode = false; c.Expensive = false; c.Replication.Factor = copies })
			x := identity{"a", 1, 0}
			p := r.c.mustFind("out", 0)
			leader := r.c.brokers[p.leader]
			data := batchOf(x, 0, true, "some value", "another")
			fetch := fetchReq(0, 0, true, 1<<20, 0)
			var resp *kmsg.FetchResponse
			steps := 0
			acked := func(code int16) {
				if code != ok {
					b.Fatal(code)
				}
				steps++
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				epoch := int16(i % 30000)
				if epoch == 0 {
					x.pid++
				}
				binary.BigEndian.PutUint64(data[atProducerID:], uint64(x.pid))
				binary.BigEndian.PutUint16(data[atEpoch:], uint16(epoch))
				h := readHeader(data)
				guard := p.log.protect(&h, 2)
				if _, code := p.log.checkProducer(&h, guard, &leader.profile); code != ok {
					b.Fatal(code)
				}
				p.log.appendBatch(data, &h, p.leaderEpoch, -1)
				p.written()
				p.whenCommitted(p.log.leo, time.Hour, acked)
				p.writeMarker(leader, marker{pid: x.pid, epoch: epoch + 1, commit: i%2 == 0, version: 2}, acked)
				steps += 2
				for level := range int8(2) {
					fetch.IsolationLevel = level
					fetch.Topics[0].Partitions[0].FetchOffset = max(p.log.hw-3, 0)
					resp, _ = leader.fetchNow(fetch, resp)
					steps++
				}
				if copies > 1 && len(p.acks) > 64 {
					r.w.RunUntil(func() bool { return len(p.acks) == 0 }, r.w.Now().Add(time.Second))
				}
				if i%1000 == 999 { // a log does not grow for ever
					p.log.deleteBefore(p.log.hw)
				}
			}
			b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "operations/s")
			r.alive()
		})
	}
}

// BenchmarkTransaction is a transaction of three partitions with a long-polling reader on each.
func BenchmarkTransaction(b *testing.B) {
	r := newRig(b, 1, "k44", func(c *Config) { c.Encode = false; c.ScanInterval = 10 * time.Second })
	for p := range int32(3) {
		port := r.c.Requests(r.node, r.loop, broker.Fetch)
		offset := int64(0)
		var again func(kmsg.Response, error)
		again = func(resp kmsg.Response, err error) {
			if err != nil {
				b.Error(err)
				return
			}
			f := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
			if len(f.RecordBatches) > 0 {
				offset = f.LastStableOffset
			}
			port.Send(int32(r.c.Leader("out", p)), fetchReq(p, offset, true, 1<<20, 500*time.Millisecond), again)
		}
		r.loop.Post(func() {
			again(&kmsg.FetchResponse{Topics: []kmsg.FetchResponseTopic{{Partitions: make([]kmsg.FetchResponseTopicPartition, 1)}}}, nil)
		})
	}
	x := r.init("a")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for p := range int32(3) {
			if code, _ := r.produce(12, x, p, batchOf(x, 0, true, "some value", "another")); code != ok {
				b.Fatal(code)
			}
		}
		e := r.end(5, x, true)
		r.ended("a")
		x.pid, x.epoch = e.ProducerID, e.ProducerEpoch
	}
	b.ReportMetric(float64(r.w.Entries())/float64(b.N), "entries/op")
}

// BenchmarkNew is the cost of a cluster that does nothing for a second.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newRig(b, 1, "k44", func(c *Config) { c.Encode = false; c.ScanInterval = 10 * time.Second })
	}
}
