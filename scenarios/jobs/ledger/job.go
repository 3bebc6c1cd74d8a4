// Package ledger joins credits and debits by account into balances, and rolls these up to branches and regions. It is where
// alignment and atomicity over several sinks can fail: two sources meet in one operator with two inputs, three exchanges
// follow each other, and two sinks must hold the same set in the end.
package ledger

import (
	"encoding/binary"
	"fmt"

	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/scenarios/jobs/option"
	"github.com/onefold/onefold/scenarios/jobs/payments"
	"github.com/onefold/onefold/scenarios/jobs/place"
)

// The job's topics. Credits is input topic 0, debits 1.
const (
	Credits  = "credits"
	Debits   = "debits"
	Balances = "balances"
	Regions  = "regions"
)

// Branch and region of an account.
const (
	Branches = 16
	AllOver  = 4
)

// posting is a change of one account.
type posting struct {
	account uint64
	amount  int64 // negative for a debit
	from    place.Place
}

// Line is one output: of an account (balances) or of a region.
type Line struct {
	Of     uint64 // account or region
	Total  int64
	Amount int64
	From   place.Place
}

// Branch is the branch of an account, Region that of a branch.
func Branch(account uint64) uint64 { return account % Branches }

// Region is the region of a branch.
func Region(branch uint64) uint64 { return branch % AllOver }

// Job builds the job.
func Job(o option.Options) *graph.Job {
	job := flow.New("ledger")
	credits := postings(job, o, Credits, 0, 1)
	debits := postings(job, o, Debits, 1, -1)
	account := func(p posting) uint64 { return p.account }
	both := flow.Connect(flow.KeyBy(credits, account, flow.Uint64), flow.KeyBy(debits, account, flow.Uint64))
	type fn = func(*flow.Context[uint64, Line], posting) error
	balances := flow.ProcessBoth(both, "balance", func(op *flow.Setup) (fn, fn) {
		sum := flow.NewValue(op, "sum", flow.Int64)
		post := func(ctx *flow.Context[uint64, Line], p posting) error {
			total, _ := sum.Get()
			total += p.amount
			sum.Set(total)
			ctx.Emit(Line{Of: p.account, Total: total, Amount: p.amount, From: p.from})
			return nil
		}
		return post, post
	}).Via(codec{})
	write(balances, "balances", o.To(Balances))
	branches := rollUp(balances, "branch", Branch)
	regions := rollUp(branches, "region", Region)
	write(regions, "regions", o.To(Regions))
	return o.Finish(job)
}

func postings(job *graph.Job, o option.Options, topic string, number uint8, sign int64) flow.Stream[posting] {
	return flow.From(job, topic, o.From(topic), func(r *operator.Record) (posting, error) {
		p, err := payments.Decode(r.Key, r.Value)
		if err == nil && o.Effect != nil {
			o.Effect(r.Topic, r.Partition, r.Offset)
		}
		return posting{p.Account, sign * p.Amount, place.Place{Topic: number, Partition: r.Partition, Offset: r.Offset}}, err
	}).Via(postingCodec{})
}

// rollUp keys lines by the next larger unit and keeps its running total.
func rollUp(lines flow.Stream[Line], uid string, unit func(uint64) uint64) flow.Stream[Line] {
	by := flow.KeyBy(lines, func(l Line) uint64 { return unit(l.Of) }, flow.Uint64)
	return flow.Process(by, uid, func(op *flow.Setup) func(*flow.Context[uint64, Line], Line) error {
		sum := flow.NewValue(op, "sum", flow.Int64)
		return func(ctx *flow.Context[uint64, Line], l Line) error {
			total, _ := sum.Get()
			total += l.Amount
			sum.Set(total)
			ctx.Emit(Line{Of: unit(l.Of), Total: total, Amount: l.Amount, From: l.From})
			return nil
		}
	}).Via(codec{})
}

func write(lines flow.Stream[Line], uid string, to graph.SinkFactory) {
	flow.To(lines, uid, to, func(l Line, r *operator.Record) error {
		r.Key = payments.AppendKey(r.Key, l.Of)
		r.Value = codec{}.Append(r.Value, l)
		return nil
	})
}

// Input makes record number seq of an input topic: a payment. Debits are other payments than credits.
func Input(topic string, seq, accounts uint64) (key, value []byte) {
	p := payments.At(seq, accounts)
	if topic == Debits {
		p = payments.At(^seq, accounts)
		p.Sequence = seq
	}
	return payments.AppendKey(nil, p.Account), p.AppendValue(nil)
}

// codec carries a line between subtasks and into the sinks.
type codec struct{}

func (codec) Append(dst []byte, l Line) []byte {
	for _, n := range [...]uint64{l.Of, uint64(l.Total), uint64(l.Amount)} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return l.From.Append(dst)
}

func (codec) Decode(src []byte) (Line, error) {
	if len(src) != 24+place.Bytes {
		return Line{}, fmt.Errorf("a ledger line has %d bytes, not %d", 24+place.Bytes, len(src))
	}
	from, _, err := place.Cut(src[24:])
	return Line{
		Of:     binary.BigEndian.Uint64(src),
		Total:  int64(binary.BigEndian.Uint64(src[8:])),
		Amount: int64(binary.BigEndian.Uint64(src[16:])),
		From:   from,
	}, err
}

type postingCodec struct{}

func (postingCodec) Append(dst []byte, p posting) []byte {
	dst = binary.BigEndian.AppendUint64(dst, p.account)
	return p.from.Append(binary.BigEndian.AppendUint64(dst, uint64(p.amount)))
}

func (postingCodec) Decode(src []byte) (posting, error) {
	if len(src) != 16+place.Bytes {
		return posting{}, fmt.Errorf("a posting between subtasks has %d bytes, not %d", 16+place.Bytes, len(src))
	}
	from, _, err := place.Cut(src[16:])
	return posting{binary.BigEndian.Uint64(src), int64(binary.BigEndian.Uint64(src[8:])), from}, err
}
