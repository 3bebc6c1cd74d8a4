package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// verdict are the hazards of what is decided, and of who knows it when.
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
		Number: 7, Title: "decided, not visible",
		Story:    "EndTxn is answered when the decision is durable. Markers follow one partition after the other: a reader sees the transaction here and not yet there.",
		Where:    everywhere,
		ClosedBy: "by design: a commit is confirmed when every partition is closed",
		Show:     decidedNotVisible,
		Cure:     everyPartitionCloses,
		Engine: []Trial{
			{
				Plan: "marker-waits-k41", Profiles: []string{"k37", "k39", "k400", "k41", "k42"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, decidedFor(time.Second)},
			},
			refused,
		},
		Control: "no-confirm",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 8, Title: "torn read without any failure",
		Story:    "Somebody else's open transaction with a lower offset holds the last stable offset of one partition: a committed transaction is visible in the other one only.",
		Where:    everywhere,
		ClosedBy: "by design: visible once the older transaction ends; open ones of dead processes are fenced",
		Show:     tornRead,
		Cure:     olderEnds,
		Engine: []Trial{
			{
				Plan: "zombie-taskmanager", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, hidden, reached("simbroker: open transaction fenced")},
			},
			refused,
		},
		Control: "no-fencing",
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
		Needs:     Needs{Brokers: 3, Simulated: "the record must be on all replicas in sync when its append is given up"},
		Real:      Real{Note: "needs replicas that fail between two acknowledgements"},
	},
	{
		Number: 25, Title: "stale Ongoing",
		Story:    "DescribeTransactions tells the committed state: while the decision is being written it says Ongoing, and whoever decides by that decides against a commit.",
		Where:    everywhere,
		ClosedBy: "a commit is never decided by Describe: it is asked for again, and lane and log are read",
		Show:     staleOngoing,
		Cure:     askedAgain,
		Engine: []Trial{
			{
				Plan: "commit-late-after-crash", Profiles: []string{"k39", "k400", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, commitUnderWay, reached("sink: resolve said committed")},
			},
			refused,
		},
		NoControl: "no engine here decides by Describe alone",
		Real:      Real{Feasible: true, Note: "one broker; a race"},
	},
	{
		Number: 26, Title: "pending group commit blocks a restart",
		Story:    "Source positions were committed inside a transaction that is prepared: a stable read of them is answered 88 until it is decided.",
		Where:    everywhere,
		ClosedBy: "transactions are decided before sources start; positions come from the checkpoint",
		Show:     pendingBlocks,
		Cure:     decidedUnblocks,
		Engine: []Trial{
			{
				Plan: "completed-then-crash", Profiles: []string{"k37", "k39", "k400", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, reached("simbroker: unstable offset answered")},
			},
			refused,
		},
		NoControl: "sources of every engine here start from the checkpoint",
		Real:      Real{Feasible: true, Note: "one broker"},
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
	a, b := t.Writer(), t.WriterFor(time.Second)
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
	who := t.WriterFor(time.Second)
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

// spread is a transaction over many partitions that has just been answered.
func (t *Scene) spread(partitions int32) (who kafka.Identity, parts []id.TopicPartition) {
	name := t.Topic(partitions)
	for p := range partitions {
		parts = append(parts, stage.Part(name, p))
	}
	who = t.Writer()
	t.Join(who, parts...)
	for _, tp := range parts {
		_, code := t.Send(tp, who, 0, "a")
		t.Check(code == kafka.OK, "produce: %v", code)
	}
	_, code := t.End(who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	return who, parts
}

func decidedNotVisible(t *Scene) (bool, string) {
	for range 40 {
		_, parts := t.spread(6)
		visible := 0
		for _, tp := range parts {
			if t.Stable(tp) > 0 {
				visible++
			}
		}
		if visible < len(parts) {
			return true, fmt.Sprintf("EndTxn was answered 0, and %d of %d partitions show the transaction", visible, len(parts))
		}
	}
	return false, "visible everywhere in 40 tries"
}

func everyPartitionCloses(t *Scene) string {
	who, parts := t.spread(6)
	t.Closed(who, parts...)
	for _, tp := range parts {
		t.Check(len(t.Committed(tp)) == 1, "%s: %v", tp, t.Committed(tp))
	}
	return "no partition shows it as open: all of it is visible"
}

// heldBack is a committed transaction over two partitions, in the second of which somebody else has an older one open.
func (t *Scene) heldBack() (older, who kafka.Identity, one, two id.TopicPartition) {
	name := t.Topic(2)
	one, two = stage.Part(name, 0), stage.Part(name, 1)
	older, who = t.Writer(), t.Writer()
	t.Write(two, older, 0, "older")
	t.Write(one, who, 0, "a")
	t.Write(two, who, 0, "b")
	t.Finish(who, true, one, two)
	return older, who, one, two
}

func tornRead(t *Scene) (bool, string) {
	_, _, one, two := t.heldBack()
	return len(t.Committed(one)) == 1 && len(t.Committed(two)) == 0, "committed and closed in both partitions, and visible in one"
}

func olderEnds(t *Scene) string {
	older, _, one, two := t.heldBack()
	t.Say("the older one belongs to a dead process, and is fenced")
	t.Again(older)
	t.Closed(older, two)
	t.Check(len(t.Committed(one)) == 1 && slices.Equal(t.Committed(two), []string{"b"}), "read %v and %v", t.Committed(one), t.Committed(two))
	return "visible in both once the older transaction was fenced"
}

func markersTwice(t *Scene) (bool, string) {
	for range 40 {
		who, parts := t.spread(6)
		t.MoveCoordinator(who.TransactionalID)
		t.Settled(who.TransactionalID)
		t.Closed(who, parts...)
		for _, tp := range parts {
			if d := t.Dump(tp); d != "0:a 1:COMMIT" {
				return d == "0:a 1:COMMIT 2:COMMIT", fmt.Sprintf("%s holds %s", tp, d)
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

// describeAtOnce asks for a state while another request is under way, and returns what both were answered.
func (t *Scene) describeDuringCommit() (kafka.TxnState, kafka.Code, kafka.Identity) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	o := t.Another()
	node := t.Find(stage.TxnCoordinator(who.TransactionalID))
	end := kmsg.NewPtrEndTxnRequest()
	end.Version, end.TransactionalID, end.Commit = min(who.Protocol, t.Features.Max(26)), who.TransactionalID, true
	end.ProducerID, end.ProducerEpoch = who.ProducerID, who.ProducerEpoch
	ask := kmsg.NewPtrDescribeTransactionsRequest()
	ask.TransactionalIDs = []string{who.TransactionalID}
	ended := t.Start(node, end)
	asked := o.Start(node, ask)
	d, err := asked.Await()
	t.Check(err == nil, "describe: %v", err)
	e, err := ended.Await()
	t.Check(err == nil, "end: %v", err)
	return kafka.TxnState(d.(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State),
		kafka.Code(e.(*kmsg.EndTxnResponse).ErrorCode), who
}

func staleOngoing(t *Scene) (bool, string) {
	for range 100 {
		state, code, who := t.describeDuringCommit()
		if state == kafka.TxnOngoing && code == kafka.OK && t.Settled(who.TransactionalID).State == kafka.TxnCompleteCommit {
			return true, "Describe said Ongoing while the commit, sent before it, was being written"
		}
	}
	return false, "Describe was never behind in 100 tries"
}

func askedAgain(t *Scene) string {
	_, _, who := t.describeDuringCommit()
	_, code := t.Another().End(who, true)
	t.Check(code == kafka.OK, "repeated: %v", code)
	return "the commit asked for again is answered 51 until it is decided, and then 0"
}

func pendingBlocks(t *Scene) (bool, string) {
	group, lane, _, who := t.LaneAndWriter()
	t.T.Mark(who, group, lane, 7, "seven")
	t.Say("prepared; another process starts, and asks where its sources stand")
	o := t.Another()
	blocked := 0
	for range 5 {
		got, code := o.Lane(group, lane, true)
		if code == kafka.OK && got.Code == kafka.UnstableOffsetCommit {
			blocked++
		}
		t.Sleep(200 * time.Millisecond)
	}
	return blocked == 5, "a stable read is answered 88 as long as the transaction is not decided"
}

func decidedUnblocks(t *Scene) string {
	group, lane, _, who := t.LaneAndWriter()
	t.T.Mark(who, group, lane, 7, "seven")
	_, code := t.Another().End(who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	t.Check(t.StableLane(group, lane).Offset == 7, "reads %d", t.StableLane(group, lane).Offset)
	return "once the transaction is decided, the position is read"
}

// failedCommit is a commit that was answered 15, and whose coordinator has moved since.
func (t *Scene) failedCommit() (tp id.TopicPartition, who kafka.Identity, code kafka.Code) {
	tp = stage.Part(t.Topic(1), 0)
	who = t.Writer()
	t.Write(tp, who, 0, "a")
	t.simulated().FailTxnLog(who.TransactionalID)
	_, code = t.EndOnce(who, true)
	t.simulated().HealTxnLog()
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
