package simbroker

import (
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
