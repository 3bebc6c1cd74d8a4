package hazard

import (
	"fmt"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

// byHand are the hazards of markers written by hand.
var byHand = []Hazard{
	{
		Number: 41, Title: "hand-written marker with an epoch too high",
		Story:    "A marker by hand names a coordinator epoch above the real one: the coordinator is shut out of the partition, and the id answers 51 for ever. With a producer epoch too high the id is shut out.",
		Where:    everywhere,
		ClosedBy: "exactly the values that DescribeProducers shows",
		Show:     markerTooHigh,
		Cure:     markerAsShown,
		Control:  "marker-epoch-guessed",
		Engine: []Trial{
			{Plan: "hazards/H41-marker-by-hand", Profiles: []string{"k43", "k44-tv1", "k44"}, Evidence: []Evidence{struck, reached(markerWasDropped), reached(repairWasSent)}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 42, Title: "late hand-written marker joins the next transaction",
		Story:     "A marker by hand arrives when the id's next transaction is open on the partition: below TV2 with the old epoch, on TV2 with the next one it publishes the first half.",
		Where:     everywhere,
		ClosedBy:  "the epoch shown on TV2; below, an id is initialised between two uses",
		Show:      handMarkerAgain,
		Cure:      handMarkerTooLate,
		NoControl: "the engine initialises every id between two uses, and writes the epoch that it was shown: a control would have to break both, and is no-quarantine then",
		Engine: []Trial{
			{Plan: "hazards/H42-marker-by-hand-again", Profiles: []string{"k43", "k44-tv1", "k44"}, Evidence: []Evidence{struck, reached(repairWasSent), lateAnywhen("WriteTxnMarkers", kafka.OK, kafka.InvalidProducerEpoch)}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
}

// markerTooHigh writes markers by hand with epochs that are not the ones shown: a coordinator epoch that is too high shuts the
// coordinator out of the partition, a producer epoch that is too high shuts out the id.
func markerTooHigh(t *Scene) (seen bool, what string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	p, _ := t.Producer(tp, who.ProducerID)
	p.CoordinatorEpoch = 50
	byHand := t.WriteMarker(tp, p, true)
	_, code := t.End(who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	stuck := concurrent(t, who)
	x, _ := t.Transaction(who.TransactionalID)

	other := stage.Part(t.Topic(1), 0)
	next := t.Writer()
	t.Write(other, next, 0, "a")
	p, _ = t.Producer(other, next.ProducerID)
	p.ProducerEpoch += 40
	high := t.WriteMarker(other, p, true)
	_, code = t.Send(other, next, 1, "b")
	return byHand == kafka.OK && stuck && high == kafka.OK && code == kafka.InvalidProducerEpoch,
		fmt.Sprintf("by hand with coordinator epoch 50: %v, then EndTxn 0, %s and InitProducerId 51 for %v: %v; with epoch +40: %v, the id's next batch: %v",
			byHand, x.State, wedged, stuck, high, code)
}

// handMarkerAgain writes the marker of a transaction by hand once more when the id's next transaction is open on the partition:
// with the epoch shown below protocol 5, with the next one from there on. The first half of that transaction is published.
func handMarkerAgain(t *Scene) (seen bool, what string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	shown, _ := t.Producer(tp, who.ProducerID)
	next := t.Finish(who, true, tp)
	t.Settled(who.TransactionalID)
	t.Write(tp, next, t.Next(1), "b")
	harmless := kafka.OK
	if next.Protocol >= 5 {
		harmless = t.WriteMarker(tp, shown, true)
		shown.ProducerEpoch++
	}
	after, _ := t.Producer(tp, who.ProducerID)
	shown.CoordinatorEpoch = after.CoordinatorEpoch
	code := t.WriteMarker(tp, shown, true)
	t.Within(wedged, func() bool { return t.OpenFrom(tp, next) < 0 })
	read := t.Committed(tp)
	what = fmt.Sprintf("late marker with epoch %d in the transaction of epoch %d: %v, a reader gets %v while it is open", shown.ProducerEpoch, next.ProducerEpoch, code, read)
	if next.Protocol >= 5 {
		what += fmt.Sprintf("; with the first one's epoch: %v", harmless)
	}
	return code == kafka.OK && len(read) == 2, what
}

// markerAsShown writes a marker with the values that DescribeProducers shows; the coordinator's own, and the id's next
// transaction, go on as if nothing had happened.
func markerAsShown(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	p, _ := t.Producer(tp, who.ProducerID)
	code := t.WriteMarker(tp, p, true)
	t.Check(code == kafka.OK, "by hand: %v", code)
	next := t.Finish(who, true, tp)
	t.Settled(who.TransactionalID)
	t.Write(tp, next, t.Next(1), "b")
	t.Finish(next, true, tp)
	t.Holds(tp, "0:a 1:COMMIT 2:COMMIT 3:b 4:COMMIT")
	return "a marker with the values shown, then the coordinator's own, then the next transaction: all of it is right"
}

// handMarkerTooLate writes the marker when the next transaction is open, where the id was initialised in between.
func handMarkerTooLate(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	shown, _ := t.Producer(tp, who.ProducerID)
	t.Finish(who, true, tp)
	who = t.Again(who)
	t.Write(tp, who, 0, "b")
	code := t.WriteMarker(tp, shown, true)
	t.Check(code == kafka.InvalidProducerEpoch, "late: %v", code)
	t.Check(len(t.Committed(tp)) == 1, "read %v", t.Committed(tp))
	return "after an initialisation it is refused with " + code.String()
}
