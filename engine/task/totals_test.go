package task_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/flow/flowtest"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/sim"
)

// payment is one generated record; total is the running total of its key after it.
type payment struct{ Key, Amount uint64 }

type total struct {
	Key, Amount, Sum uint64
	Origin           stream.Origin
}

type paymentCodec struct{}

func (paymentCodec) Append(dst []byte, p payment) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, p.Key), p.Amount)
}

func (paymentCodec) Decode(src []byte) (payment, error) {
	if len(src) != 16 {
		return payment{}, fmt.Errorf("a payment has 16 bytes, not %d", len(src))
	}
	return payment{binary.BigEndian.Uint64(src), binary.BigEndian.Uint64(src[8:])}, nil
}

func decodePayment(r *operator.Record) (payment, error) { return paymentCodec{}.Decode(r.Value) }

func encodeTotal(v total, r *operator.Record) error {
	r.Key = binary.BigEndian.AppendUint64(r.Key, v.Key)
	for _, x := range []uint64{v.Amount, v.Sum, uint64(v.Origin.Partition), uint64(v.Origin.Offset)} {
		r.Value = binary.BigEndian.AppendUint64(r.Value, x)
	}
	return nil
}

const keys = 17

// few makes payments of few keys, so that every key meets every partition.
func few(partition int32, offset int64, k, v []byte) (key, value []byte, timestamp int64) {
	h := (uint64(offset)<<8|uint64(partition))*0x9E3779B97F4A7C15 ^ 0x5bd1
	h ^= h >> 31
	return k, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(v, h%keys), 1+h>>40%9), offset
}

// totals is source -> map -> keyBy -> running total -> sink.
func totals(src graph.SourceFactory, sink graph.SinkFactory, codec flow.Codec[uint64]) *graph.Job {
	job := flow.New("totals")
	in := flow.From(job, "in", src, decodePayment)
	same := flow.Map(in, func(p payment) (payment, error) { return p, nil }).Via(paymentCodec{})
	byKey := flow.KeyBy(same, func(p payment) uint64 { return p.Key }, codec)
	sums := flow.Process(byKey, "sum", func(op *flow.Setup) func(*flow.Context[uint64, total], payment) error {
		sum := flow.NewValue(op, "sum", flow.Uint64)
		return func(ctx *flow.Context[uint64, total], p payment) error {
			s, _ := sum.Get()
			s += p.Amount
			sum.Set(s)
			ctx.Emit(total{p.Key, p.Amount, s, ctx.Origin()})
			return nil
		}
	})
	flow.To(sums, "out", sink, encodeTotal)
	return job
}

// checkTotals compares what readers see with the input: every record once, totals of each key without a gap, in the order
// of its partition.
func checkTotals(t *testing.T, seed uint64, g flowtest.Generator, visible []operator.Record) {
	t.Helper()
	sums := map[uint64]uint64{}
	seen := map[[2]uint64]bool{}
	last := map[[2]uint64]int64{} // by key and partition
	for i, r := range visible {
		var f [4]uint64
		for k := range f {
			f[k] = binary.BigEndian.Uint64(r.Value[8*k:])
		}
		key, amount, sum, partition, offset := binary.BigEndian.Uint64(r.Key), f[0], f[1], f[2], f[3]
		if seen[[2]uint64{partition, offset}] {
			t.Fatalf("seed %d: DUP: record %d of partition %d comes twice", seed, offset, partition)
		}
		seen[[2]uint64{partition, offset}] = true
		if sums[key] += amount; sums[key] != sum {
			t.Fatalf("seed %d: STATE: output %d: total of key %d is %d, not %d", seed, i, key, sum, sums[key])
		}
		if before, ok := last[[2]uint64{key, partition}]; ok && before >= int64(offset) {
			t.Fatalf("seed %d: REORDER: key %d: record %d of partition %d comes after %d", seed, key, offset, partition, before)
		}
		last[[2]uint64{key, partition}] = int64(offset)
	}
	if want := int(g.Records) * int(g.Partitions); len(seen) != want {
		t.Fatalf("seed %d: GAP: %d of %d records are visible", seed, len(seen), want)
	}
}

// text is a codec of integer keys that hides that they are integers, so that state is kept by bytes.
type text struct{}

func (text) Append(dst []byte, v uint64) []byte { return fmt.Appendf(dst, "key-%d", v) }
func (text) Decode(src []byte) (v uint64, err error) {
	_, err = fmt.Sscanf(string(src), "key-%d", &v)
	return v, err
}

// If this failed, a job without any fault would not be right: nothing else would matter.
func TestBoundedJobIsExactWithoutFaults(t *testing.T) {
	g := flowtest.Generator{Partitions: 3, Records: 300, Fill: few}
	r := newRig(t, 1, 1, exchange.Options{})
	r.job, r.splits = totals(g, r.out, flow.Uint64), g.Splits()
	r.par.Default = 2
	r.options = task.Options{Batch: 8, CostPerRecord: 20 * time.Microsecond, Check: true}
	r.run(time.Minute)
	checkTotals(t, 1, g, r.out.visible)
	if r.restarts > 0 || r.count < 2 {
		t.Fatalf("%d restarts %q, %d checkpoints", r.restarts, r.failures, r.count)
	}
}

// If this failed, a crash would leave a trace in the output: records twice, missing, or totals of another history.
func TestCrashesLeaveNoTrace(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 30
	}
	restarts, declined := 0, 0
	for seed := range seeds {
		draw := func(n, i uint64) int { return int(sim.Hash(seed, env.KindScenario, i, 0, 0) % n) }
		g := flowtest.Generator{Partitions: int32(1 + draw(5, 1)), Records: 200, Fill: few}
		r := newRig(t, seed, 1+draw(3, 2), exchange.Options{Credits: 1 + draw(3, 3), DrawFrames: draw(2, 4) == 1})
		r.out.slow = draw(3, 5) * 7
		r.job, r.splits = totals(g, r.out, []flow.Codec[uint64]{flow.Uint64, text{}}[draw(2, 6)]), g.Splits()
		r.rescale = func(gen id.Generation) graph.Parallelism {
			return graph.Parallelism{Default: int32(1 + sim.Hash(seed, env.KindScenario, 7, uint64(gen), 0)%4)}
		}
		r.options = task.Options{Batch: 8, DrawBatch: 8, CostPerRecord: time.Duration(draw(400, 8)) * time.Microsecond, Check: true}
		for i := range 1 + draw(4, 9) {
			at := time.Duration(5+draw(200, uint64(20+i))) * time.Millisecond
			r.w.At(env.Instant(at), func() {
				r.crash(draw(uint64(len(r.nodes)), uint64(30+i)), time.Duration(5+draw(40, uint64(40+i)))*time.Millisecond)
			})
		}
		r.run(time.Minute)
		checkTotals(t, seed, g, r.out.visible)
		restarts += r.restarts
		declined += len(r.declined)
	}
	if restarts < int(seeds)/2 {
		t.Fatalf("only %d restarts in %d runs: the crashes hit nothing", restarts, seeds)
	}
	t.Logf("%d runs, %d restarts, %d declined checkpoints", seeds, restarts, declined)
}
