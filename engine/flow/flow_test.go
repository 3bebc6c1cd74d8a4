package flow_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/flow/flowtest"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/stream"
)

var (
	in  = flowtest.Generator{Partitions: 1}
	out = flowtest.Counter{Count: func(int64, int64) {}}
)

func value(r *operator.Record) (uint64, error) {
	if len(r.Value) != 8 {
		return 0, errors.New("not eight bytes")
	}
	return binary.BigEndian.Uint64(r.Value), nil
}

func encode(v uint64, r *operator.Record) error {
	r.Value = binary.BigEndian.AppendUint64(r.Value, v)
	return nil
}

// wire is the writer of an edge and the reader of the next vertex in one.
type wire struct {
	chain  *graph.Chain
	pool   stream.Pool
	batch  *stream.Batch
	follow func([]byte)
}

func (w *wire) Batch(*stream.Head) *stream.Batch {
	w.batch = w.pool.Get()
	return w.batch
}

func (w *wire) Wrote(b *stream.Batch) {
	c := b.Cursor()
	for c.Next() != 0 {
		c.Head(&w.chain.Head)
		w.follow(c.Payload())
	}
	w.pool.Free(b)
}

// assemble composes all vertices of a job of parallelism 1 into one line and returns its head. Sinks write to write.
func assemble(t testing.TB, job *graph.Job, write func(*operator.Record)) (head func(*operator.Record), c *graph.Chain) {
	t.Helper()
	plan, err := job.Plan(graph.Parallelism{Default: 1})
	if err != nil {
		t.Fatal(err)
	}
	c = &graph.Chain{KeyGroups: job.KeyGroups, State: make([]state.Backend, len(job.Operators))}
	wires := map[int]*wire{}
	for v := len(plan.Vertices) - 1; v >= 0; v-- {
		g, err := plan.Compose(v, c, graph.Outlets{
			Edge: func(e int) graph.Writer { return wires[e] },
			Sink: func(int) func(*operator.Record) { return write },
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range plan.Entering(v) {
			wires[e] = &wire{chain: c, follow: g.Payloads[i]}
		}
		head = g.Records
	}
	return head, c
}

// record is one generated record with this value.
func record(v uint64) *operator.Record {
	return &operator.Record{Value: binary.BigEndian.AppendUint64(nil, v), Timestamp: int64(v), Partition: 3, Offset: int64(v)}
}

// words is map -> filter -> flat map -> keyed count -> sink.
func words() *graph.Job {
	job := flow.New("words")
	a := flow.From(job, "in", in, value)
	b := flow.Map(a, func(v uint64) (uint64, error) { return v + 1, nil })
	c := flow.Filter(b, func(v uint64) bool { return v%3 != 0 })
	d := flow.FlatMap(c, func(v uint64, emit func(uint64)) error {
		emit(v)
		emit(v * 10)
		return nil
	})
	e := flow.Process(flow.KeyBy(d, func(v uint64) uint64 { return v % 2 }, flow.Uint64), "count",
		func(op *flow.Setup) func(*flow.Context[uint64, uint64], uint64) error {
			n := flow.NewValue(op, "n", flow.Uint64)
			return func(ctx *flow.Context[uint64, uint64], v uint64) error {
				x, _ := n.Get()
				n.Set(x + 1)
				ctx.EmitAt(ctx.Timestamp()+1000, v*100+x)
				return nil
			}
		})
	flow.To(e, "out", out, encode)
	return job
}

// If this failed, operators would not do what their names say.
func TestOperatorsDoWhatTheySay(t *testing.T) {
	var got []string
	head, c := assemble(t, words(), func(r *operator.Record) {
		v, _ := value(r)
		got = append(got, fmt.Sprintf("%d@%d", v, r.Timestamp))
		if r.Key != nil || r.Partition != -1 {
			t.Errorf("key %v, partition %d", r.Key, r.Partition)
		}
	})
	for v := range uint64(5) {
		head(record(v))
	}
	// 1 2 4 5 pass the filter; 1 and 5 are odd, all others even.
	want := "100@1000 1000@1000 201@1001 2002@1001 403@1003 4004@1003 501@1004 5005@1004"
	if s := strings.Join(got, " "); s != want || c.Failed() {
		t.Fatalf("got  %s\nwant %s, failed %v", s, want, c.Failed())
	}
}

// If this failed, a function would keep its state under one key and speak of another.
func TestContextKnowsKeyAndTimeOfItsRecord(t *testing.T) {
	job := flow.New("keys")
	keyed := flow.KeyBy(flow.From(job, "in", in, value), func(v uint64) uint64 { return v % 2 }, flow.Uint64)
	told := flow.Process(keyed, "tell", func(*flow.Setup) func(*flow.Context[uint64, uint64], uint64) error {
		return func(ctx *flow.Context[uint64, uint64], v uint64) error {
			ctx.Emit(ctx.Key()*100 + uint64(ctx.Timestamp())*10 + uint64(ctx.Origin().Offset))
			return nil
		}
	})
	flow.To(told, "out", out, encode)
	var got []uint64
	head, _ := assemble(t, job, func(r *operator.Record) {
		v, _ := value(r)
		got = append(got, v)
	})
	for v := range uint64(4) {
		head(record(v))
	}
	if want := []uint64{0, 111, 22, 133}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// If this failed, an operator that must not run in parallel would.
func TestParallelismOfAnOperatorIsItsOwn(t *testing.T) {
	job := flow.New("wide")
	a := flow.Rebalance(flow.From(job, "in", in, value))
	b := flow.Map(a, func(v uint64) (uint64, error) { return v, nil }, flow.Parallelism(3))
	flow.To(flow.Rebalance(b), "out", out, encode)
	plan, err := job.Plan(graph.Parallelism{Default: 2})
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Parallelism(); !slices.Equal(got, []int32{2, 3, 2}) {
		t.Errorf("%v", got)
	}
}

// If this failed, a record would cost an allocation.
func TestChainAllocatesNothingPerRecord(t *testing.T) {
	n := 0
	head, _ := assemble(t, words(), func(*operator.Record) { n++ })
	r := record(7)
	head(r)
	if a := testing.AllocsPerRun(1000, func() { head(r) }); a > 0 || n < 1000 {
		t.Fatalf("%v allocations per record, %d came out", a, n)
	}
}

// If this failed, records after a failed one would be emitted, or the failure would be told of another operator.
func TestFailureStopsTheRecord(t *testing.T) {
	job := flow.New("failing")
	a := flow.From(job, "in", in, value)
	b := flow.FlatMap(a, func(v uint64, emit func(uint64)) error {
		emit(1)
		emit(2)
		emit(3)
		return nil
	}, flow.UID("thrice"))
	c := flow.Map(b, func(v uint64) (uint64, error) {
		if v == 2 {
			return 0, errors.New("two")
		}
		return v, nil
	}, flow.UID("picky"))
	flow.To(c, "out", out, encode)
	n := 0
	head, chain := assemble(t, job, func(*operator.Record) { n++ })
	head(record(0))
	op, err := chain.Failure()
	if n != 1 || err == nil || err.Error() != "two" || job.Operators[op].UID != "picky" || chain.At != graph.Engine {
		t.Fatalf("%d came out, operator %d failed with %v, at %d", n, op, err, chain.At)
	}
	head, chain = assemble(t, job, func(*operator.Record) {})
	head(&operator.Record{Value: []byte("x")})
	if op, err := chain.Failure(); op != 0 || err == nil || err.Error() != "decode: not eight bytes" {
		t.Fatalf("operator %d failed with %v", op, err)
	}
}

// If this failed, a tombstone would be an empty value, or the bytes of one record would show up in the next.
func TestSinkTellsNullFromEmpty(t *testing.T) {
	own := []byte("the author's own memory, longer than any buffer that the sink would begin with, to be safe")
	for name, c := range map[string]struct {
		fill       func(*operator.Record)
		key, value []byte
	}{
		"nothing":   {func(*operator.Record) {}, nil, []byte{}},
		"tombstone": {func(r *operator.Record) { r.Key, r.Value = append(r.Key, 'k'), nil }, []byte("k"), nil},
		"appended":  {func(r *operator.Record) { r.Value = append(r.Value, "abc"...) }, nil, []byte("abc")},
		"replaced":  {func(r *operator.Record) { r.Value = own }, nil, own},
	} {
		job := flow.New("nulls")
		flow.To(flow.From(job, "in", in, value), "out", out, func(v uint64, r *operator.Record) error {
			if v == 1 {
				c.fill(r)
			} else {
				r.Value = append(r.Value, bytes.Repeat([]byte{'.'}, 80)...)
			}
			return nil
		})
		var got operator.Record
		head, _ := assemble(t, job, func(r *operator.Record) { got = *r })
		before := bytes.Clone(own)
		for _, v := range []uint64{0, 1} {
			head(record(v))
		}
		if !bytes.Equal(got.Key, c.key) || !bytes.Equal(got.Value, c.value) || (got.Key == nil) != (c.key == nil) || (got.Value == nil) != (c.value == nil) {
			t.Errorf("%s: key %v, value %v", name, got.Key, got.Value)
		}
		head(record(0))
		if !bytes.Equal(own, before) {
			t.Errorf("%s: the sink wrote into memory of the author", name)
		}
	}
}

// If this failed, a mistake of an author would show up as a panic at run time, or not at all.
func TestMistakesAreSaidInWords(t *testing.T) {
	type row struct{ A, B int }
	count := func(op *flow.Setup) func(*flow.Context[uint64, uint64], uint64) error {
		flow.NewValue(op, "n", flow.Uint64)
		flow.NewValue(op, "n", flow.Uint64)
		return func(*flow.Context[uint64, uint64], uint64) error { return nil }
	}
	for name, c := range map[string]struct {
		build func(*graph.Job)
		want  string
	}{
		"no codec": {func(j *graph.Job) {
			a := flow.From(j, "in", in, func(*operator.Record) (row, error) { return row{}, nil })
			flow.To(flow.Rebalance(a), "out", out, func(row, *operator.Record) error { return nil })
		}, "their type has no codec"},
		"uid": {func(j *graph.Job) {
			flow.To(flow.From(j, "In", in, value), "out", out, encode)
		}, `"In" cannot be the uid`},
		"same uid": {func(j *graph.Job) {
			a := flow.From(j, "in", in, value)
			flow.To(a, "out", out, encode)
			flow.To(a, "out", out, encode)
		}, "two operators have the uid out"},
		"two states": {func(j *graph.Job) {
			a := flow.KeyBy(flow.From(j, "in", in, value), func(v uint64) uint64 { return v }, flow.Uint64)
			flow.To(flow.Process(a, "count", count), "out", out, encode)
		}, `operator count: two states are called "n"`},
		"two jobs": {func(j *graph.Job) {
			a := flow.From(j, "in", in, value)
			b := flow.From(flow.New("other"), "in", in, value)
			flow.To(flow.Union(a, b), "out", out, encode)
		}, "streams of two jobs"},
	} {
		job := flow.New("wrong")
		c.build(job)
		plan, err := job.Plan(graph.Parallelism{Default: 1})
		for v := 0; err == nil && v < len(plan.Vertices); v++ {
			chain := &graph.Chain{KeyGroups: job.KeyGroups, State: make([]state.Backend, len(job.Operators))}
			_, err = plan.Compose(v, chain, graph.Outlets{
				Edge: func(int) graph.Writer { return nil }, Sink: func(int) func(*operator.Record) { return func(*operator.Record) {} },
			})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If this failed, a value would change on its way to another subtask or into a snapshot.
func TestCodecsReturnWhatTheyWereGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roundTrip(t, flow.Int64, rapid.Int64().Draw(t, "int64"))
		roundTrip(t, flow.Uint64, rapid.Uint64().Draw(t, "uint64"))
		roundTrip(t, flow.Int32, rapid.Int32().Draw(t, "int32"))
		roundTrip(t, flow.Uint32, rapid.Uint32().Draw(t, "uint32"))
		roundTrip(t, flow.Integer[time.Duration](), time.Duration(rapid.Int64().Draw(t, "duration")))
		roundTrip(t, flow.String, rapid.String().Draw(t, "string"))
		roundTrip(t, flow.JSON[map[string]int](), rapid.MapOf(rapid.StringMatching("[a-z]*"), rapid.Int()).Draw(t, "json"))
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		src := flow.Bytes.Append([]byte("x"), b)[1:]
		got, err := flow.Bytes.Decode(src)
		clear(src)
		if err != nil || len(got) != len(b) {
			t.Fatalf("%v %v", got, err)
		}
	})
}

func roundTrip[T any](t *rapid.T, c flow.Codec[T], v T) {
	b := c.Append([]byte("before"), v)
	got, err := c.Decode(b[6:])
	if err != nil || fmt.Sprint(got) != fmt.Sprint(v) {
		t.Fatalf("%v became %v, %v", v, got, err)
	}
}
