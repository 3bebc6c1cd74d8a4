package hazard

import (
	"slices"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/sim/simbroker"
)

// refused: a job is refused on brokers that do not verify transactions, before it writes anything.
var refused = Trial{
	Plan: "refused-k35", Profiles: []string{"k35"}, Verdict: checker.Refused,
	Evidence: []Evidence{happened("no transaction was begun", func(h []simbroker.TxnEvent) bool {
		return !slices.ContainsFunc(h, func(e simbroker.TxnEvent) bool { return e.State == simbroker.Ongoing })
	})},
}

// late are the hazards of requests that arrive when their sender does not expect them any more.
var late = []Hazard{
	{
		Number: 1, Title: "late produce joins a later transaction",
		Story:    "A batch of an aborted transaction arrives while the next one of the same epoch is open on its partition: it is committed with that.",
		Where:    belowTV2,
		ClosedBy: "TV2: every transaction has an epoch; below, an id is initialised between two uses",
		Show:     lateProduceJoins,
		Engine: []Trial{
			{
				Plan: "hazards/H01-late-produce", Profiles: []string{"k39", "k41-tv1", "k44-tv1", "k44-tv0", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, lateAnswer("Produce", kafka.InvalidProducerEpoch)},
			},
			refused,
		},
		Control: "ids-reused",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 2, Title: "late produce hangs for ever",
		Story:     "A batch arrives behind the abort of its transaction and opens it again on the partition, where no coordinator knows of it: no timeout ends it.",
		Where:     Places{{To: "k35"}},
		ClosedBy:  "3.6: the leader asks the coordinator before the first record of a transaction",
		Show:      lateProduceHangs,
		Engine:    []Trial{refused},
		NoControl: "the engine is refused on brokers that do not ask",
		Real:      Real{Feasible: true, Note: "one broker of 3.5"},
	},
	{
		Number: 3, Title: "late EndTxn ends another transaction",
		Story:    "An EndTxn is repeated after a lost answer, the next transaction of the same epoch is open, and the first copy arrives: it commits half of that.",
		Where:    belowTV2,
		ClosedBy: "TV2 answers 90; below, an id is initialised between two uses (KAFKA-17754)",
		Show:     lateEndEndsAnother,
		Engine: []Trial{
			{
				Plan: "hazards/H03-late-end", Profiles: []string{"k39", "k41-tv1", "k44-tv1", "k44-tv0", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, lateAnswer("EndTxn", kafka.ProducerFenced)},
			},
			refused,
		},
		NoControl: "an engine that does not initialise between uses begins each at sequence 0, and loses records without any fault",
		Real:      Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 14, Title: "late produce opens a transaction",
		Story:    "The last batch of a dead process arrives when nothing is open: it opens a transaction that nobody owns, and holds the last stable offset until its timeout.",
		Where:    onlyTV2,
		ClosedBy: "initialise the id at restore; below TV2 the partition was not added",
		Show:     lateProduceOpens,
		Engine: []Trial{
			{
				Plan: "hazards/H14-late-open", Profiles: []string{"k400", "k41", "k42", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, lateAnywhen("Produce", kafka.InvalidProducerEpoch)},
			},
		},
		Control: "no-fencing",
		Real:    Real{Feasible: true, Note: "one broker"},
	},
}

func lateProduceJoins(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "first")
	next := t.Finish(who, false, tp)
	t.Say("the first transaction is aborted; its second batch is still under way")
	t.Join(next, tp)
	if t.TV2() {
		t.Write(tp, next, 0, "second")
	}
	code := t.Late(tp, who, 1, "late")
	t.Finish(next, true, tp)
	if read := t.Committed(tp); slices.Contains(read, "late") {
		return true, "a record of an aborted transaction was committed with the next one"
	}
	t.Check(code != kafka.OK, "accepted, and not committed: %v", t.Dump(tp))
	return false, "refused with " + code.String()
}

func lateProduceHangs(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.WriterFor(brief)
	t.Write(tp, who, 0, "first")
	t.Finish(who, false, tp)
	code := t.Late(tp, who, 1, "late")
	if code != kafka.OK {
		t.Check(t.Stable(tp) == t.HighWatermark(tp), "refused, and open")
		return false, "refused with " + code.String()
	}
	t.Sleep(3 * brief)
	t.Say("three times the transaction timeout later the coordinator says %s", t.State(who.TransactionalID))
	t.Check(t.State(who.TransactionalID) != kafka.TxnOngoing, "the coordinator knows of it")
	return t.OpenFrom(tp, who) >= 0 && t.Stable(tp) < t.HighWatermark(tp), "open for ever: the last stable offset is stuck at a transaction that no coordinator knows"
}

func lateEndEndsAnother(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "first")
	next := t.Finish(who, true, tp)
	t.Write(tp, next, t.Next(1), "half")
	t.Say("the next transaction has written half of its records; the first copy of the EndTxn arrives")
	_, code := t.Another().EndOnce(who, true)
	if code != kafka.OK {
		t.Check(t.OpenFrom(tp, next) >= 0, "refused, and ended the next transaction")
		_, code2 := t.End(next, false)
		t.Check(code2 == kafka.OK, "abort of the next: %v", code2)
		return false, "refused with " + code.String()
	}
	t.Closed(who, tp)
	read := t.Committed(tp)
	_, rest := t.Send(tp, next, 2, "other half")
	t.Say("its owner writes on: %v", rest)
	return slices.Contains(read, "half"), "answered 0, and half of the next transaction is committed"
}

func lateProduceOpens(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.WriterFor(brief)
	code := t.Late(tp, who, 0, "late")
	if code != kafka.OK || t.State(who.TransactionalID) != kafka.TxnOngoing {
		return false, "opened nothing at the coordinator: " + code.String()
	}
	t.Check(t.Stable(tp) == 0 && t.HighWatermark(tp) == 1, "not open at the partition")
	t.Wait("the timeout", func() bool { return t.Stable(tp) == 2 })
	return true, "a transaction without an owner held the last stable offset until its timeout"
}
