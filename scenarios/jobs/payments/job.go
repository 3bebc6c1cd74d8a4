// Package payments is the reference job: payments by account become running totals, one output for each input.
//
// Its records are those of the comparison with other engines: an input has the account as key (8 bytes) and a value of 100
// bytes (amount, sequence, filler); an output has the account as key and a value of 24 bytes (total, amount, sequence).
package payments

import (
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/scenarios/jobs/option"
)

// The job's topics.
const (
	In  = "payments"
	Out = "totals"
)

// Job builds the job.
func Job(o option.Options) *graph.Job {
	job := flow.New("payments")
	in := flow.From(job, "payments", o.From(In), func(r *operator.Record) (Payment, error) {
		p, err := Decode(r.Key, r.Value)
		if err == nil && o.Effect != nil {
			o.Effect(r.Topic, r.Partition, r.Offset)
		}
		return p, err
	}).Via(codec{})
	byAccount := flow.KeyBy(in, func(p Payment) uint64 { return p.Account }, flow.Uint64)
	totals := flow.Process(byAccount, "total", func(op *flow.Setup) func(*flow.Context[uint64, Total], Payment) error {
		sum := flow.NewValue(op, "sum", flow.Int64)
		return func(ctx *flow.Context[uint64, Total], p Payment) error {
			total, _ := sum.Get()
			total += p.Amount
			sum.Set(total)
			ctx.Emit(Total{Account: p.Account, Total: total, Amount: p.Amount, Sequence: p.Sequence})
			return nil
		}
	})
	flow.To(totals, "totals", o.To(Out), func(t Total, r *operator.Record) error {
		r.Key = AppendKey(r.Key, t.Account)
		r.Value = t.AppendValue(r.Value)
		return nil
	})
	return o.Finish(job)
}

// Input makes record number seq of the input topic.
func Input(_ string, seq, accounts uint64) (key, value []byte) {
	p := At(seq, accounts)
	key = AppendKey(make([]byte, 0, KeyBytes+ValueBytes), p.Account)
	return key[:KeyBytes:KeyBytes], p.AppendValue(key[KeyBytes:])
}
