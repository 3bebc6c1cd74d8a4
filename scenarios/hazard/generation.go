package hazard

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

// generations are the hazards of two protocols side by side.
var generations = []Hazard{
	{
		Number: 29, Title: "generations mixed",
		Story:     "Records are written with Produce v12 and the transaction is ended with EndTxn v4, which leaves the epoch: the next transaction's first batch is acknowledged as a repetition and dropped.",
		Where:     Places{{From: "k400", TV: []int16{1, 2}}},
		ClosedBy:  "one generation per identity, stored in the token",
		Show:      generationsMixed,
		NoControl: "an id that is used again without an initialisation begins at sequence 0 of the same epoch, and loses records without any fault",
		Engine: []Trial{
			{Plan: "hazards/H29-version-raised", Evidence: []Evidence{struck, bothProtocols}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 30, Title: "advertised versions at transaction.version 0",
		Story:     "The broker offers EndTxn v5 and Produce v12 whatever the feature says. At transaction.version 0 they are answered 35, and the id is stuck: 51, and no timeout, until the broker restarts.",
		Where:     Places{{From: "k400", TV: []int16{0}}},
		ClosedBy:  "the finalized feature decides, not the ranges of versions",
		Show:      advertisedVersion,
		NoControl: "it cannot write its first record, without any fault",
		Engine: []Trial{
			{Plan: "hazards/H30-feature-decides", Profiles: []string{"k400-tv0", "k44-tv0"}, Evidence: []Evidence{struck, offersNewEndTxn}},
		},
		Real: Real{Feasible: true, Note: "one broker at transaction.version 0"},
	},
}

// Keys of requests, and the first version of each that belongs to protocol 5.
const (
	produceKey, endTxnKey         = 0, 26
	produceVersion, endTxnVersion = 12, 5
)

// generationsMixed writes with the new Produce and ends with the old EndTxn: the epoch stays, so the next transaction's
// first batch is taken for a repetition of the first one's.
func generationsMixed(t *Scene) (seen bool, what string) {
	switch {
	case t.Features.Max(produceKey) < produceVersion:
		return false, "Produce v12 is not offered"
	case t.Features.TransactionVersion == 0:
		return false, "Produce v12 is refused at transaction.version 0 (H30)"
	}
	tp := stage.Part(t.Topic(1), 0)
	who := t.Init(t.Name("txn"), 5)
	t.Write(tp, who, 0, "a")
	mixed := who
	mixed.Protocol = 4
	_, code := t.End(mixed, true)
	t.Check(code == kafka.OK, "EndTxn v4: %v", code)
	t.Closed(who, tp)
	p, code := t.Send(tp, who, 0, "b")
	end := t.Offset(tp, kafka.Latest, kafka.ReadUncommitted)
	if code == kafka.OK && p.Offset == 0 && end == 2 {
		t.Holds(tp, "0:a 1:COMMIT")
		return true, "EndTxn v4 after Produce v12: 0; the next Produce v12: 0 with offset 0, and the log stays 0:a 1:COMMIT"
	}
	return false, fmt.Sprintf("the next Produce v12: %v at %d, log end %d", code, p.Offset, end)
}

// advertisedVersion ends a transaction by the highest version of EndTxn that the broker offers. At transaction.version 0
// that is answered 35, and the id is stuck from then on.
func advertisedVersion(t *Scene) (seen bool, what string) {
	if t.Features.Max(endTxnKey) < endTxnVersion {
		return false, "EndTxn v5 is not offered"
	}
	tp := stage.Part(t.Topic(1), 0)
	who, code := t.InitCode(t.Name("txn"), 2*time.Second, 4)
	t.Check(code == kafka.OK, "init: %v", code)
	t.Write(tp, who, 0, "a")
	newer := who
	newer.Protocol = 5
	_, code = t.End(newer, true)
	if code != kafka.UnsupportedVersion {
		t.Check(code == kafka.OK, "EndTxn v5: %v", code)
		t.Closed(who, tp)
		return false, "EndTxn v5: 0"
	}
	old, err := once(t, func(done func(kafka.Code, error)) {
		t.EndTxn(who, true, func(_ kafka.Identity, c kafka.Code, err error) { done(c, err) })
	})
	t.Check(err == nil, "EndTxn v4: %v", err)
	if !concurrent(t, who) {
		return false, fmt.Sprintf("EndTxn v5: 35, then EndTxn v4: %v, and the id goes on", old)
	}
	x, _ := t.Transaction(who.TransactionalID)
	t.Check(x.State == kafka.TxnOngoing, "described as %s", x.State)
	return true, fmt.Sprintf("EndTxn v5: 35; then EndTxn v4: %v, InitProducerId: 51 for %v, %s beyond its timeout of 2s", old, wedged, x.State)
}
