// Package copy is the smallest job: each record of one topic goes to another, with the place it came from in front of its
// value. There is no state and no exchange.
package copy

import (
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/scenarios/jobs/option"
	"github.com/onefold/onefold/scenarios/jobs/payments"
	"github.com/onefold/onefold/scenarios/jobs/place"
)

// The job's topics.
const (
	In  = "in"
	Out = "out"
)

// line is one record under way. Key and value are those of the fetched batch: the chain ends within the same call.
type line struct {
	key, value []byte
	from       place.Place
}

// Job builds the job.
func Job(o option.Options) *graph.Job {
	job := flow.New("copy")
	in := flow.From(job, "in", o.From(In), func(r *operator.Record) (line, error) {
		if o.Effect != nil {
			o.Effect(r.Topic, r.Partition, r.Offset)
		}
		return line{r.Key, r.Value, place.Place{Partition: r.Partition, Offset: r.Offset}}, nil
	})
	flow.To(in, "out", o.To(Out), func(l line, r *operator.Record) error {
		r.Key = append(r.Key, l.key...)
		r.Value = append(l.from.Append(r.Value), l.value...)
		return nil
	})
	return o.Finish(job)
}

// Input makes record number seq of the input topic: a payment.
func Input(topic string, seq, accounts uint64) (key, value []byte) {
	return payments.Input(topic, seq, accounts)
}
