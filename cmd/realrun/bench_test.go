package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/scenarios/jobs/option"
)

// What exactly-once costs: the payments job at a checkpoint each second, exactly-once and at-least-once in turns on the same broker
// and the same input. The ratio is the number to look at.
func BenchmarkGuarantees(b *testing.B) {
	const records = 2_000_000
	brokers := benchBrokers(b)
	job, err := find("payments")
	if err != nil {
		b.Fatal(err)
	}
	mark := fmt.Sprint(time.Now().UnixNano())
	at := place{topics: []string{"payments=bench-in-" + mark, "totals=bench-out-" + mark}}
	quiet := &console{out: io.Discard, err: io.Discard}
	g := &generator{place: at, records: records, partitions: 8, accounts: 10_000, from: 0}
	if _, err := g.run(context.Background(), quiet, job, cluster{brokers: brokers}); err != nil {
		b.Fatal(err)
	}
	rates := map[operator.Guarantee][]float64{}
	turn := func(g operator.Guarantee) {
		topics := map[string]string{}
		for _, t := range at.topics {
			logical, name, _ := strings.Cut(t, "=")
			topics[logical] = name
		}
		var running time.Time
		r, err := run.Start(run.Config{
			Job:     job.Build(option.Options{Topics: topics, Guarantee: g, Bounded: true}),
			Brokers: brokers, State: b.TempDir(), Checkpoint: checkpoint.Config{Interval: time.Second}, Log: slog.New(slog.DiscardHandler),
			OnEvent: func(e jobmanager.Event) {
				if e.Kind == jobmanager.Running {
					running = time.Now()
				}
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if o := r.Wait(); o.Ending != run.Ended {
			b.Fatal(o)
		}
		rates[g] = append(rates[g], records/time.Since(running).Seconds())
	}
	for b.Loop() {
		turn(operator.ExactlyOnce)
		turn(operator.AtLeastOnce)
	}
	once, least := mean(rates[operator.ExactlyOnce]), mean(rates[operator.AtLeastOnce])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(once, "exactly-once-records/s")
	b.ReportMetric(least, "at-least-once-records/s")
	b.ReportMetric(once/least, "ratio")
}

func mean(all []float64) float64 {
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return sum / float64(len(all))
}

func benchBrokers(b *testing.B) []string {
	if kafkatest.Which() != kafkatest.Kfake {
		return kafkatest.Brokers(b)
	}
	k, err := embedded.Start(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(k.Close)
	return []string{k.Address}
}
