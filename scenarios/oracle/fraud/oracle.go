// Package fraud is the oracle of the fraud job: an output names its input and carries the card's number of uses, its sum in
// the window of time so far, the amount and the window's number.
package fraud

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/oracle/field"
)

// Oracle reads card uses and scores. Values of an input: amount. Of an output: uses, sum, amount, window.
type Oracle struct{}

// Decode reads one record. The card is the key; order holds within it.
func (Oracle) Decode(h *checker.History, topic int16, key, value []byte, e *checker.Event) error {
	e.Key = h.Key(key)
	v := field.Of(value)
	if h.Topics[topic].Role == checker.Input {
		e.Values[0] = v.Int64()
		return v.Err()
	}
	from := v.Place()
	for i := range e.Values {
		e.Values[i] = v.Int64()
	}
	if err := v.End(); err != nil {
		return err
	}
	h.Source(e, from)
	e.Sequence = e.Values[0]
	return nil
}

// Wants every use of a card.
func (Oracle) Wants(*checker.History, int16, *checker.Record) bool { return true }

// Fold counts the uses and sums the amounts of one window. state: uses, sum, window. Which window an input falls into
// follows from its timestamp, which the history does not hold, so the output's own window is taken, and must not fall.
func (Oracle) Fold(_ *checker.History, _ int16, state *checker.Values, in []*checker.Record, out *checker.Event) (checker.Values, bool) {
	if len(in) != 1 {
		return checker.Values{}, true
	}
	state[0]++
	if w := out.Values[3]; w > state[2] {
		state[1], state[2] = 0, w
	}
	state[1] += in[0].Values[0]
	return checker.Values{state[0], state[1], in[0].Values[0], state[2]}, true
}
