package run_test

import (
	"encoding/binary"
	"fmt"

	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/source"
)

// A job of one's own as a whole program: it counts the payments of each account.
func Example() {
	type count struct{ account, n uint64 }

	account := func(r *operator.Record) (uint64, error) {
		if len(r.Key) != 8 {
			return 0, fmt.Errorf("a key of %d bytes", len(r.Key))
		}
		return binary.BigEndian.Uint64(r.Key), nil
	}
	counter := func(op *flow.Setup) func(*flow.Context[uint64, count], uint64) error {
		seen := flow.NewValue(op, "seen", flow.Uint64)
		return func(ctx *flow.Context[uint64, count], account uint64) error {
			n, _ := seen.Get()
			seen.Set(n + 1)
			ctx.Emit(count{account, n + 1})
			return nil
		}
	}
	line := func(c count, r *operator.Record) error {
		r.Key = binary.BigEndian.AppendUint64(r.Key, c.account)
		r.Value = fmt.Appendf(r.Value, "%d", c.n)
		return nil
	}

	run.Main(func(run.Options) *graph.Job {
		job := flow.New("counts")
		in := flow.From(job, "payments", source.Kafka{Topic: "payments"}, account)
		byAccount := flow.KeyBy(in, func(account uint64) uint64 { return account }, flow.Uint64)
		flow.To(flow.Process(byAccount, "count", counter), "counts", sink.Kafka{Topic: "counts"}, line)
		return job
	})
}
