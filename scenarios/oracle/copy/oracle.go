// Package copy is the oracle of the copy job: an output is the name of its input and then the input's value, under the
// input's key.
package copy

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/scenarios/oracle/field"
)

// Oracle reads payments and their copies. Values of both: amount and sequence number.
type Oracle struct{}

// Decode reads one record. The key is that of the record; order holds within it, by the offset of the input.
func (Oracle) Decode(h *checker.History, topic int16, key, value []byte, e *checker.Event) error {
	e.Key = h.Key(key)
	v := field.Of(value)
	if h.Topics[topic].Role == checker.Output {
		from := v.Place()
		if v.Err() != nil {
			return v.Err()
		}
		h.Source(e, from)
		e.Sequence = from.Offset + 1
	}
	e.Values[0], e.Values[1] = v.Int64(), v.Int64()
	return v.Err()
}

// Wants every record.
func (Oracle) Wants(*checker.History, int16, *checker.Record) bool { return true }

// Fold: a copy has what its input has.
func (Oracle) Fold(_ *checker.History, _ int16, _ *checker.Values, in []*checker.Record, _ *checker.Event) (checker.Values, bool) {
	if len(in) != 1 {
		return checker.Values{}, true
	}
	return in[0].Values, true
}
