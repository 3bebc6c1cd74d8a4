package run

import (
	"errors"
	"fmt"
	"net"
	"slices"
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
	brokers  []string
	embedded bool // they are a Kafka inside this process
	loop     env.Loop
	client   *kafka.Client
	log      func(format string, args ...any)
}

func newCluster(p *process.Process, brokers []string, embedded bool, patience time.Duration) *cluster {
	l := p.NewLoop("check")
	return &cluster{brokers, embedded, l, kafka.New(kafka.Config{Process: p.Process, Loop: l, ReadTimeout: patience}), p.Log}
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
			return nil, noAnswer(c.brokers, patience, r.err)
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
			where, what := strings.Join(c.brokers, ","), fmt.Sprintf("make it (`realrun topic %s --brokers %s`)", strings.Join(missing, " "), strings.Join(c.brokers, ","))
			if c.embedded { // it ends with this process: nobody else can reach it
				where, what = "the embedded Kafka", "make it on one of its own (`realrun broker --data DIR`, then --brokers), fill the embedded one "+
					"(`realrun generate JOB --state DIR`)"
			}
			return nil, fmt.Errorf("no topic %s at %s after %v: %s, name another with --topic LOGICAL=NAME, or wait longer with --wait-topics",
				strings.Join(missing, ", "), where, patience, what)
		}
	}
}

// noAnswer says that Kafka did not answer. The reason is that of the network, if it has one, and not who gave up in which order.
func noAnswer(brokers []string, patience time.Duration, err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		err = network
	}
	return fmt.Errorf("no answer from Kafka at %s within %v: %w\n  is it running, and do --tls and --sasl fit it? `realrun broker --data DIR` starts one",
		strings.Join(brokers, ","), patience, err)
}

// apart refuses a job that would read what it writes, for ever.
func apart(job *graph.Job, sinks []sink.Spec) error {
	for _, o := range job.Operators {
		k, ok := o.Source.(source.Kafka)
		if ok && slices.ContainsFunc(sinks, func(s sink.Spec) bool { return s.Topic == k.Topic }) {
			return fmt.Errorf("topic %s is both input and output of job %s: it would read what it writes, for ever", k.Topic, job.Name)
		}
	}
	return nil
}
