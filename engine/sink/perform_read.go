package sink

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

const rangeBytes = 1 << 20 // of one fetch of a salvage

// askWitness fetches once per place, all places at the same time.
func (c *Committer) askWitness(e AskWitness, done func(Fact)) {
	f := Witnessed{make([]WitnessAnswer, len(e.Places))}
	left := len(e.Places)
	if left == 0 {
		c.later(done, f)
		return
	}
	for i, p := range e.Places {
		c.askPlace(p, func(a WitnessAnswer) {
			f.Answers[i] = a
			if left--; left == 0 {
				done(f)
			}
		})
	}
}

func (c *Committer) askPlace(p Place, done func(WitnessAnswer)) {
	gone := false
	c.repeat(readTimeout, func(again func()) {
		// One byte is enough: the first batch always comes, and with it the aborted list for its range.
		c.client.FetchOnce(p.TopicPartition, p.First, kafka.ReadCommitted, 1, func(got kafka.Fetched, code kafka.Code, err error) {
			gone = err == nil && (code == kafka.UnknownTopicOrPartition || code == kafka.UnknownTopicID)
			switch {
			case err == nil && code == kafka.OK:
				done(readWitness(p, got))
			case err == nil && code == kafka.OffsetOutOfRange:
				done(WitnessAnswer{OutOfRange: true, LogStart: got.LogStart, LastStable: got.LastStable})
			default:
				again()
			}
		})
	}, func() { done(WitnessAnswer{Unreachable: !gone, Gone: gone}) })
}

func readWitness(p Place, got kafka.Fetched) WitnessAnswer {
	a := WitnessAnswer{LastStable: got.LastStable, LogStart: got.LogStart}
	for _, t := range got.Aborted {
		a.Listed = a.Listed || t.ProducerID == p.ProducerID && t.First == p.First
	}
	for it := kafka.ReadBatches(got.Records); it.Next() && it.Batch.BaseOffset <= p.First; {
		if it.Batch.Control || it.Batch.ProducerID != p.ProducerID {
			continue
		}
		for it.NextRecord() {
			a.RecordAt = a.RecordAt || it.Record.Offset == p.First
		}
	}
	return a
}

// findMarker reads on uncommitted to the first control record of the producer id.
func (c *Committer) findMarker(p Place, from int64, done func(Fact)) {
	c.fetch(p.TopicPartition, from, func(got kafka.Fetched, err error) {
		if errors.Is(err, kafka.OffsetOutOfRange) {
			done(MarkerFound{WitnessLost})
			return
		}
		if err != nil {
			done(MarkerFound{WitnessUndecided})
			return
		}
		next := from
		for it := kafka.ReadBatches(got.Records); it.Next(); {
			if it.Batch.Control && it.Batch.ProducerID == p.ProducerID && it.Batch.LastOffset >= from {
				if commit, ok := it.Marker(); ok {
					w := WitnessAborted
					if commit {
						w = WitnessCommitted
					}
					done(MarkerFound{w})
					return
				}
			}
			next = max(next, it.Batch.LastOffset+1)
		}
		if next == from || next >= got.HighWatermark {
			done(MarkerFound{WitnessUndecided})
			return
		}
		c.findMarker(p, next, done)
	})
}

// findRecords reads on uncommitted for records of a producer id; last is the producer epoch of the run under way.
func (c *Committer) findRecords(p Place, from int64, last int32, firsts []int64, done func(Fact)) {
	c.fetch(p.TopicPartition, from, func(got kafka.Fetched, err error) {
		if err != nil {
			done(RecordsFound{firsts, err})
			return
		}
		next := from
		for it := kafka.ReadBatches(got.Records); it.Next(); {
			next = max(next, it.Batch.LastOffset+1)
			if it.Batch.Control || it.Batch.ProducerID != p.ProducerID || it.Batch.BaseOffset < from || int32(it.Batch.ProducerEpoch) == last {
				continue
			}
			last = int32(it.Batch.ProducerEpoch)
			firsts = append(firsts, it.Batch.BaseOffset)
		}
		if next == from || next >= got.HighWatermark {
			done(RecordsFound{Firsts: firsts})
			return
		}
		c.findRecords(p, next, last, firsts, done)
	})
}

// fetch reads uncommitted once, repeated until the limit.
func (c *Committer) fetch(tp id.TopicPartition, offset int64, done func(kafka.Fetched, error)) {
	var last error
	c.repeat(readTimeout, func(again func()) {
		c.client.FetchOnce(tp, offset, kafka.ReadUncommitted, rangeBytes, func(got kafka.Fetched, code kafka.Code, err error) {
			last = firstError(err, code)
			switch {
			case last == nil:
				done(got, nil)
			case err == nil && code == kafka.OffsetOutOfRange:
				done(got, code)
			default:
				again()
			}
		})
	}, func() { done(kafka.Fetched{}, fmt.Errorf("read %v at %d: %w", tp, offset, last)) })
}

// readRange reads a range uncommitted, folds the records of its producer id and epoch and hands each to each. each may ask
// for a pause after the present fetch by returning a function that resumes later.
func (c *Committer) readRange(t token.Token, i int, each *replay, done func(kafka.RangeSum, error)) {
	r := t.Ranges[i]
	var sum kafka.RangeSum
	tp := id.TopicPartition{Topic: r.Topic, Partition: r.Partition}
	var from func(offset int64)
	from = func(offset int64) {
		c.fetch(tp, offset, func(got kafka.Fetched, err error) {
			if err != nil {
				done(sum, err)
				return
			}
			next, err := foldRange(t, r, got.Records, offset, &sum, each)
			switch {
			case err != nil:
				done(sum, err)
			case next > r.Last:
				done(sum, nil)
			case next == offset:
				done(sum, fmt.Errorf("%w: %v at %d", errRangeEnds, tp, offset))
			case each != nil && each.producer.Full():
				each.resume = func() { from(next) }
			default:
				from(next)
			}
		})
	}
	from(r.First)
}

// foldRange folds what one fetch returned and says where the next one starts.
func foldRange(t token.Token, r token.Range, records []byte, from int64, sum *kafka.RangeSum, each *replay) (int64, error) {
	next := from
	it := kafka.ReadBatches(records)
	for it.Next() {
		last := it.Batch.LastOffset
		if it.Batch.BaseOffset > r.Last {
			return r.Last + 1, nil
		}
		if it.Batch.Control || it.Batch.ProducerID != t.ProducerID || it.Batch.ProducerEpoch != t.ProducerEpoch {
			next = max(next, last+1)
			continue
		}
		for it.NextRecord() {
			rec := &it.Record
			if rec.Offset < from || rec.Offset < r.First || rec.Offset > r.Last {
				continue
			}
			sum.Add(&it.Batch, rec)
			if each == nil {
				continue
			}
			if err := each.producer.Append(r.Topic, r.Partition, rec.Key, rec.Value, rec.Headers, rec.Timestamp); err != nil {
				return next, err
			}
		}
		next = max(next, last+1)
	}
	return next, it.Err()
}

// rangeRead tells records that are gone from brokers that do not answer.
func rangeRead(s kafka.RangeSum, err error) RangeRead {
	gone := errors.Is(err, kafka.OffsetOutOfRange) || errors.Is(err, kafka.UnknownTopicOrPartition) || errors.Is(err, kafka.UnknownTopicID) ||
		errors.Is(err, kafka.ErrCorrupt) || errors.Is(err, errRangeEnds)
	return RangeRead{s, err, gone}
}

var errRangeEnds = errors.New("the log ends within the range")

// replay is the producer of a salvage under way.
type replay struct {
	who      kafka.Identity
	producer *kafka.Producer
	resume   func() // waits for room
}

func (c *Committer) replayRange(e Replay, done func(Fact)) {
	if c.replay == nil || c.replay.who != e.Who {
		if c.replay != nil {
			c.replay.producer.Close()
		}
		r := &replay{who: e.Who}
		r.producer = c.client.NewProducer(kafka.ProducerConfig{Identity: e.Who, Wake: func() {
			if resume := r.resume; resume != nil {
				r.resume = nil
				resume()
			}
		}})
		c.replay = r
	}
	c.readRange(e.Token, e.Range, c.replay, func(s kafka.RangeSum, err error) { done(rangeRead(s, err)) })
}

func (c *Committer) flushReplay(done func(Fact)) {
	r := c.replay
	if r == nil {
		c.later(done, Flushed{Err: errors.New("nothing was replayed")})
		return
	}
	c.replay = nil
	r.producer.Flush(func(err error) {
		f := Flushed{Ranges: r.producer.Ranges(), Err: err}
		r.producer.Close()
		done(f)
	})
}
