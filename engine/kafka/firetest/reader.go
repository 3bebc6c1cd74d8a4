package firetest

import (
	"fmt"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
)

// reader reads what is committed from partitions that are added as they appear.
type reader struct {
	client   *kafka.Client
	loop     env.Loop
	topic    string
	fetchers []*kafka.Fetcher
	got      map[int32][]string
	err      error
}

// add begins to read a partition, each with a fetcher of its own client's loop.
func (r *reader) add(parts ...int32) {
	var splits []operator.Split
	for _, p := range parts {
		splits = append(splits, operator.Split{Topic: r.topic, Partition: p, Stop: -1})
	}
	var f *kafka.Fetcher
	var poll func()
	poll = func() {
		status, err := f.Poll(100, func(rec *operator.Record) error {
			r.got[rec.Partition] = append(r.got[rec.Partition], string(rec.Value))
			return nil
		})
		switch {
		case err != nil:
			r.err = fmt.Errorf("reader: %w", err)
		case status == operator.More:
			r.loop.Post(poll)
		}
	}
	f = r.client.NewFetcher(kafka.FetcherConfig{Isolation: kafka.ReadCommitted, PartitionMaxBytes: 4000, Wake: func() { r.loop.Post(poll) }}, splits)
	r.fetchers = append(r.fetchers, f)
	r.loop.Post(poll)
}

func (r *reader) close() {
	for _, f := range r.fetchers {
		f.Close()
	}
}
