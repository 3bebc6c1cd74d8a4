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

// identity are the hazards of who acts under which producer id and epoch.
var identity = []Hazard{
	{
		Number: 4, Title: "saved identity commits a later transaction",
		Story:    "A pooled producer is not initialised between transactions. A restore of checkpoint 1 repeats its commit, and commits transaction 3 of the same epoch.",
		Where:    belowTV2,
		ClosedBy: "TV2; below, InitProducerId before every transaction (FLINK-8132)",
		Show:     savedIdentityCommitsLater,
		Engine: []Trial{
			{
				Plan: "savepoint-rewound", Profiles: []string{"k39", "k41-tv1", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, claimed("an older checkpoint restored", checker.RewoundTo), usedAgain},
			},
			refused,
		},
		NoControl: "as H3",
		Real:      Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 15, Title: "InitProducerId aborts a prepared transaction",
		Story:    "Anybody who initialises an id aborts what it has open, also a prepared transaction; even a zombie's call, whose epoch is not looked at.",
		Where:    everywhere,
		ClosedBy: "nobody initialises an id with an undecided commit; a commit needs no initialisation",
		Show:     initAbortsPrepared,
		Cure:     commitWithoutInit,
		Engine: []Trial{
			{
				Plan: "hazards/H15-late-init", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, lateAnywhen("InitProducerID", kafka.ConcurrentTransactions), undecided, reached("sink: salvage done")},
			},
			{
				Plan: "second-crash-after-decision", Profiles: []string{"k39", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, reached("sink: resolve said committed")},
			},
			refused,
		},
		Control: "fence-undecided",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 16, Title: "restarted idempotent producer duplicates",
		Story:    "A producer without a transactional id restarts, gets a new producer id and sends again what was not acknowledged: batches are known again per producer id only.",
		Where:    everywhere,
		ClosedBy: "transactions: the restart fences, which aborts, and everything is written again",
		Show:     restartDuplicates,
		Cure:     restartFences,
		Engine: []Trial{
			{
				Plan: "one-way-cut", Profiles: []string{"k39", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, reached("simbroker: open transaction fenced"), writtenTwice},
			},
			refused,
		},
		Control: "no-guarantee",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 20, Title: "commit repeated in the wrong mode",
		Story:    "A transaction was committed with EndTxn v5, and a committer that does not know repeats it with v4: 90 instead of 0, which reads as data loss.",
		Where:    onlyTV2,
		ClosedBy: "the token stores the protocol of its transaction (FLINK-40689)",
		Show:     wrongMode,
		Engine: []Trial{
			{
				Plan: "hazards/H20-raised", Profiles: []string{"k400-tv1", "k41-tv1", "k44-tv1", "k44-tv0"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, oldModeCommit, reached("sink: resolve said committed")},
			},
			{
				Plan: "commit-reply-lost-then-crash", Profiles: []string{"k400", "k41", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, reached("sink: EndTxn repeated after a lost reply"), reached("sink: resolve said committed")},
			},
		},
		NoControl: "a 90 sends every engine here to lane and log, which say committed",
		Real:      Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 21, Title: "pooled id is superseded",
		Story:    "The commit that a restore repeats is fenced, since the id was used again before the crash. That later transaction is owned by nobody and holds the last stable offset.",
		Where:    everywhere,
		ClosedBy: "after the decision the id is initialised (FLINK-40626)",
		Show:     pooledSuperseded,
		Cure:     initAfterDecision,
		Engine: []Trial{
			{
				Plan: "commit-late-after-crash", Profiles: []string{"k39", "k400", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, lateAnywhen("EndTxn", kafka.ProducerFenced), reached("sink: resolve said committed")},
			},
			refused,
		},
		Control: "no-fencing",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 22, Title: "two writers of one identity on one partition",
		Story:    "Two processes write under the same producer id and epoch to one partition. Where their sequences are equal, the second batch is acknowledged and dropped.",
		Where:    everywhere,
		ClosedBy: "one writer per producer id and partition; every subtask has ids of its own",
		Show:     twoWriters,
		Cure:     writersApart,
		Engine: []Trial{
			{
				Plan: "rescale-zombie", Profiles: []string{"k39", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, shared},
			},
			refused,
		},
		Control: "ids-reused",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
}

func savedIdentityCommitsLater(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	first := t.Writer()
	t.Write(tp, first, 0, "checkpoint 1")
	second := t.Finish(first, true, tp)
	t.Write(tp, second, t.Next(1), "checkpoint 2")
	third := t.Finish(second, true, tp)
	t.Write(tp, third, t.Next(2), "not in any checkpoint")
	t.Say("the process dies; a restore of checkpoint 1 repeats its commit")
	_, code := t.Another().EndOnce(first, true)
	if code != kafka.OK {
		return false, "refused with " + code.String()
	}
	t.Closed(third, tp)
	return slices.Contains(t.Committed(tp), "not in any checkpoint"), "the commit of checkpoint 1 committed the transaction after checkpoint 2"
}

// initAs initialises an id as a producer that believes to be somebody, once.
func (t *Scene) initAs(who kafka.Identity, epoch int16) kafka.Code {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &who.TransactionalID, 60000
	req.ProducerID, req.ProducerEpoch = who.ProducerID, epoch
	r, err := t.RawAt(stage.TxnCoordinator(who.TransactionalID), req)
	t.Check(err == nil, "init: %v", err)
	return kafka.Code(r.(*kmsg.InitProducerIDResponse).ErrorCode)
}

func initAbortsPrepared(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	zombie := t.Writer()
	who := t.Again(zombie)
	t.Write(tp, who, 0, "prepared")
	t.Say("prepared: flushed, and its identity is in a completed checkpoint. A zombie with an older epoch recovers its producer")
	code := t.Another().initAs(who, zombie.ProducerEpoch)
	t.Closed(who, tp)
	_, commit := t.End(who, true)
	return code == kafka.ConcurrentTransactions && commit != kafka.OK && len(t.Committed(tp)) == 0,
		fmt.Sprintf("the zombie was told %v, and the owner's commit is refused with %v", code, commit)
}

func commitWithoutInit(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "prepared")
	t.Say("another process commits with the saved identity, and initialises only afterwards")
	o := t.Another()
	o.Finish(who, true, tp)
	o.Again(who)
	t.Holds(tp, "0:prepared 1:COMMIT")
	return "another process committed with the saved identity, and initialised the id afterwards"
}

func restartDuplicates(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	t.Write(tp, t.Plain(), 0, "once")
	t.Say("the answer is lost with the process; the next one sends the record again")
	o := t.Another()
	o.Write(tp, o.Plain(), 0, "once")
	read := t.Committed(tp)
	return len(read) == 2, fmt.Sprintf("%d copies of one record", len(read))
}

func restartFences(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "once")
	o := t.Another()
	again := o.Again(who)
	o.Write(tp, again, 0, "once")
	o.Finish(again, true, tp)
	t.Check(len(t.Committed(tp)) == 1, "read %v", t.Committed(tp))
	return "the first copy was aborted by the restart, the second is committed"
}

func wrongMode(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	t.Finish(who, true, tp)
	t.Settled(who.TransactionalID) // its partition shows the end before its coordinator has written it
	forgot := who
	forgot.Protocol = 4
	_, code := t.Another().EndOnce(forgot, true)
	_, right := t.Another().EndOnce(who, true)
	t.Check(right == kafka.OK, "repeated in its own mode: %v", right)
	if code == kafka.OK {
		return false, "there is one mode only, and the repeat is answered 0"
	}
	return true, "a committed transaction answers " + code.String() + " to a repeat in the old mode, and 0 in its own"
}

// superseded is an id whose commit was repeated after it had been used again.
func (t *Scene) superseded() (tp id.TopicPartition, orphan kafka.Identity, code kafka.Code) {
	tp = stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "checkpoint 1")
	orphan = t.Finish(who, true, tp)
	if !t.TV2() {
		orphan = t.Again(who)
	}
	t.Write(tp, orphan, 0, "orphan")
	t.Say("the process dies with that transaction open; a restore repeats the commit of checkpoint 1")
	_, code = t.Another().EndOnce(who, true)
	return tp, orphan, code
}

func pooledSuperseded(t *Scene) (bool, string) {
	tp, orphan, code := t.superseded()
	t.Sleep(3 * time.Second)
	held := t.OpenFrom(tp, orphan) >= 0 && t.Stable(tp) < t.HighWatermark(tp)
	return code != kafka.OK && held, fmt.Sprintf("the commit is answered %v, and the transaction behind it stays open", code)
}

func initAfterDecision(t *Scene) string {
	tp, orphan, _ := t.superseded()
	t.Again(orphan)
	t.Closed(orphan, tp)
	t.Check(slices.Equal(t.Committed(tp), []string{"checkpoint 1"}), "read %v", t.Committed(tp))
	return "the initialisation aborted what nobody owned"
}

func twoWriters(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "mine")
	_, code := t.Another().Send(tp, who, 0, "other")
	t.Finish(who, true, tp)
	return code == kafka.OK && !slices.Contains(t.Committed(tp), "other"), "the second writer's batch was acknowledged and is nowhere"
}

func writersApart(t *Scene) string {
	name := t.Topic(2)
	mine, other := stage.Part(name, 0), stage.Part(name, 1)
	who := t.Writer()
	t.Write(mine, who, 0, "mine")
	o := t.Another()
	o.Write(other, who, 0, "other")
	t.Finish(who, true, mine, other)
	t.Holds(mine, "0:mine 1:COMMIT")
	t.Holds(other, "0:other 1:COMMIT")
	return "with a partition for each of them both records are committed"
}
