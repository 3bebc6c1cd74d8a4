package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// verdict are the hazards of what is decided, and of who is told.
var verdict = []Hazard{
	{
		Number: 5, Title: "lost EndTxn answer",
		Story:    "The answer to a commit is lost. Whoever takes that for a failure aborts in vain, since it is committed; whoever writes on with the old epoch is refused (TV2).",
		Where:    everywhere,
		ClosedBy: "the same commit again, under the same identity and version: 0",
		Show:     lostEndAnswer,
		Cure:     sameCommitAgain,
		Engine: []Trial{
			{
				Plan: "commit-reply-lost", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, reached("sink: EndTxn repeated after a lost reply")},
			},
			{
				Plan: "commit-reply-lost-then-crash", Profiles: []string{"k39", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, reached("sink: resolve said committed")},
			},
			refused,
		},
		Control: "ending-anew",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 6, Title: "commit after the timeout",
		Story:    "A prepared transaction outlives its timeout: its records are aborted, while those of another subtask of the same checkpoint are committed. The checkpoint is torn.",
		Where:    everywhere,
		ClosedBy: "a timeout above the longest outage; else the records are salvaged from the log, or named as lost",
		Show:     commitAfterTimeout,
		Cure:     readBackAborted,
		Engine: []Trial{
			{
				Plan: "timeout-after-completed", Profiles: []string{"k37", "k39", "k400", "k401", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, reached("simbroker: transaction timed out"), reached("sink: salvage done")},
			},
			{
				Plan: "loss-named", Profiles: []string{"k39", "k400", "k44-tv1", "k44"}, Verdict: checker.LoudLoss,
				Evidence: []Evidence{struck, undecided, reached("simbroker: transaction timed out"), claimed("a loss named", checker.Loss)},
			},
			refused,
		},
		Control: "timeout-believed",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 9, Title: "coordinator fails over between decision and markers",
		Story:    "The new coordinator writes all markers of a decided transaction again: more control records, more offsets taken; never another decision.",
		Where:    everywhere,
		ClosedBy: "by design: the decision stands; nobody counts records by offsets",
		Show:     markersTwice,
		Cure:     decisionStands,
		Engine: []Trial{
			{
				Plan: "coordinator-moves-at-first-marker", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, reached("simbroker: decided transaction driven again by another coordinator")},
			},
			{
				Plan: "coordinator-dies-at-prepare", Profiles: []string{"k39", "k41", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, reached("simbroker: decided transaction driven again by another coordinator")},
			},
			refused,
		},
		NoControl: "positions come from the fetch in every engine here",
		Real:      Real{Feasible: true, Note: "three brokers, or a restart of one"},
		Needs:     Needs{Brokers: 3},
	},
	{
		Number: 11, Title: "commit reported as failed survives",
		Story:    "The coordinator's log loses replicas while it appends the decision: EndTxn is answered 15, and the next coordinator finds the record and commits. An abort comes too late.",
		Where:    everywhere,
		ClosedBy: "15 is unknown: the same verdict is asked for again",
		Show:     failedCommitSurvives,
		Cure:     fifteenIsUnknown,
		Engine: []Trial{
			{
				Plan: "hazards/H11-log-trouble", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{
					struck, reached("simbroker: append to the transaction log failed"), reached("simbroker: a record that was reported as failed was loaded"),
				},
			},
			refused,
		},
		NoControl: "every engine here repeats a commit until it has an answer",
		Needs:     Needs{Brokers: 3, Alone: true, Settings: []Setting{{"transaction.abort.timed.out.transaction.cleanup.interval.ms", "600000"}}},
		Real:      Real{Feasible: true, Note: "three brokers, two of them held"},
	},
}

func lostEndAnswer(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	t.Finish(who, true, tp)
	t.Say("nobody hears that answer; its sender takes it for a failure and aborts")
	_, code := t.End(who, false)
	seen := code == kafka.InvalidTxnState && slices.Equal(t.Committed(tp), []string{"a"})
	if !t.TV2() {
		return seen, "the abort is refused with " + code.String() + ": it was committed"
	}
	_, on := t.Another().Send(tp, who, 1, "b")
	return seen && on == kafka.InvalidProducerEpoch, fmt.Sprintf("the abort is refused with %v: it was committed; the old epoch is refused with %v", code, on)
}

func sameCommitAgain(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	first := t.Finish(who, true, tp)
	again, code := t.Another().End(who, true)
	t.Check(code == kafka.OK && again == first, "repeated: %v %+v, first %+v", code, again, first)
	t.Holds(tp, "0:a 1:COMMIT")
	return "the same commit again is answered 0 with the same next identity, and writes nothing"
}

func commitAfterTimeout(t *Scene) (bool, string) {
	name := t.Topic(2)
	one, two := stage.Part(name, 0), stage.Part(name, 1)
	a, b := t.Writer(), t.WriterFor(brief)
	t.Write(one, a, 0, "one")
	t.Write(two, b, 0, "two")
	t.Say("both are prepared, in one checkpoint; the commits come after the timeout of the second")
	t.Wait("the timeout", func() bool { return t.OpenFrom(two, b) < 0 })
	t.Finish(a, true, one)
	_, code := t.End(b, true)
	return code != kafka.OK && len(t.Committed(one)) == 1 && len(t.Committed(two)) == 0,
		fmt.Sprintf("one is committed, the commit of two is refused with %v", code)
}

func readBackAborted(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.WriterFor(brief)
	t.Write(tp, who, 0, "a")
	t.Wait("the timeout", func() bool { return t.OpenFrom(tp, who) < 0 })
	t.Say("the aborted record is in the log still: it is read back and written again")
	again := t.Again(who)
	var values []string
	it := kafka.ReadBatches(t.Log(tp))
	for it.Next() {
		for !it.Batch.Control && it.NextRecord() {
			values = append(values, string(it.Record.Value))
		}
	}
	t.Write(tp, again, 0, values...)
	t.Finish(again, true, tp)
	t.Check(slices.Equal(t.Committed(tp), []string{"a"}), "read %v", t.Committed(tp))
	return "the aborted record was read back from the log and committed under another identity"
}

func markersTwice(t *Scene) (bool, string) {
	for range 40 {
		who, parts := t.spread(6)
		t.MoveCoordinator(who.TransactionalID)
		t.Settled(who.TransactionalID)
		t.Closed(who, parts...)
		for _, tp := range parts {
			if d := t.Dump(tp); d != "0:a 1:COMMIT" {
				return d == "0:a 1:COMMIT 2:COMMIT", "a partition holds " + d
			}
		}
	}
	return false, "one marker per partition in 40 tries"
}

func decisionStands(t *Scene) string {
	who, parts := t.spread(6)
	t.MoveCoordinator(who.TransactionalID)
	x := t.Settled(who.TransactionalID)
	t.Closed(who, parts...)
	t.Check(x.State == kafka.TxnCompleteCommit, "ended as %s", x.State)
	for _, tp := range parts {
		t.Check(slices.Equal(t.Committed(tp), []string{"a"}), "%s: %v", tp, t.Committed(tp))
	}
	return "committed in every partition, once, whatever the number of markers"
}

// failedCommit is a commit that was answered 15, and whose coordinator has moved since. A real coordinator gives an append up after
// the timeout of its transaction, so that is short, and nobody looks for transactions that are past it.
func (t *Scene) failedCommit() (tp id.TopicPartition, who kafka.Identity, code kafka.Code) {
	tp = stage.Part(t.Topic(1), 0)
	who = t.WriterFor(3 * time.Second)
	t.Write(tp, who, 0, "a")
	t.WithTxnLogFailing(who.TransactionalID, func() { _, code = t.EndOnce(who, true) })
	t.MoveCoordinator(who.TransactionalID)
	t.Say("the coordinator moves; the new one finds the record in its log")
	return tp, who, code
}

func failedCommitSurvives(t *Scene) (bool, string) {
	tp, who, code := t.failedCommit()
	t.Closed(who, tp)
	_, late := t.End(who, false)
	return code == kafka.CoordinatorNotAvailable && late == kafka.InvalidTxnState && len(t.Committed(tp)) == 1,
		fmt.Sprintf("answered %v, and committed; the abort is answered %v", code, late)
}

func fifteenIsUnknown(t *Scene) string {
	tp, who, _ := t.failedCommit()
	_, code := t.End(who, true)
	t.Check(code == kafka.OK, "repeated: %v", code)
	t.Closed(who, tp)
	t.Check(slices.Equal(t.Committed(tp), []string{"a"}), "read %v", t.Committed(tp))
	return "the same commit again is answered 0"
}
