// Package claim tells the checker what a job log claims. A claim can only convict: everything below a confirmed position must be
// visible, and nothing that the log says excuses what the topics do not show.
package claim

import (
	"bytes"
	"encoding/json"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/joblog"
)

// Of is what an entry claims; false for entries that claim nothing. manifest gives the object of a checkpoint, or nil where it
// has been released.
func Of(h *checker.History, e joblog.Entry, manifest func(blob.Key) []byte) (checker.Claim, bool) {
	c := checker.Claim{Generation: uint64(e.Generation), Checkpoint: uint64(e.Checkpoint), Reason: e.Reason}
	switch e.Kind {
	case joblog.Claimed:
		c.Kind = checker.GenerationClaimed
	case joblog.Completed:
		c.Kind, c.Checkpoint = checker.CheckpointCompleted, uint64(e.Ref.Checkpoint)
		for _, p := range Positions(e.Ref.Manifest, manifest(e.Ref.Manifest)) {
			if t := h.TopicIndex(p.Topic); t >= 0 {
				c.Positions = append(c.Positions, checker.Position{Topic: t, Partition: p.Partition, Offset: p.Position})
			}
		}
		for _, t := range e.Tokens {
			c.Transactions = append(c.Transactions, checker.Transaction{
				Sink: string(t.Sink), Subtask: t.Subtask, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, State: "completed",
			})
		}
	case joblog.Confirmed:
		c.Kind = checker.CheckpointConfirmed
	case joblog.Abandoned:
		c.Kind = checker.CheckpointAbandoned
	case joblog.Rewound:
		c.Kind = checker.RewoundTo
	case joblog.Lost:
		c.Kind, c.Checkpoint = checker.Loss, uint64(e.Loss.Checkpoint)
		if len(e.Loss.Items) > 0 {
			c.Reason = e.Loss.Items[0].Reason
		}
		c.Lost = lost(h, e.Loss)
	case joblog.Stopped:
		c.Kind = checker.Ended
		return c, e.Ended
	default:
		return c, false
	}
	return c, true
}

func lost(h *checker.History, l *joblog.Loss) []checker.LostRange {
	var out []checker.LostRange
	for _, i := range l.Items {
		out = append(out, checker.LostRange{
			Topic: h.TopicIndex(i.Range.Topic), Partition: i.Range.Partition, First: i.Range.First, Last: i.Range.Last,
			Count: i.Range.Count, ProducerID: i.Token.ProducerID, ProducerEpoch: i.Token.ProducerEpoch,
		})
	}
	return out
}

// Positions are those of a manifest; none where the object is not whole.
func Positions(k blob.Key, object []byte) (all []checkpoint.Position) {
	document, err := joblog.Unseal(k, object)
	if err != nil {
		return nil
	}
	for {
		// Most of a manifest is about state. Within a text the quotes would be escaped.
		_, rest, found := bytes.Cut(document, []byte(`"positions":`))
		if !found {
			return all
		}
		end := bytes.IndexByte(rest, ']') + 1
		var some []checkpoint.Position
		if json.Unmarshal(rest[:end], &some) != nil {
			return nil
		}
		all, document = append(all, some...), rest[end:]
	}
}
