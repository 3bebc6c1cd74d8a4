package hazard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
)

// cleaned are the hazards of records that the broker takes away.
var cleaned = []Hazard{
	{
		Number: 35, Title: "records deleted while their transaction is open",
		Story:    "Retention goes by the times of records, and does not ask whether their transaction has ended. EndTxn is answered 0, and nothing is there.",
		Where:    everywhere,
		ClosedBy: "retention longer than the age of events; at commit the log start is compared with the ranges, and a loss is reported",
		Needs:    Needs{Settings: []Setting{{"log.retention.check.interval.ms", "500"}, {"log.initial.task.delay.ms", "500"}}},
		Show:     retentionWhileOpen,
		Cure:     logStartTells,
		Control:  "no-confirm",
		Engine: []Trial{
			{Plan: "hazards/H35-deleted-while-open", Profiles: []string{"k39", "k41", "k44"}, Verdict: checker.LoudLoss, Evidence: []Evidence{said("delete-records")}},
		},
		Real: Real{Feasible: true, Note: "one broker that looks twice a second"},
	},
	{
		Number: 43, Title: "second witness deceived by compaction",
		Story:    "Compaction takes the records of an aborted transaction and its entry in the index: by one fetch, not in the list of aborted ones and below the stable end, it reads as committed.",
		Where:    everywhere,
		ClosedBy: "committed needs a record of the producer at exactly the first offset; else the evidence is lost",
		Needs:    Needs{Settings: []Setting{{"log.cleaner.backoff.ms", "500"}}},
		Show:     witnessDeceived,
		Cure:     recordRequired,
		Control:  "witness-without-record",
		Engine: []Trial{
			{Plan: "hazards/H43-compacted", Profiles: []string{"k39", "k41", "k44"}, Evidence: []Evidence{struck, reached("simbroker: log compacted"), reached("simbroker: transaction timed out"), reached("sink: step back")}},
		},
		Real: Real{Feasible: true, Note: "one broker that cleans twice a second"},
	},
}

// expired writes two records with old event times into a transaction, and waits until retention has been there.
func expired(t *Scene) (tp id.TopicPartition, who kafka.Identity) {
	tp = stage.Part(t.Topic(1, kafka.ConfigEntry{Name: "retention.ms", Value: "3000"}, kafka.ConfigEntry{Name: "segment.ms", Value: "1000"}), 0)
	who = t.Writer()
	t.Write(tp, who, 0, "a", "b") // in 2023
	t.Within(stage.Patience, func() bool {
		t.Sleep(200 * time.Millisecond)
		return t.Offset(tp, kafka.Earliest, kafka.ReadUncommitted) == 2
	})
	return tp, who
}

// retentionWhileOpen commits records that retention has taken while their transaction was open.
func retentionWhileOpen(t *Scene) (seen bool, what string) {
	tp, who := expired(t)
	t.Finish(who, true, tp)
	read := t.Committed(tp)
	start := t.Offset(tp, kafka.Earliest, kafka.ReadUncommitted)
	return start == 2 && len(read) == 0, fmt.Sprintf("two records of 2023 in an open transaction, retention.ms 3000: log start %d, EndTxn 0, log %s, a reader gets [%s]",
		start, t.Dump(tp), strings.Join(read, " "))
}

// abortedAndCompacted aborts a transaction on a compacted topic, and waits until the cleaner has been there.
func abortedAndCompacted(t *Scene) (tp id.TopicPartition, who kafka.Identity) {
	tp = stage.Part(t.Topic(1,
		kafka.ConfigEntry{Name: "cleanup.policy", Value: "compact"},
		kafka.ConfigEntry{Name: "min.compaction.lag.ms", Value: "0"},
		kafka.ConfigEntry{Name: "min.cleanable.dirty.ratio", Value: "0.01"},
		kafka.ConfigEntry{Name: "segment.ms", Value: "1000"},
		kafka.ConfigEntry{Name: "delete.retention.ms", Value: "0"},
	), 0)
	who = t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, false, tp)
	before, record := t.listed(tp, who.ProducerID)
	t.Check(before && record, "before: in the list %v, its record there %v", before, record)
	// The cleaner keeps the last batch of a producer's epoch, though it empties it, and with it the entry of its transaction. Where
	// an end moves the epoch, that is none; below, the id goes on.
	t.Write(tp, next, t.Next(1), "b")
	t.Finish(next, true, tp)
	plain := t.Plain()
	ms := t.Process.Wall().UnixMilli()
	rolled := int32(0)
	t.Within(stage.Patience, func() bool {
		// Records two seconds apart begin a new segment each; only closed ones are cleaned.
		_, code := t.SendRecords(tp, plain, rolled, kafka.NoCompression, []kafka.Record{{
			Key: []byte(fmt.Sprint("other", rolled%3)), Value: []byte("x"), Timestamp: ms + 2000*int64(rolled),
		}})
		t.Check(code == kafka.OK, "produce: %v", code)
		rolled++
		t.Sleep(400 * time.Millisecond)
		is, record := t.listed(tp, who.ProducerID)
		t.Check(is || !record, "the record is there and its transaction is not in the list")
		return !is
	})
	t.Say("%d more segments", rolled)
	return tp, who
}

// witnessDeceived asks for an aborted transaction by one fetch at its first offset, on a compacted topic: once the cleaner has
// been there it is not in the list of aborted ones any more, and reads as committed unless the record is asked for.
func witnessDeceived(t *Scene) (seen bool, what string) {
	tp, who := abortedAndCompacted(t)
	is, _ := t.listed(tp, who.ProducerID)
	return !is, fmt.Sprintf("aborted transaction at offset 0 of a compacted topic: stable end %d, in the list of aborted ones %v, its record is gone", t.Stable(tp), is)
}

// listed asks at offset 0 as the second witness does: is the producer's transaction in the list of aborted ones, and is there a
// record of the producer at exactly that offset?
func (t *Scene) listed(tp id.TopicPartition, producer int64) (is, record bool) {
	f, code := t.Fetch(tp, 0, kafka.ReadCommitted, 1)
	t.Check(code == kafka.OK && f.LastStable > 0, "fetch: %v, stable end %d", code, f.LastStable)
	for it := kafka.ReadBatches(f.Records); it.Next(); {
		record = record || !it.Batch.Control && it.Batch.ProducerID == producer && it.Batch.BaseOffset == 0
	}
	return slices.Contains(f.Aborted, kafka.AbortedTxn{ProducerID: producer, First: 0}), record
}

// logStartTells compares the log start with the first offset that was acknowledged, at commit.
func logStartTells(t *Scene) string {
	tp, who := expired(t)
	t.Finish(who, true, tp)
	first, start := int64(0), t.Offset(tp, kafka.Earliest, kafka.ReadUncommitted)
	t.Check(start > first, "the log starts at %d", start)
	return fmt.Sprintf("acknowledged from %d, and the log starts at %d: the loss is known when it is committed", first, start)
}

// recordRequired asks the second witness by the strict rule, until compaction has been there and beyond.
func recordRequired(t *Scene) string {
	tp, who := abortedAndCompacted(t)
	w := t.witness(tp, who.ProducerID, 0)
	t.Check(w == sink.WitnessLost, "the second witness says %v", w)
	return "no record of the producer at its first offset: evidence lost, not committed"
}
