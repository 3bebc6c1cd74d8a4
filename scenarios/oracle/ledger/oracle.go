// Package ledger is the oracle of the ledger job: an output is account or region, total, amount, and the name of its input.
// Inputs of the second topic, the debits, count negative.
package ledger

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/oracle/field"
)

// Oracle reads postings and lines. Values of an input: amount with its sign. Of an output: total, amount.
type Oracle struct{}

// Decode reads one record. Lines of one account, or one region, are in order as the total says; their inputs come from two
// topics, so no number rises.
func (Oracle) Decode(h *checker.History, topic int16, key, value []byte, e *checker.Event) error {
	e.Key = h.Key(key)
	v := field.Of(value)
	if h.Topics[topic].Role == checker.Input {
		e.Values[0] = v.Int64()
		if topic == 1 {
			e.Values[0] = -e.Values[0]
		}
		return v.Err()
	}
	v.Int64() // account or region: the key says it
	e.Values[0], e.Values[1] = v.Int64(), v.Int64()
	from := v.Place()
	if err := v.End(); err != nil {
		return err
	}
	h.Source(e, from)
	return nil
}

// Wants every posting in both outputs.
func (Oracle) Wants(*checker.History, int16, *checker.Record) bool { return true }

// Fold adds up amounts.
func (Oracle) Fold(_ *checker.History, _ int16, state *checker.Values, in []*checker.Record, _ *checker.Event) (checker.Values, bool) {
	var amount int64
	for _, r := range in {
		amount += r.Values[0]
	}
	state[0] += amount
	return checker.Values{state[0], amount}, true
}
