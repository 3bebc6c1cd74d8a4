package sink

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// errAgain says that what was read does not hold any more: the restore starts again at the job log, with the locks.
var errAgain = errors.New("what was found has changed")

// SalvageRanges writes aborted ranges of one sink again, in one transaction under the identity of the lock, with the
// markers of their tokens on their own lanes. So a salvage that is cut short is decided by the same question as the commit
// that it replaces: the lane reads n if and only if the records are visible. The marker's metadata names the ranges that it
// stands for from now on.
//
// The lock was initialised before the evidence was read and is never initialised again here: fenced means that somebody
// else has taken it, and everything read is void.
func SalvageRanges(ask Ask, p *Plan, lock kafka.Identity, found []Finding) error {
	var marks []kafka.Offset
	var pseudo []token.Token
	for _, f := range found {
		todo := f.salvageable()
		if len(todo) == 0 {
			continue
		}
		done := Salvaged{Done: f.Salvaged.Done.Union(Set{})}
		for _, i := range todo {
			r := f.Token.Ranges[i]
			got := get[RangeRead](ask, Replay{lock, f.Token, i})
			if got.Err != nil || !got.Matches(r) {
				ask(Say{fmt.Sprintf("salvage of %s: %d of %d records, %v", rangeText(f.Token, i), got.Count, r.Count, got.Err)})
				return errAgain
			}
			if got.Restamped {
				ask(Reach{SalvageRestamped})
			}
			done.Done.Add(i)
		}
		for _, i := range f.Aborted {
			if !done.Done.Has(i) {
				done.Lost.Add(i)
			}
		}
		metadata := done.Metadata(f.Token)
		marks = append(marks, kafka.Offset{Topic: MarkerTopic(p.Job), Partition: f.Token.Lane.Partition, Offset: int64(f.Token.Checkpoint), Metadata: metadata})
		pseudo = append(pseudo, token.Token{
			Sink: f.Token.Sink, Subtask: f.Token.Subtask, Checkpoint: f.Token.Checkpoint, TransactionalID: lock.TransactionalID,
			ProducerID: lock.ProducerID, ProducerEpoch: lock.ProducerEpoch, EndTxnVersion: lock.Protocol,
			Lane: f.Token.Lane, Metadata: metadata,
		})
	}
	if len(marks) == 0 {
		return nil
	}
	flushed := get[Flushed](ask, FlushReplay{lock})
	if flushed.Err != nil {
		ask(Say{"salvage: " + flushed.Err.Error()})
		return errAgain
	}
	marked := get[Answered](ask, Mark{lock, found[0].Token.Sink, marks})
	if marked.Err != nil || marked.Code != kafka.OK {
		ask(Say{fmt.Sprintf("salvage: markers: %v", firstError(marked.Err, marked.Code))})
		return errAgain
	}
	ended := get[Ended](ask, EndTxn{Who: lock, Commit: true})
	ask(Pass{hook.R4SalvageEndTxnSent, found[0].Token.Checkpoint})
	switch {
	case ended.Err != nil:
		return ended.Err
	case ended.Class == EndResolve:
		return errAgain
	case ended.Class != EndOK:
		return fmt.Errorf("end of the salvage of %s: %w", found[0].Token.Sink, ended.Code)
	}
	ask(Reach{SalvageDone})
	return settleSalvage(ask, p, pseudo, flushed.Ranges)
}

// settleSalvage waits until the salvage's own transaction has ended everywhere.
func settleSalvage(ask Ask, p *Plan, pseudo []token.Token, written []token.Range) error {
	pseudo[0].Ranges = written // one transaction: its partitions are looked at once
	items := make([]Item, len(pseudo))
	for i, t := range pseudo {
		items[i] = Item{Token: t, Commit: true, NeedLane: true}
	}
	settled, err := p.Rules.Settle(ask, p, items)
	if err != nil {
		return err
	}
	if len(settled.Contradicted) > 0 {
		return errAgain
	}
	if len(settled.Repaired) > 0 && aborted(ask, pseudo[0], Set{}) {
		return fmt.Errorf("the salvage of %s was torn by its repair: %s", pseudo[0].Sink, pseudo[0])
	}
	return nil
}

// aborted asks the second witness whether any range of a token, but the salvaged ones, ended as aborted.
func aborted(ask Ask, t token.Token, salvaged Set) bool {
	places, _ := placesOf([]Item{{Token: t}}, []int{0})
	if len(places) > 0 {
		ask(Reach{WitnessUsed})
	}
	for i, a := range witness(ask, places) {
		if !salvaged.Has(i) && ReadWitness(places[i].First, a) == WitnessAborted {
			return true
		}
	}
	return false
}

func rangePartitions(ranges []token.Range) []id.TopicPartition {
	var list []id.TopicPartition
	for _, r := range ranges {
		list = append(list, id.TopicPartition{Topic: r.Topic, Partition: r.Partition})
	}
	return list
}
