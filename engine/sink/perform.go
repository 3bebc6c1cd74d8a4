package sink

import (
	"cmp"
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
)

// perform starts an effect; done gets its fact later on the loop. What is safe to repeat is repeated here, with back-off and
// up to a limit; nothing is decided here.
func (c *Committer) perform(e Effect, done func(Fact)) {
	switch e := e.(type) {
	case Sleep:
		c.sleep(e, done)
	case EnsureMarkers:
		c.ensureMarkers(e, done)
	case Describe:
		c.describe(e, done)
	case Look:
		c.look(e, done)
	case LookOffsets:
		c.lookOffsets(e, done)
	case AskWitness:
		c.askWitness(e, done)
	case FindMarker:
		c.findMarker(e.Place, e.Place.Last+1, done)
	case FindRecords:
		c.findRecords(e.Place, e.Place.Last+1, -1, nil, done)
	case Initialise:
		c.initialise(e, done)
	case EndTxn:
		c.endTxn(e, done)
	case WriteMarker:
		c.client.WriteTxnMarkers(e.MarkerWrite, func(_ []kafka.PartitionCode, code kafka.Code, err error) { done(Answered{code, err}) })
	case RepairPartitions:
		c.client.RepairPartitions(e.Who, e.Partitions, e.Commit, repaired(done))
	case RepairLane:
		c.client.RepairOffsets(e.Who, Group(c.cfg.Job, e.Sink), e.Commit, repaired(done))
	case ReadRange:
		c.readRange(e.Token, e.Range, nil, func(s kafka.RangeSum, err error) { done(rangeRead(s, err)) })
	case Replay:
		c.replayRange(e, done)
	case FlushReplay:
		c.flushReplay(done)
	case Mark:
		c.mark(e, done)
	case ListIDs:
		c.listIDs(done)
	case ListPartitions:
		c.listPartitions(e, done)
	case AppendEntry:
		c.log.Append(e.Entry, func(s joblog.State, err error) { done(Appended{s, err}) })
	case Pass:
		c.cfg.Process.Hook(hook.Event{Point: e.Point, Generation: c.cfg.Generation, Checkpoint: e.Checkpoint, Subtask: id.Subtask{Vertex: -1}})
		c.later(done, Done{})
	case Reach:
		c.cfg.Process.Reached(e.Probe)
		c.later(done, Done{})
	case Say:
		c.cfg.Process.Log("sink: %s", e.Text)
		c.later(done, Done{})
	default:
		invariant.Check(false, "unknown effect %T", e)
	}
}

func (c *Committer) later(done func(Fact), f Fact) { c.cfg.Loop.Post(func() { done(f) }) }

func repaired(done func(Fact)) func(kafka.Code, kafka.Code, error) {
	return func(added, ended kafka.Code, err error) {
		if added == kafka.OK {
			added = ended
		}
		done(Answered{added, err})
	}
}

func (c *Committer) sleep(e Sleep, done func(Fact)) {
	now := uint64(c.cfg.Process.Now())
	jitter := time.Duration(c.cfg.Process.Draw(drawBackoff, now, 0, 1) % uint64(e.For/4+1))
	c.cfg.Loop.After(e.For+jitter, func() { done(Slept{c.cfg.Process.Now()}) })
}

// repeat repeats a try up to a limit.
func (c *Committer) repeat(limit time.Duration, try func(again func()), expired func()) {
	what := uint64(c.cfg.Generation)<<16 | 0xc0
	retrying(c.cfg.Loop, c.cfg.Process, c.cfg.Process, what, limit, func(again func()) {
		if !c.closed {
			try(again)
		}
	}, expired)
}

// answer is what is left of a code and an error after the last try.
func answer(code kafka.Code, err error) error {
	if err == nil {
		err = code.Err()
	}
	return fmt.Errorf("no answer within the limit: %w", err)
}

// ensureMarkers creates the marker topic or adds partitions, and waits until every broker shows every one: a marker on a
// partition that one broker does not know yet is refused there.
func (c *Committer) ensureMarkers(e EnsureMarkers, done func(Fact)) {
	var last error
	c.repeat(c.cfg.ConfirmTimeout, func(again func()) {
		c.client.MetadataFrom(-1, []string{e.Topic}, func(m kafka.Metadata, code kafka.Code, err error) {
			if err != nil || code != kafka.OK || len(m.Topics) != 1 {
				last = firstError(err, code)
				again()
				return
			}
			grow := func(code kafka.Code, err error) {
				last = firstError(err, code)
				if err == nil && !repeatable(code, nil) && code != kafka.OK && code != kafka.TopicAlreadyExists && code != kafka.InvalidPartitions {
					done(Done{fmt.Errorf("%w: topic %s: %w", errLoud, e.Topic, code)})
					return
				}
				again()
			}
			t := m.Topics[0]
			switch {
			case t.Code == kafka.UnknownTopicOrPartition:
				c.client.CreateTopics([]kafka.NewTopic{{Name: e.Topic, Partitions: e.Partitions, Replication: -1}}, func(codes []kafka.Code, err error) {
					if err != nil || len(codes) != 1 {
						grow(kafka.OK, cmp.Or(err, fmt.Errorf("no answer for %s", e.Topic)))
						return
					}
					grow(codes[0], nil)
				})
			case t.Code != kafka.OK:
				last = t.Code
				again()
			case int32(len(t.Partitions)) < e.Partitions:
				c.client.CreatePartitions(e.Topic, e.Partitions, grow)
			default:
				c.everywhere(e, m.Brokers, func(ok bool) {
					if !ok {
						last = fmt.Errorf("not every broker knows %s", e.Topic)
						again()
						return
					}
					done(Done{})
				})
			}
		})
	}, func() { done(Done{fmt.Errorf("topic %s: %w", e.Topic, last)}) })
}

// everywhere asks each broker for its own view.
func (c *Committer) everywhere(e EnsureMarkers, brokers []int32, done func(bool)) {
	if len(brokers) == 0 {
		done(true)
		return
	}
	c.client.MetadataFrom(brokers[0], []string{e.Topic}, func(m kafka.Metadata, code kafka.Code, err error) {
		// A partition without a leader is known all the same: no marker is ever written to it.
		ok := err == nil && code == kafka.OK && len(m.Topics) == 1 && m.Topics[0].Code == kafka.OK && int32(len(m.Topics[0].Partitions)) >= e.Partitions
		if !ok {
			done(false)
			return
		}
		c.everywhere(e, brokers[1:], done)
	})
}

func (c *Committer) initialise(e Initialise, done func(Fact)) {
	var f Initialised
	c.repeat(c.cfg.ConfirmTimeout, func(again func()) {
		c.client.InitProducerID(e.ID, e.Timeout, c.protocol, func(who kafka.Identity, code kafka.Code, err error) {
			f = Initialised{who, code, err}
			if repeatable(code, err) {
				again()
				return
			}
			done(f)
		})
	}, func() { done(Initialised{Code: f.Code, Err: answer(f.Code, f.Err)}) })
}

func (c *Committer) endTxn(e EndTxn, done func(Fact)) {
	var f Ended
	lost := false
	c.repeat(c.cfg.ConfirmTimeout, func(again func()) {
		if lost {
			c.cfg.Process.Reached(EndTxnRepeated)
		}
		c.client.EndTxn(e.Who, e.Commit, func(next kafka.Identity, code kafka.Code, err error) {
			lost = lostReply(err)
			f = Ended{ClassifyEnd(code, err), code, next, nil}
			if !e.Once && (f.Class == EndAgain || f.Class == EndElsewhere) {
				f.Err = err
				again()
				return
			}
			done(f)
		})
	}, func() { done(Ended{Class: f.Class, Code: f.Code, Err: answer(f.Code, f.Err)}) })
}

func (c *Committer) mark(e Mark, done func(Fact)) {
	group := Group(c.cfg.Job, e.Sink)
	var f Answered
	expired := func() { done(Answered{f.Code, answer(f.Code, f.Err)}) }
	settle := func(again, ok func()) func(kafka.Code, error) {
		return func(code kafka.Code, err error) {
			f = Answered{code, err}
			switch {
			case err == nil && code == kafka.OK:
				ok()
			case retryMarker(code, err):
				again()
			default:
				done(f)
			}
		}
	}
	commit := func() {
		c.repeat(c.cfg.ConfirmTimeout, func(again func()) {
			c.client.TxnOffsetCommit(e.Who, group, e.Marks, settle(again, func() { done(f) }))
		}, expired)
	}
	if e.Who.Protocol >= 5 {
		commit()
		return
	}
	c.repeat(c.cfg.ConfirmTimeout, func(again func()) { c.client.AddOffsetsToTxn(e.Who, group, settle(again, commit)) }, expired)
}

func (c *Committer) listPartitions(e ListPartitions, done func(Fact)) {
	c.client.Topics(e.Topics, func(topics []kafka.Topic, err error) {
		var f PartitionsListed
		f.Err = err
		for _, t := range topics {
			if t.Code != kafka.OK && f.Err == nil {
				f.Err = fmt.Errorf("topic %s: %w", t.Name, t.Code)
			}
			for _, p := range t.Partitions {
				f.Partitions = append(f.Partitions, id.TopicPartition{Topic: t.Name, Partition: p.Number})
			}
		}
		f.Partitions = unique(f.Partitions)
		done(f)
	})
}
