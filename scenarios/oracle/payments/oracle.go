// Package payments is the oracle of the payments job: outputs name their input by its sequence number and carry the running
// total of the account.
package payments

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/oracle/field"
)

// Oracle reads payments and totals. Values of an input: amount. Of an output: total, amount.
type Oracle struct{}

// Decode reads one record. The account is the key of both.
func (Oracle) Decode(h *checker.History, topic int16, key, value []byte, e *checker.Event) error {
	k := field.Of(key)
	k.Int64()
	if err := k.End(); err != nil {
		return err
	}
	v := field.Of(value)
	e.Key = h.Key(key)
	if h.Topics[topic].Role == checker.Input {
		e.Values[0] = v.Int64()
		e.Number = v.Int64()
		return v.Err() // filler follows
	}
	e.Values[0], e.Values[1] = v.Int64(), v.Int64()
	n := v.Int64()
	if err := v.End(); err != nil {
		return err
	}
	e.Sequence = n + 1
	h.Source(e, checker.Source{Topic: 0, Partition: checker.Numbered, Offset: n})
	return nil
}

// Wants every payment.
func (Oracle) Wants(*checker.History, int16, *checker.Record) bool { return true }

// Fold adds the amount of the payment to the account's total.
func (Oracle) Fold(_ *checker.History, _ int16, state *checker.Values, in []*checker.Record, _ *checker.Event) (checker.Values, bool) {
	var amount int64
	for _, r := range in {
		amount += r.Values[0]
	}
	state[0] += amount
	return checker.Values{state[0], amount}, true
}
