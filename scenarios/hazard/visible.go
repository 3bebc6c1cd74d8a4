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

// visible are the hazards of what is decided, and not seen by everybody yet.
var visible = []Hazard{
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
