// Package fraud scores card transactions: keyed enrichment with what is known of a card, then a score over the card's
// transactions in a window of time. It is the job of the worked trace: a checkpoint, a crash 17 seconds after it, a replay.
package fraud

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

// The job's topics.
const (
	In  = "cards"
	Out = "scores"
)

// WindowMs is the length of a window of event time.
const WindowMs = 10_000

// swipe is one use of a card. Seen is how often the card was used before.
type swipe struct {
	card   uint64
	amount int64
	seen   int64
	from   place.Place
}

// Score is one output: the card's number of uses ever and its sum in the window so far.
type Score struct {
	Card   uint64
	Uses   int64
	Sum    int64
	Amount int64
	Window int64
	From   place.Place
}

type window struct{ number, sum int64 }

// Job builds the job.
func Job(o option.Options) *graph.Job {
	job := flow.New("fraud")
	in := flow.From(job, "cards", o.From(In), func(r *operator.Record) (swipe, error) {
		p, err := payments.Decode(r.Key, r.Value)
		if err == nil && o.Effect != nil {
			o.Effect(r.Topic, r.Partition, r.Offset)
		}
		return swipe{card: p.Account, amount: p.Amount, from: place.Place{Partition: r.Partition, Offset: r.Offset}}, err
	}).Via(codec{})
	card := func(s swipe) uint64 { return s.card }
	enriched := flow.Process(flow.KeyBy(in, card, flow.Uint64), "enrich", func(op *flow.Setup) func(*flow.Context[uint64, swipe], swipe) error {
		uses := flow.NewValue(op, "uses", flow.Int64)
		return func(ctx *flow.Context[uint64, swipe], s swipe) error {
			s.seen, _ = uses.Get()
			s.seen++
			uses.Set(s.seen)
			ctx.Emit(s)
			return nil
		}
	}).Via(codec{})
	scores := flow.Process(flow.KeyBy(enriched, card, flow.Uint64), "score", func(op *flow.Setup) func(*flow.Context[uint64, Score], swipe) error {
		open := flow.NewValue(op, "window", windowCodec{})
		return func(ctx *flow.Context[uint64, Score], s swipe) error {
			w, _ := open.Get()
			if n := ctx.Timestamp() / WindowMs; n != w.number {
				w = window{number: n}
			}
			w.sum += s.amount
			open.Set(w)
			ctx.Emit(Score{Card: s.card, Uses: s.seen, Sum: w.sum, Amount: s.amount, Window: w.number, From: s.from})
			return nil
		}
	})
	flow.To(scores, "scores", o.To(Out), func(s Score, r *operator.Record) error {
		r.Key = payments.AppendKey(r.Key, s.Card)
		r.Value = s.AppendValue(r.Value)
		return nil
	})
	return o.Finish(job)
}

// Input makes record number seq of the input topic: a payment by card.
func Input(topic string, seq, cards uint64) (key, value []byte) {
	return payments.Input(topic, seq, cards)
}

// AppendValue appends the value of a score.
func (s Score) AppendValue(dst []byte) []byte {
	dst = s.From.Append(dst)
	for _, n := range [...]int64{s.Uses, s.Sum, s.Amount, s.Window} {
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// codec carries a swipe between subtasks.
type codec struct{}

func (codec) Append(dst []byte, s swipe) []byte {
	for _, n := range [...]uint64{s.card, uint64(s.amount), uint64(s.seen)} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return s.from.Append(dst)
}

func (codec) Decode(src []byte) (swipe, error) {
	if len(src) != 24+place.Bytes {
		return swipe{}, fmt.Errorf("a swipe between subtasks has %d bytes, not %d", 24+place.Bytes, len(src))
	}
	from, _, err := place.Cut(src[24:])
	return swipe{
		card:   binary.BigEndian.Uint64(src),
		amount: int64(binary.BigEndian.Uint64(src[8:])),
		seen:   int64(binary.BigEndian.Uint64(src[16:])),
		from:   from,
	}, err
}

type windowCodec struct{}

func (windowCodec) Append(dst []byte, w window) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(w.number)), uint64(w.sum))
}

func (windowCodec) Decode(src []byte) (window, error) {
	if len(src) != 16 {
		return window{}, fmt.Errorf("a window has 16 bytes, not %d", len(src))
	}
	return window{int64(binary.BigEndian.Uint64(src)), int64(binary.BigEndian.Uint64(src[8:]))}, nil
}
