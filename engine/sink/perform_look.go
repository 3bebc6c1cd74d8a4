package sink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// describe asks for ids one after the other; an unknown id is an answer.
func (c *Committer) describe(e Describe, done func(Fact)) {
	f := Described{Transactions: make([]kafka.Transaction, len(e.IDs))}
	left := len(e.IDs)
	if left == 0 {
		c.later(done, f)
		return
	}
	for i, name := range e.IDs {
		var code kafka.Code
		var err error
		finish := func() {
			if left--; left == 0 {
				done(f)
			}
		}
		c.repeat(readTimeout, func(again func()) {
			c.client.DescribeTransaction(name, func(t kafka.Transaction, tCode kafka.Code, tErr error) {
				code, err = tCode, tErr
				switch {
				case err == nil && code == kafka.OK:
					f.Transactions[i] = t
				case err == nil && code == kafka.TransactionalIDNotFound:
					f.Transactions[i] = kafka.Transaction{TransactionalID: name}
				case repeatable(code, err):
					again()
					return
				default:
					f.Err = fmt.Errorf("describe %s: %w", name, code)
				}
				finish()
			})
		}, func() {
			f.Err = fmt.Errorf("describe %s: %w", name, answer(code, err))
			finish()
		})
	}
}

// look asks partitions and lanes at the same time.
func (c *Committer) look(e Look, done func(Fact)) {
	f := &Seen{LogStarts: make([]int64, len(e.Partitions)), Lanes: make([]LaneValue, len(e.Lanes))}
	for i := range f.LogStarts {
		f.LogStarts[i] = -1
	}
	left := 1
	part := func() {
		if left--; left == 0 {
			f.Now = c.cfg.Process.Now()
			done(*f)
		}
	}
	if len(e.Partitions) > 0 {
		left++
		c.client.DescribeProducers(e.Partitions, func(p []kafka.PartitionProducers, err error) {
			f.Producers, f.Err = p, cmp.Or(f.Err, err)
			if err != nil {
				part()
				return
			}
			left++
			c.proveEnds(e.Ended, f, part)
			if !e.LogStarts {
				part()
				return
			}
			c.logStarts(f, part)
		})
	}
	for at := 0; at < len(e.Lanes); {
		end := at + 1
		for end < len(e.Lanes) && e.Lanes[end].Sink == e.Lanes[at].Sink {
			end++
		}
		left++
		c.lanes(e.Lanes[at:end], f, f.Lanes[at:end], part)
		at = end
	}
	c.cfg.Loop.Post(part)
}

// logStarts asks the partitions that answered for their log starts.
func (c *Committer) logStarts(f *Seen, done func()) {
	var parts []id.TopicPartition
	var at []int
	for i, p := range f.Producers {
		if p.Code == kafka.OK {
			parts, at = append(parts, p.TopicPartition), append(at, i)
		}
	}
	if len(parts) == 0 {
		done()
		return
	}
	c.client.ListOffsets(parts, kafka.Earliest, kafka.ReadUncommitted, func(list []kafka.ListedOffset, err error) {
		if err == nil {
			for k, o := range list {
				if o.Code == kafka.OK {
					f.LogStarts[at[k]] = o.Offset
				}
			}
		}
		done()
	})
}

// lanes reads lanes of one sink under RequireStable.
func (c *Committer) lanes(lanes []Lane, f *Seen, out []LaneValue, done func()) {
	topic := MarkerTopic(c.cfg.Job)
	var parts []id.TopicPartition
	for i, l := range lanes {
		out[i] = LaneValue{Lane: l, Unstable: true}
		parts = append(parts, id.TopicPartition{Topic: topic, Partition: l.Partition})
	}
	var code kafka.Code
	var err error
	c.repeat(readTimeout, func(again func()) {
		c.client.OffsetFetch(Group(c.cfg.Job, lanes[0].Sink), parts, true, func(offsets []kafka.Offset, fCode kafka.Code, fErr error) {
			code, err = fCode, fErr
			if err == nil && code == kafka.GroupIDNotFound {
				code = kafka.OK // some brokers answer so for a group without values
				offsets = nil
				for i := range out {
					out[i] = LaneValue{Lane: lanes[i], Value: -1}
				}
			}
			if err == nil && code == kafka.OK {
				for _, o := range offsets {
					i := slices.IndexFunc(lanes, func(l Lane) bool { return l.Partition == o.Partition })
					switch {
					case i < 0:
					case o.Code == kafka.OK:
						out[i] = LaneValue{Lane: lanes[i], Value: o.Offset, Metadata: o.Metadata}
					case o.Code != kafka.UnstableOffsetCommit && code == kafka.OK:
						code = o.Code
					}
				}
			}
			switch {
			case err == nil && code == kafka.OK:
				done()
			case repeatable(code, err):
				again()
			default:
				f.Err = cmp.Or(f.Err, fmt.Errorf("lanes of %s: %w", lanes[0].Sink, code))
				done()
			}
		})
	}, func() {
		f.Err = cmp.Or(f.Err, fmt.Errorf("lanes of %s: %w", lanes[0].Sink, answer(code, err)))
		done()
	})
}

func (c *Committer) lookOffsets(e LookOffsets, done func(Fact)) {
	c.client.GroupPartition(Group(c.cfg.Job, e.Sink), func(tp id.TopicPartition, err error) {
		if err != nil {
			done(Seen{Err: err, Now: c.cfg.Process.Now()})
			return
		}
		c.client.DescribeProducers([]id.TopicPartition{tp}, func(p []kafka.PartitionProducers, err error) {
			done(Seen{Producers: p, Err: err, Now: c.cfg.Process.Now()})
		})
	})
}

// listIDs asks every broker for the ids that it coordinates. The answers are complete only if no coordinator moved meanwhile:
//
//  1. Broker 0 coordinates an id that is to be fenced, and dies.
//  2. Once its session has ended, metadata names the other brokers only. Its coordinator partitions have no new leader yet,
//     so that no broker lists the id.
//  3. The id would never be fenced, and its transaction would hold the last stable offset until its timeout.
//
// So the coordinators' own topic must have the same leaders before and after, and all of them must have answered.
func (c *Committer) listIDs(done func(Fact)) {
	var last error
	c.repeat(c.cfg.ConfirmTimeout, func(again func()) {
		failed := func(err error) {
			last = err
			again()
		}
		c.coordinators(func(before kafka.Metadata, err error) {
			if err != nil {
				failed(err)
				return
			}
			c.listFrom(before.Brokers, nil, func(ids []kafka.ListedTransaction, err error) {
				if err != nil {
					failed(err)
					return
				}
				c.coordinators(func(after kafka.Metadata, err error) {
					if err == nil {
						err = sameCoordinators(before, after)
					}
					if err != nil {
						failed(err)
						return
					}
					done(IDsListed{IDs: ids})
				})
			})
		})
	}, func() { done(IDsListed{Err: last}) })
}

// coordinatorTopic holds the transaction coordinators' logs: who leads a partition of it coordinates its ids.
const coordinatorTopic = "__transaction_state"

func (c *Committer) coordinators(done func(kafka.Metadata, error)) {
	c.client.MetadataFrom(-1, []string{coordinatorTopic}, func(m kafka.Metadata, code kafka.Code, err error) {
		done(m, cmp.Or(err, code.Err()))
	})
}

// sameCoordinators is nil when every coordinator partition had the same leader all the time, and that leader was asked. A
// cluster without the topic has no transactional ids.
func sameCoordinators(before, after kafka.Metadata) error {
	if len(before.Topics) == 0 || len(after.Topics) == 0 {
		return nil
	}
	b, a := before.Topics[0], after.Topics[0]
	if b.Code == kafka.UnknownTopicOrPartition && a.Code == kafka.UnknownTopicOrPartition {
		return nil
	}
	if len(a.Partitions) != len(b.Partitions) {
		return fmt.Errorf("%s has %d partitions, and had %d", coordinatorTopic, len(a.Partitions), len(b.Partitions))
	}
	for i, p := range a.Partitions {
		was := b.Partitions[i]
		if p.Leader < 0 || p.Leader != was.Leader || p.LeaderEpoch != was.LeaderEpoch || !slices.Contains(before.Brokers, p.Leader) {
			return fmt.Errorf("the coordinator of %s/%d moves", coordinatorTopic, p.Number)
		}
	}
	return nil
}

func (c *Committer) listFrom(brokers []int32, ids []kafka.ListedTransaction, done func([]kafka.ListedTransaction, error)) {
	if len(brokers) == 0 {
		slices.SortStableFunc(ids, func(a, b kafka.ListedTransaction) int { return strings.Compare(a.TransactionalID, b.TransactionalID) })
		done(slices.CompactFunc(ids, func(a, b kafka.ListedTransaction) bool { return a.TransactionalID == b.TransactionalID }), nil)
		return
	}
	c.client.ListTransactions(brokers[0], func(list []kafka.ListedTransaction, code kafka.Code, err error) {
		if err != nil || code != kafka.OK {
			done(nil, fmt.Errorf("broker %d: %w", brokers[0], firstError(err, code)))
			return
		}
		c.listFrom(brokers[1:], append(ids, list...), done)
	})
}
