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

func lineJob(o Options, reads bool) *graph.Job {
	name := func(logical string) string {
		if reads {
			return o.topic(logical)
		}
		return logical
	}
	job := flow.New("lines")
	in := flow.From(job, "in", source.Kafka{Topic: name("a")}, func(r *operator.Record) (string, error) { return string(r.Value), nil })
	flow.To(in, "out", sink.Kafka{Topic: name("b")}, func(v string, r *operator.Record) error {
		r.Value = append(r.Value, v...)
		return nil
	})
	return job
}

func ignoring(o Options) *graph.Job { return lineJob(o, false) }
func reading(o Options) *graph.Job  { return lineJob(o, true) }

// A job whose author looked at no option runs as its flags say.
func TestAJobObeysOptions(t *testing.T) {
	o := Options{Topics: map[string]string{"a": "lines-1"}, Guarantee: operator.AtLeastOnce, Bounded: true, TransactionTimeout: time.Minute}
	job, err := o.build(ignoring)
	if err != nil {
		t.Fatal(err)
	}
	from, to := job.Operators[0].Source.(source.Kafka), job.Operators[1].Sink.(sink.Kafka)
	if from.Topic != "lines-1" || !from.Bounded || to.Topic != "b" || to.TransactionTimeout != time.Minute || job.Guarantee != operator.AtLeastOnce {
		t.Errorf("%+v, %+v, %v", from, to, job.Guarantee)
	}
}

// Every name is replaced once, whoever does it: if this failed, a job would read or write a topic that nobody named.
func TestTopicsAreRenamedOnce(t *testing.T) {
	for _, c := range []struct {
		flags, from, to string
	}{
		{"", "a", "b"},
		{"a=x", "x", "b"},
		{"a=b b=c", "b", "c"},
		{"a=b b=a", "b", "a"},
		{"b=a", "a", "a"},
		{"a=a", "a", "b"},
	} {
		o, err := (&Flags{Topics: strings.Fields(c.flags), Guarantee: "exactly-once"}).Options()
		if err != nil {
			t.Fatal(err)
		}
		for who, author := range map[string]func(Options) *graph.Job{"reads Topics": reading, "ignores Topics": ignoring} {
			job, err := o.build(author)
			if err != nil {
				t.Fatal(err)
			}
			from, to := job.Operators[0].Source.(source.Kafka), job.Operators[1].Sink.(sink.Kafka)
			if from.Topic != c.from || to.Topic != c.to {
				t.Errorf("%s, an author who %s: from %s to %s, want from %s to %s", c.flags, who, from.Topic, to.Topic, c.from, c.to)
			}
		}
	}
}

// What cannot be meant is refused.
func TestTopicsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		flags  string
		author func(Options) *graph.Job
		want   string
	}{
		{"inn=x", ignoring, "it has a, b"},
		{"inn=b", reading, "it has a, b"},
		{"a=x a=y", ignoring, "a is named x already"},
		{"a=x", func(o Options) *graph.Job {
			if len(o.Topics) > 0 {
				return flow.New("lines")
			}
			return ignoring(o)
		}, "must be the same each time"},
		{"a=x", func(Options) *graph.Job { return nil }, "there is no job"},
	} {
		o, err := (&Flags{Topics: strings.Fields(c.flags), Guarantee: "exactly-once"}).Options()
		if err == nil {
			_, err = o.build(c.author)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.flags, err, c.want)
		}
	}
}
