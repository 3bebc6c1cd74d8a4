package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/source"
)

// Options are what a command line may say about a job while it is built.
type Options struct {
	Topics             map[string]string // the job's own names of topics to the cluster's
	Guarantee          operator.Guarantee
	Bounded            bool
	TransactionTimeout time.Duration
	ToleratedFailures  int32
}

// apply makes a job obey the options whose author did not look at them. What the author has set stands, where a flag has a
// default.
func (o Options) apply(job *graph.Job) error {
	var names []string
	for i := range job.Operators {
		op := &job.Operators[i]
		if k, ok := op.Source.(source.Kafka); ok {
			names = append(names, k.Topic)
			k.Topic, k.Bounded = o.topic(k.Topic), k.Bounded || o.Bounded
			op.Source = k
		}
		if k, ok := op.Sink.(sink.Kafka); ok {
			names = append(names, k.Topic)
			k.Topic = o.topic(k.Topic)
			if k.TransactionTimeout == 0 {
				k.TransactionTimeout = o.TransactionTimeout
			}
			if k.ToleratedFailures == 0 {
				k.ToleratedFailures = o.ToleratedFailures
			}
			op.Sink = k
		}
	}
	for _, logical := range slices.Sorted(maps.Keys(o.Topics)) {
		if !slices.Contains(names, logical) && !slices.Contains(names, o.Topics[logical]) {
			return fmt.Errorf("--topic %s=%s: job %s has no topic %s; it has %s", logical, o.Topics[logical], job.Name, logical, strings.Join(names, ", "))
		}
	}
	if o.Guarantee != operator.ExactlyOnce {
		job.Guarantee = o.Guarantee
	}
	return nil
}

func (o Options) topic(logical string) string {
	if name, ok := o.Topics[logical]; ok {
		return name
	}
	return logical
}
