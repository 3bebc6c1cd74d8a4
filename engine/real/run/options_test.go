package run

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/source"
)

func lineJob() *graph.Job {
	job := flow.New("lines")
	in := flow.From(job, "in", source.Kafka{Topic: "in"}, func(r *operator.Record) (string, error) { return string(r.Value), nil })
	flow.To(in, "out", sink.Kafka{Topic: "out"}, func(v string, r *operator.Record) error {
		r.Value = append(r.Value, v...)
		return nil
	})
	return job
}

// A job whose author looked at no option runs as its flags say.
func TestAJobObeysOptions(t *testing.T) {
	job := lineJob()
	o := Options{Topics: map[string]string{"in": "lines-1"}, Guarantee: operator.AtLeastOnce, Bounded: true, TransactionTimeout: time.Minute}
	if err := o.apply(job); err != nil {
		t.Fatal(err)
	}
	from, to := job.Operators[0].Source.(source.Kafka), job.Operators[1].Sink.(sink.Kafka)
	if from.Topic != "lines-1" || !from.Bounded || to.Topic != "out" || to.TransactionTimeout != time.Minute || job.Guarantee != operator.AtLeastOnce {
		t.Errorf("%+v, %+v, %v", from, to, job.Guarantee)
	}
}

// A topic that the job does not have is a mistyped one.
func TestAnOptionForNoTopicIsRefused(t *testing.T) {
	err := Options{Topics: map[string]string{"inn": "lines-1"}}.apply(lineJob())
	if err == nil || !strings.Contains(err.Error(), "it has in, out") {
		t.Error(err)
	}
}
