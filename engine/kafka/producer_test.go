package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/broker"
)

var writer = Identity{TransactionalID: "id", ProducerID: 7, ProducerEpoch: 3, Protocol: 5}

// flushed flushes and waits.
func flushed(l *fakeLoop, p *Producer) (err error) {
	done := false
	p.Flush(func(e error) { err, done = e, true })
	l.run(func() bool { return done })
	return err
}

// stored is what a partition holds of one producer, as a salvage would read it.
func stored(log *fakeLog, who Identity) (lines []string, sum RangeSum) {
	for _, raw := range log.batches {
		for it := ReadBatches(raw); it.Next(); {
			for it.Batch.ProducerID == who.ProducerID && it.Batch.ProducerEpoch == who.ProducerEpoch && it.NextRecord() {
				sum.Add(&it.Batch, &it.Record)
				lines = append(lines, string(it.Record.Value))
			}
		}
	}
	return lines, sum
}

// Whatever answers are lost or refused for a while, and whether the broker keeps timestamps, replaces them or begins to,
// each record is stored once and in order, and the summary of each partition is what a reader of the log computes. A broker's
// time may be the producer's own by chance, so that an acknowledgement does not tell which of them was stored.
func TestProducerStoresOnceUnderLostAnswers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, c := newFake(t, 3)
		times := []int64{-1} // the broker's, by request, the last for all after it; -1: the producer's
		if rapid.Bool().Draw(rt, "append time") {
			times = rapid.SliceOfN(rapid.Int64Range(-1, 60), 1, 5).Draw(rt, "append times")
		}
		setting := 0
		trouble := []Code{NotEnoughReplicas, NotEnoughReplicasAfter, RequestTimedOut, NotLeaderOrFollower, ConcurrentTransactions, KafkaStorageError}
		bad := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 30).Draw(rt, "trouble")
		l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
			if req.Key() != 0 {
				return nil, nil
			}
			for _, log := range l.cluster.logs {
				log.appendTime = times[min(setting, len(times)-1)]
			}
			setting++
			if len(bad) == 0 {
				return nil, nil
			}
			what := bad[0]
			bad = bad[1:]
			switch {
			case what < len(trouble):
				if what == 1 || what == 2 {
					l.cluster.process(1, req) // it is in the log all the same
				}
				return refuse(req.(*kmsg.ProduceRequest), trouble[what]), nil
			case what == 6:
				return nil, fmt.Errorf("refused: %w", broker.ErrNotSent)
			case what == 7:
				l.cluster.process(1, req)
				l.cluster.process(2, req)
				return nil, errors.New("connection broke")
			}
			return nil, nil
		}
		l.cluster.silent = func(_ int32, req kmsg.Request) bool { return req.Key() == 0 && len(bad) > 0 && bad[0] == 9 }
		p := c.NewProducer(ProducerConfig{
			Identity: writer, BatchBytes: rapid.IntRange(100, 400).Draw(rt, "batch"),
			Compression: Compression(rapid.IntRange(0, 4).Draw(rt, "codec")), DeliveryTimeout: time.Hour,
		})
		want := make([][]string, 3)
		for i := range rapid.IntRange(1, 60).Draw(rt, "records") {
			part := rapid.IntRange(0, 2).Draw(rt, "partition")
			v := fmt.Sprint(i)
			want[part] = append(want[part], v)
			if err := p.Append("t", int32(part), nil, []byte(v), nil, int64(i)); err != nil {
				rt.Fatal(err)
			}
		}
		if err := flushed(l, p); err != nil {
			rt.Fatal(err)
		}
		ranges := p.Ranges()
		for part, log := range l.cluster.logs {
			got, sum := stored(log, writer)
			if !slices.Equal(got, want[part]) {
				rt.Fatalf("partition %d holds %v, want %v", part, got, want[part])
			}
			if len(got) == 0 {
				continue
			}
			if r := ranges[0]; !sum.Matches(r) || r.Topic != "t" || r.Partition != int32(part) || r.First != 0 || r.Last != log.next-1 {
				rt.Fatalf("range %+v, the log says %+v", ranges[0], sum)
			}
			ranges = ranges[1:]
		}
		if p.bytes != 0 || p.pending != 0 {
			rt.Fatalf("%d bytes in %d batches left", p.bytes, p.pending)
		}
	})
}

// refuse answers every partition of a produce with a code.
func refuse(req *kmsg.ProduceRequest, code Code) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range req.Topics {
		x := kmsg.ProduceResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			x.Partitions = append(x.Partitions, kmsg.ProduceResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code), BaseOffset: -1, LogAppendTime: -1})
		}
		resp.Topics = append(resp.Topics, x)
	}
	return resp
}

// A batch is sent again byte for byte; other bytes under one sequence would be dropped as a duplicate.
func TestRetryKeepsTheBytes(t *testing.T) {
	l, c := newFake(t, 1)
	var seen [][]byte
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ProduceRequest); ok {
			seen = append(seen, bytes.Clone(r.Topics[0].Partitions[0].Records))
			if len(seen) < 4 {
				return refuse(r, NotEnoughReplicasAfter), nil
			}
		}
		return nil, nil
	}
	p := c.NewProducer(ProducerConfig{Identity: writer})
	p.Append("t", 0, nil, []byte("a"), nil, 1)
	p.Flush(func(error) {})
	l.run(func() bool { return len(seen) == 1 })
	p.Append("t", 0, nil, []byte("b"), nil, 1)
	if err := flushed(l, p); err != nil {
		t.Fatal(err)
	}
	for _, b := range seen[1:4] {
		if !bytes.Equal(b, seen[0]) {
			t.Fatal("a retry sent other bytes")
		}
	}
	if len(seen) != 5 {
		t.Fatalf("%d requests", len(seen))
	}
}

// The port may still read the bytes of a request that was given up: they are not used for another batch before it answers.
func TestBytesBelongToThePortUntilItAnswers(t *testing.T) {
	l, c := newFake(t, 1)
	var kept []byte
	var copied []byte
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) { return nil, nil }
	l.cluster.silent = func(_ int32, req kmsg.Request) bool {
		if r, ok := req.(*kmsg.ProduceRequest); ok && kept == nil {
			kept = r.Topics[0].Partitions[0].Records
			copied = bytes.Clone(kept)
			return true
		}
		return false
	}
	p := c.NewProducer(ProducerConfig{Identity: writer})
	for i := range 20 {
		p.Append("t", 0, nil, []byte(fmt.Sprint("value", i)), nil, 1)
		if err := flushed(l, p); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(kept, copied) {
		t.Fatal("bytes of an unanswered request were written over")
	}
	if len(c.buffers.free) == 0 {
		t.Fatal("no buffer was recycled at all")
	}
}

// A refused batch fails the producer for good: flush says so, append says so, the writer is woken.
func TestRefusedBatchFailsForGood(t *testing.T) {
	for _, code := range []Code{OutOfOrderSequence, InvalidProducerEpoch, InvalidTxnState, InvalidProducerIDMapping, TransactionAbortable, ProducerFenced, MessageTooLarge, InvalidRecord} {
		l, c := newFake(t, 1)
		l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
			if r, ok := req.(*kmsg.ProduceRequest); ok {
				return refuse(r, code), nil
			}
			return nil, nil
		}
		woken := false
		p := c.NewProducer(ProducerConfig{Identity: writer, Wake: func() { woken = true }})
		p.Append("t", 0, nil, []byte("a"), nil, 1)
		if err := flushed(l, p); !errors.Is(err, code) {
			t.Fatalf("%v: flush says %v", code, err)
		}
		l.idle()
		if err := p.Append("t", 0, nil, nil, nil, 1); !errors.Is(err, code) || !woken || p.Full() || l.count("Produce") != 1 {
			t.Fatalf("%v: append says %v, woken %v, %d requests", code, err, woken, l.count("Produce"))
		}
		if err := flushed(l, p); !errors.Is(err, code) {
			t.Fatalf("%v: a second flush says %v", code, err)
		}
	}
}

// A batch that nobody acknowledges fails the producer at the delivery timeout, with the reason.
func TestDeliveryTimeout(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ProduceRequest); ok {
			return refuse(r, NotEnoughReplicas), nil
		}
		return nil, nil
	}
	p := c.NewProducer(ProducerConfig{Identity: writer, DeliveryTimeout: 30 * time.Second})
	p.Append("t", 0, nil, []byte("a"), nil, 1)
	err := flushed(l, p)
	if !errors.Is(err, NotEnoughReplicas) || !strings.Contains(err.Error(), "not acknowledged within 30s") {
		t.Fatal(err)
	}
	if at := time.Duration(l.now); at < 30*time.Second || at > 33*time.Second {
		t.Fatalf("given up at %s", at)
	}
}

// A success that names an offset already passed was a duplicate of something else: Kafka answers so when protocol
// generations are mixed, and has dropped the batch.
func TestAcknowledgedBehindIsNotAccepted(t *testing.T) {
	l, c := newFake(t, 1)
	p := c.NewProducer(ProducerConfig{Identity: writer})
	p.Append("t", 0, nil, []byte("a"), nil, 1)
	if err := flushed(l, p); err != nil {
		t.Fatal(err)
	}
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ProduceRequest); ok {
			resp := refuse(r, OK).(*kmsg.ProduceResponse)
			resp.Topics[0].Partitions[0].BaseOffset = 0
			return resp, nil
		}
		return nil, nil
	}
	p.Append("t", 0, nil, []byte("b"), nil, 1)
	if err := flushed(l, p); err == nil {
		t.Fatal("accepted")
	}
}

// Below transaction.version 2 a partition joins before its first batch, and never again; on 2 the batch is enough. The
// versions are those of the generation.
func TestProtocolGenerations(t *testing.T) {
	for _, protocol := range []int16{4, 5} {
		l, c := newFake(t, 2)
		who := writer
		who.Protocol = protocol
		once := true
		l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
			if r, ok := req.(*kmsg.AddPartitionsToTxnRequest); ok && once {
				once = false
				resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
				resp.Topics = []kmsg.AddPartitionsToTxnResponseTopic{{Topic: "t", Partitions: []kmsg.AddPartitionsToTxnResponseTopicPartition{{ErrorCode: int16(ConcurrentTransactions)}}}}
				return resp, nil
			}
			return nil, nil
		}
		p := c.NewProducer(ProducerConfig{Identity: who})
		for round := range 2 {
			for part := range int32(2) {
				p.Append("t", part, nil, []byte("a"), nil, int64(round))
			}
			if err := flushed(l, p); err != nil {
				t.Fatal(err)
			}
		}
		joins, produce := 0, "Produce v12"
		if protocol == 4 {
			joins, produce = 2, "Produce v11"
		}
		if l.count("AddPartitionsToTxn v3") != joins || l.count("Produce") != l.count(produce) || l.count(produce) == 0 {
			t.Fatalf("protocol %d:\n%s", protocol, l.tail())
		}
	}
}

// A writer that is told to pause is woken when there is room, not before.
func TestPausedWriterIsWokenWhenThereIsRoom(t *testing.T) {
	l, c := newFake(t, 1)
	woken := 0
	p := c.NewProducer(ProducerConfig{Identity: writer, BatchBytes: 100, BufferBytes: 1000, Wake: func() { woken++ }})
	n := 0
	for ; !p.Full(); n++ {
		p.Append("t", 0, nil, make([]byte, 50), nil, 1)
	}
	if n < 15 {
		t.Fatalf("full after %d records", n)
	}
	l.run(func() bool { return woken > 0 })
	if p.Full() || p.bytes >= 750 {
		t.Fatalf("woken with %d bytes left", p.bytes)
	}
	if err := flushed(l, p); err != nil || woken != 1 {
		t.Fatalf("woken %d times, %v", woken, err)
	}
}

// An open batch is sealed after the linger without a flush.
func TestOpenBatchIsSealedAfterLinger(t *testing.T) {
	l, c := newFake(t, 1)
	p := c.NewProducer(ProducerConfig{Identity: writer, Linger: 30 * time.Millisecond})
	p.Append("t", 0, nil, []byte("a"), nil, 1)
	l.run(func() bool { return len(p.Ranges()) == 1 })
	if at := time.Duration(l.now); at < 30*time.Millisecond || at > 60*time.Millisecond {
		t.Fatalf("sent at %s", at)
	}
}

// Sequences go from 2147483647 to 0.
func TestSequenceWraps(t *testing.T) {
	for _, x := range [][3]int32{{0, 5, 5}, {2147483647, 1, 0}, {2147483646, 3, 1}, {2147483640, 7, 2147483647}} {
		if got := nextSequence(x[0], x[1]); got != x[2] {
			t.Fatalf("%d and %d records: %d, want %d", x[0], x[1], got, x[2])
		}
	}
}

func BenchmarkProducerAppend(b *testing.B) {
	l, c := newFake(b, 2)
	l.cluster.script = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ProduceRequest); ok {
			resp := refuse(r, OK).(*kmsg.ProduceResponse)
			for i := range resp.Topics[0].Partitions {
				l.now++
				resp.Topics[0].Partitions[i].BaseOffset = int64(l.now)
			}
			return resp, nil
		}
		return nil, nil
	}
	p := c.NewProducer(ProducerConfig{Identity: writer})
	key, value := benchRecord()
	b.ReportAllocs()
	for i := range b.N {
		p.Append("t", int32(i&1), key, value, nil, int64(i&1023))
		if p.Full() {
			l.run(func() bool { return !p.Full() })
		}
	}
}
