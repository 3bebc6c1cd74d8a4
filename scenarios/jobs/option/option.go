// Package option has what every job of the catalogue can be told when it is built: names of topics, guarantee, bounds, time
// limits, and for negative controls what takes the place of its source and sink.
package option

import (
	"time"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/source"
)

// Options are the settings of a job. The zero value is a job as its author meant it.
type Options struct {
	// Topics maps a job's own names of topics to those of the cluster; a name that is not in it stands for itself.
	Topics             map[string]string
	Guarantee          operator.Guarantee
	Bounded            bool
	TransactionTimeout time.Duration
	ToleratedFailures  int32
	Linger             time.Duration
	DeliveryTimeout    time.Duration
	KeyGroups          int32
	MaxEpoch           int16 // of the cluster's producer ids; 0 is Kafka's
	// Source and Sink, when set, may change or wrap what a job reads and writes with: negative controls are made so.
	Source func(source.Kafka) graph.SourceFactory
	Sink   func(sink.Kafka) graph.SinkFactory
	// Effect, when set, is called by jobs inside an operator, once for each record: a side effect, which no engine can
	// take back. It exists to show so.
	Effect func(topic string, partition int32, offset int64)
}

// Topic is the cluster's name of a job's topic.
func (o Options) Topic(logical string) string {
	if t, ok := o.Topics[logical]; ok {
		return t
	}
	return logical
}

// From is the source of a topic.
func (o Options) From(logical string) graph.SourceFactory {
	k := source.Kafka{Topic: o.Topic(logical), Bounded: o.Bounded}
	if o.Source != nil {
		return o.Source(k)
	}
	return k
}

// To is the sink of a topic.
func (o Options) To(logical string) graph.SinkFactory {
	k := sink.Kafka{
		Topic: o.Topic(logical), TransactionTimeout: o.TransactionTimeout, ToleratedFailures: o.ToleratedFailures,
		Linger: o.Linger, DeliveryTimeout: o.DeliveryTimeout, MaxEpoch: o.MaxEpoch,
	}
	if o.Sink != nil {
		return o.Sink(k)
	}
	return k
}

// Finish sets what concerns the job as a whole.
func (o Options) Finish(j *graph.Job) *graph.Job {
	j.Guarantee = o.Guarantee
	if o.KeyGroups > 0 {
		j.KeyGroups = o.KeyGroups
	}
	return j
}
