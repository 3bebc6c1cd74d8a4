package source

import (
	"cmp"
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
)

// reader is the half of a source that reads its splits.
type reader struct {
	k       Kafka
	ctx     operator.Context
	client  *kafka.Client
	fetcher *kafka.Fetcher
	grants  *grants // of an at-most-once job, else nil
	splits  int
}

// Open starts to fetch.
func (r *reader) Open(ctx operator.Context, splits []operator.Split, opened func(error)) {
	r.ctx, r.splits = ctx, len(splits)
	config := r.k.Client
	config.Process, config.Loop = ctx.Process, ctx.Loop
	r.client = kafka.New(config)
	splits = slices.Clone(splits)
	slices.SortStableFunc(splits, func(a, b operator.Split) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	fetch := r.k.Fetch
	fetch.Isolation, fetch.OutOfRange, fetch.Wake = r.k.isolation(), r.k.OutOfRange, ctx.Wake
	r.fetcher = r.client.NewFetcher(fetch, splits)
	if ctx.Guarantee == operator.AtMostOnce {
		r.grants = newGrants(splits, r.k.Window)
		r.limit()
	}
	ctx.Loop.Post(func() { opened(nil) })
}

// Poll hands out records; see operator.Source.
func (r *reader) Poll(budget int, emit func(*operator.Record) error) (operator.Status, error) {
	if r.splits == 0 {
		if r.k.Bounded {
			return operator.Ended, nil
		}
		return operator.Waiting, nil
	}
	return r.fetcher.Poll(budget, emit)
}

// Snapshot returns the splits for barrier n. An at-most-once job stores not where it is but up to where it may come before
// the next barrier.
func (r *reader) Snapshot(n id.Checkpoint) []operator.Split {
	splits := slices.Clone(r.fetcher.Splits())
	if r.grants != nil {
		r.grants.snapshot(n, splits, r.fetcher.Stable)
	}
	return splits
}

// Completed tells that checkpoint n is durable.
func (r *reader) Completed(n id.Checkpoint) {
	if r.grants != nil && r.grants.completed(n) {
		r.limit()
	}
}

func (r *reader) limit() {
	for i, position := range r.grants.granted {
		r.fetcher.Limit(i, position)
	}
}

// Close stops reading.
func (r *reader) Close() {
	if r.client != nil {
		r.fetcher.Close()
		r.client.Close()
	}
}
