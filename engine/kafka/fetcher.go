package kafka

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
)

// FetcherConfig sets up a Fetcher. Zero values are replaced by the defaults named.
type FetcherConfig struct {
	Isolation         Isolation
	MaxWait           time.Duration // of the broker while it has nothing; default 250 ms
	MaxBytes          int32         // of one answer; default 64 MiB
	PartitionMaxBytes int32         // of one partition in an answer, less with many partitions; default 1 MiB
	// BufferBytes is what one partition may have fetched and not yet handed out before it is left out of fetches. Default
	// 1 MiB; an answer may overshoot it.
	BufferBytes int
	// OutOfRange decides where to go on when a position is outside the log, which spans start to end. Nil: an error.
	OutOfRange func(s operator.Split, start, end int64) (position int64, err error)
	// Wake is called when Poll may return more after it returned Waiting, and when the fetcher has failed.
	Wake func()
}

// A fetch that leaves out a full partition waits only so long, so that the partition is back soon.
const shortWait = 20 * time.Millisecond

// Fetcher reads the partitions of its splits, with one outstanding fetch per leader.
//
// What was fetched lies as it came until Poll walks over it: control records and aborted batches move a position and are
// not handed out. Positions, not record offsets, are what a split carries.
type Fetcher struct {
	client  *Client
	cfg     FetcherConfig
	parts   []*fetchPart
	splits  []operator.Split // handed out by Splits
	busy    []int32          // nodes with an outstanding fetch
	turn    int              // of the requests, so that each partition comes first once
	reading int              // part whose turn it is in Poll
	current *fetchPart       // within a batch, or nil
	it      Batches          // over the batch of current
	record  operator.Record
	asks    []fetchAsk // space of pump
	waiting bool
	news    bool // came with the answer at hand
	posted  bool
	closed  bool
	err     error
}

// fetchPart is one partition of a fetcher.
type fetchPart struct {
	split   operator.Split
	tp      id.TopicPartition
	topicID [16]byte
	seen    bool // topicID is set
	next    int64
	stable  int64
	limit   int64
	chunks  []chunk
	bytes   int
	max     int32 // to ask for; more than usual after a batch that was larger
	usual   int32
	busy    bool  // in an outstanding fetch
	epoch   int32 // of its leader, in that fetch
	got     bool  // that fetch has answered for it
	held    bool  // waits for a timer
	solo    bool  // must be asked for alone, to learn whether there is nothing below the stop
	lost    bool  // its position is outside the log; decided when chunks are used up
	try     int
	missing time.Duration // for how long the cluster has said that it does not exist
}

// chunk is the whole batches of one answer for one partition.
type chunk struct {
	rest    []byte
	aborted abortedList
}

// NewFetcher starts to fetch. Positions must be resolved, not symbolic.
func (c *Client) NewFetcher(cfg FetcherConfig, splits []operator.Split) *Fetcher {
	orElse(&cfg.MaxWait, 250*time.Millisecond)
	orElse(&cfg.MaxBytes, 64<<20)
	orElse(&cfg.PartitionMaxBytes, 1<<20)
	orElse(&cfg.BufferBytes, 1<<20)
	f := &Fetcher{client: c, cfg: cfg, splits: make([]operator.Split, len(splits))}
	for _, s := range splits {
		p := &fetchPart{
			split: s, tp: id.TopicPartition{Topic: s.Topic, Partition: s.Partition}, next: s.Position, stable: -1,
			limit: -1, max: cfg.PartitionMaxBytes, usual: cfg.PartitionMaxBytes,
		}
		f.parts = append(f.parts, p)
		c.cluster.want(s.Topic)
	}
	c.later(func() {
		c.withFeatures(func(err error) {
			if err != nil {
				f.fail(err)
				return
			}
			f.pump()
		})
	})
	return f
}

func (p *fetchPart) ended() bool { return p.split.Stop >= 0 && p.split.Position >= p.split.Stop }

// Splits are the splits at their present positions, in the order given to NewFetcher; they are valid until the next call.
func (f *Fetcher) Splits() []operator.Split {
	for i, p := range f.parts {
		f.splits[i] = p.split
	}
	return f.splits
}

// Limit keeps Poll from handing out records of split i at or above position; -1 lifts it.
func (f *Fetcher) Limit(i int, position int64) {
	f.parts[i].limit = position
	f.wake()
}

// Stable is the last stable offset (read uncommitted: high watermark) last heard of for split i; -1 before the first
// answer.
func (f *Fetcher) Stable(i int) int64 { return f.parts[i].stable }

// Close stops fetching.
func (f *Fetcher) Close() { f.closed = true }

func (f *Fetcher) fail(err error) {
	if f.err == nil {
		f.err = err
		f.wake()
	}
}

// wake wakes the reader, which may be in the middle of a call.
func (f *Fetcher) wake() {
	if f.waiting {
		f.waiting = false
		f.client.later(f.tell)
	}
}

func (f *Fetcher) tell() {
	if !f.closed && f.cfg.Wake != nil {
		f.cfg.Wake()
	}
}

// Poll hands at most budget records to emit, in order within each split, and says what next; see operator.Source. An error
// is final, except one of emit.
func (f *Fetcher) Poll(budget int, emit func(*operator.Record) error) (operator.Status, error) {
	for budget > 0 && f.err == nil && !f.closed {
		if f.current == nil && !f.openBatch() {
			break
		}
		if f.current == nil {
			budget-- // a batch was passed over
			continue
		}
		n, err := f.readBatch(budget, emit)
		if err != nil {
			f.current = nil // its batch is read again from the position
			return operator.More, err
		}
		budget -= n
	}
	if f.err != nil {
		return operator.Waiting, f.err
	}
	return f.status(), nil
}

func (f *Fetcher) status() operator.Status {
	f.schedule()
	ended := true
	for _, p := range f.parts {
		if p.readable() {
			return operator.More
		}
		ended = ended && p.ended()
	}
	if ended && len(f.parts) > 0 {
		return operator.Ended
	}
	f.waiting = true
	return operator.Waiting
}

func (p *fetchPart) readable() bool {
	return len(p.chunks) > 0 && !p.ended() && (p.limit < 0 || p.split.Position < p.limit)
}

// openBatch opens the next batch of the next readable partition, or passes it over; false when there is none.
func (f *Fetcher) openBatch() bool {
	for range f.parts {
		p := f.parts[f.reading]
		f.reading = (f.reading + 1) % len(f.parts)
		if p.readable() {
			f.open(p)
			return true
		}
	}
	return false
}

func (f *Fetcher) open(p *fetchPart) {
	ch := &p.chunks[0]
	f.it.Reset(ch.rest)
	if !f.it.Next() {
		f.fail(fmt.Errorf("partition %s at position %d: %w", p.tp, p.split.Position, f.it.Err()))
		return
	}
	b := &f.it.Batch
	if f.cfg.Isolation == ReadCommitted && ch.aborted.skips(&f.it) || b.Control || b.LastOffset < p.split.Position {
		f.pass(p)
		return
	}
	f.current = p
	f.record.Topic, f.record.Partition = p.tp.Topic, p.tp.Partition
}

// readBatch hands out records of the current batch.
func (f *Fetcher) readBatch(budget int, emit func(*operator.Record) error) (n int, err error) {
	p, it, r := f.current, &f.it, &f.record
	for n < budget && it.NextRecord() {
		rec := &it.Record
		if rec.Offset < p.split.Position {
			continue // a fetch may begin within a batch
		}
		if p.split.Stop >= 0 && rec.Offset >= p.split.Stop {
			f.pass(p)
			return n, nil
		}
		if p.limit >= 0 && rec.Offset >= p.limit {
			// No record lies between: the position may stand at the limit, and the batch is read again behind it.
			p.split.Position = p.limit
			f.current = nil
			return n, nil
		}
		r.Key, r.Value, r.Headers, r.Timestamp, r.Offset = rec.Key, rec.Value, rec.Headers, rec.Timestamp, rec.Offset
		if err := emit(r); err != nil {
			return n, err
		}
		p.split.Position = rec.Offset + 1
		n++
	}
	if it.Err() != nil {
		f.fail(fmt.Errorf("partition %s at position %d: %w", p.tp, p.split.Position, it.Err()))
		return n, nil
	}
	if it.left == 0 {
		f.pass(p)
	}
	return n, nil
}

// pass moves the position behind the batch that f.it stands on.
func (f *Fetcher) pass(p *fetchPart) {
	p.split.Position = max(p.split.Position, f.it.Batch.LastOffset+1)
	f.current = nil
	ch := &p.chunks[0]
	p.bytes -= len(ch.rest) - len(f.it.rest)
	ch.rest = f.it.rest
	if len(ch.rest) == 0 {
		p.chunks = slices.Delete(p.chunks, 0, 1)
	}
	f.stop(p)
}

// stop lets go of a partition that has reached its stop, or has nothing left below it.
func (f *Fetcher) stop(p *fetchPart) {
	if p.split.Stop < 0 || p.split.Position < p.split.Stop && (p.next < p.split.Stop || len(p.chunks) > 0) {
		return
	}
	p.split.Position = p.split.Stop
	p.chunks, p.bytes = nil, 0
}
