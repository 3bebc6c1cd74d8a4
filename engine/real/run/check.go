package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/real/process"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/source"
)

// topicsOf are the topics of a job, as far as its sources and sinks are Kafka's.
func topicsOf(job *graph.Job, sinks []sink.Spec) []string {
	var names []string
	for _, o := range job.Operators {
		if k, ok := o.Source.(source.Kafka); ok {
			names = append(names, k.Topic)
		}
	}
	for _, s := range sinks {
		names = append(names, s.Topic)
	}
	return names
}

// cluster asks Kafka, before the job starts, what would make it fail later in a way that is harder to read.
type cluster struct {
	brokers []string
	loop    env.Loop
	client  *kafka.Client
	log     func(format string, args ...any)
}

func newCluster(p *process.Process, brokers []string, patience time.Duration) *cluster {
	l := p.NewLoop("check")
	return &cluster{brokers, l, kafka.New(kafka.Config{Process: p.Process, Loop: l, ReadTimeout: patience}), p.Log}
}

// answer waits, outside of the loop, for what ask hands to done on it.
func answer[T any](l env.Loop, ask func(done func(T))) T {
	c := make(chan T, 1)
	l.Post(func() { ask(func(v T) { c <- v }) })
	return <-c
}

// topics waits until all exist.
func (c *cluster) topics(names []string, patience time.Duration) ([]kafka.Topic, error) {
	type reply struct {
		topics []kafka.Topic
		err    error
	}
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		r := answer(c.loop, func(done func(reply)) {
			c.client.Topics(names, func(t []kafka.Topic, err error) { done(reply{t, err}) })
		})
		if r.err != nil {
			return nil, fmt.Errorf("no answer from Kafka at %s within %v: %w", strings.Join(c.brokers, ","), patience, r.err)
		}
		var missing []string
		for _, t := range r.topics {
			switch t.Code {
			case kafka.OK:
			case kafka.UnknownTopicOrPartition:
				missing = append(missing, t.Name)
			default:
				return nil, fmt.Errorf("topic %s: %s", t.Name, t.Code.String())
			}
		}
		if len(missing) == 0 {
			return r.topics, nil
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("no topic %s at %s after %v: make it (`realrun generate JOB` makes a job's topics), name another "+
				"with --topic LOGICAL=NAME, or wait longer with --wait-topics", strings.Join(missing, ", "), strings.Join(c.brokers, ","), patience)
		}
	}
}
