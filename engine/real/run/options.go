package run

import (
	"cmp"
	"errors"
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

// build makes a job that obeys the options, whether its author looks at them or not. What the author has set stands, where a
// flag has a default.
//
// A topic that has another name with Topics than without was named by the author. Whether a name has been replaced cannot be
// told from the name: one topic may be given the name of another, and two may change names. So where topics are renamed, the
// job is built once more without.
func (o Options) build(author func(Options) *graph.Job) (*graph.Job, error) {
	job := author(o)
	if job == nil {
		return nil, errors.New("there is no job: the function that builds it returned nil")
	}
	own := topicNames(job)
	if len(o.Topics) > 0 {
		without := o
		without.Topics = nil
		own = topicNames(author(without))
	}
	for _, logical := range slices.Sorted(maps.Keys(o.Topics)) {
		if !slices.Contains(own, logical) {
			return nil, fmt.Errorf("--topic %s=%s: job %s has no topic %s; it has %s", logical, o.Topics[logical], job.Name, logical, strings.Join(own, ", "))
		}
	}
	n := 0
	eachTopic(job, func(topic *string) {
		if n < len(own) && *topic == own[n] {
			*topic = o.topic(*topic)
		}
		n++
	})
	if n != len(own) {
		return nil, fmt.Errorf("job %s: built twice, it has %d topics and %d: it must be the same each time", job.Name, n, len(own))
	}
	o.apply(job)
	return job, nil
}

// apply makes a job obey all options but Topics.
func (o Options) apply(job *graph.Job) {
	for i := range job.Operators {
		op := &job.Operators[i]
		if k, ok := op.Source.(source.Kafka); ok {
			k.Bounded = k.Bounded || o.Bounded
			op.Source = k
		}
		if k, ok := op.Sink.(sink.Kafka); ok {
			k.TransactionTimeout = cmp.Or(k.TransactionTimeout, o.TransactionTimeout)
			k.ToleratedFailures = cmp.Or(k.ToleratedFailures, o.ToleratedFailures)
			op.Sink = k
		}
	}
	if o.Guarantee != operator.ExactlyOnce {
		job.Guarantee = o.Guarantee
	}
}

// eachTopic lets the name of each topic that a job reads or writes be changed, in the order of its operators.
func eachTopic(job *graph.Job, change func(topic *string)) {
	for i := range job.Operators {
		op := &job.Operators[i]
		if k, ok := op.Source.(source.Kafka); ok {
			change(&k.Topic)
			op.Source = k
		}
		if k, ok := op.Sink.(sink.Kafka); ok {
			change(&k.Topic)
			op.Sink = k
		}
	}
}

func topicNames(job *graph.Job) (names []string) {
	if job != nil {
		eachTopic(job, func(topic *string) { names = append(names, *topic) })
	}
	return names
}

func (o Options) topic(logical string) string {
	if name, ok := o.Topics[logical]; ok {
		return name
	}
	return logical
}
