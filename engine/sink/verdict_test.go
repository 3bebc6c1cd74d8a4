package sink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// A wrong cell of this table publishes a record twice or loses it: it is the whole of what a restore knows. The golden
// prints every combination for a token with one range, and for two ranges those that differ from it.
func TestJudgeTable(t *testing.T) {
	datadriven.RunTest(t, "testdata/judge", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		for lane := LaneUnstable; lane <= LaneOther; lane++ {
			for co := Silent; co <= CompletedAbort; co++ {
				fmt.Fprintf(&b, "%-8v %-15v", lane, co)
				for _, ranges := range witnessCases(d.Cmd) {
					j := Judge(lane, Salvaged{}, co, ranges)
					cell := j.Verdict.String()
					if len(j.Aborted) > 0 {
						cell += fmt.Sprint(j.Aborted)
					}
					if j.ByWitness {
						cell += "*"
					}
					fmt.Fprintf(&b, " %-14s", cell)
				}
				b.WriteString("\n")
			}
		}
		return strings.ReplaceAll(b.String(), " \n", "\n")
	})
}

func witnessCases(cmd string) [][]Witness {
	u, c, a, l := WitnessUndecided, WitnessCommitted, WitnessAborted, WitnessLost
	switch cmd {
	case "one":
		return [][]Witness{{}, {u}, {c}, {a}, {l}}
	case "two":
		return [][]Witness{{u, u}, {u, c}, {u, a}, {c, a}, {c, l}, {a, l}, {a, a}}
	}
	panic(cmd)
}

// What was salvaged stays aborted in its first copy for ever; a restore that took it for torn would write it again.
func TestSalvagedRangesAreNotTorn(t *testing.T) {
	tok := token.Token{Checkpoint: 7, Metadata: "m at=1", Ranges: make([]token.Range, 3)}
	var two Set
	two.Add(0)
	two.Add(2)
	lane, salvaged := ReadLane(tok, LaneValue{Value: 7, Metadata: Salvaged{Done: two}.Metadata(tok)})
	if lane != LaneCommitted {
		t.Fatalf("lane says %v", lane)
	}
	j := Judge(lane, salvaged, Silent, []Witness{WitnessAborted, WitnessCommitted, WitnessAborted})
	if j.Verdict != Committed {
		t.Fatalf("verdict %v %v", j.Verdict, j.Aborted)
	}
	j = Judge(lane, salvaged, Silent, []Witness{WitnessAborted, WitnessAborted, WitnessAborted})
	if j.Verdict != Torn || len(j.Aborted) != 1 || j.Aborted[0] != 1 {
		t.Fatalf("verdict %v %v", j.Verdict, j.Aborted)
	}
}

// A restore that found a range lost and salvaged the others dies before it has said so. For the next one that range must
// not look like evidence that was deleted after a commit.
func TestLostRangesStayKnown(t *testing.T) {
	tok := token.Token{Checkpoint: 7, Metadata: "m at=1", Ranges: make([]token.Range, 2)}
	var s Salvaged
	s.Done.Add(0)
	s.Lost.Add(1)
	lane, salvaged := ReadLane(tok, LaneValue{Value: 7, Metadata: s.Metadata(tok)})
	j := Judge(lane, salvaged, Silent, []Witness{WitnessAborted, WitnessLost})
	if j.Verdict != Torn || len(j.Aborted) != 1 || j.Aborted[0] != 1 {
		t.Fatalf("verdict %v %v", j.Verdict, j.Aborted)
	}
}

// Verbatim metadata with ABORT everywhere is not a salvage: it is a commit whose dropped markers a failed repair aborted.
// Confirming it would lose the records in silence.
func TestCommittedLaneWithAbortedRangesIsTorn(t *testing.T) {
	tok := token.Token{Checkpoint: 7, Metadata: "m at=1", Ranges: make([]token.Range, 1)}
	lane, salvaged := ReadLane(tok, LaneValue{Value: 7, Metadata: tok.Metadata})
	if j := Judge(lane, salvaged, CompletedAbort, []Witness{WitnessAborted}); j.Verdict != Torn {
		t.Fatalf("verdict %v", j.Verdict)
	}
}

// "None" and a lower value are not "aborted": a deleted group would start a salvage of committed data.
func TestLaneSaysBeforeOnlyForExactlyWhatWasStored(t *testing.T) {
	tok := token.Token{Checkpoint: 7, Metadata: "ours", Lane: token.Lane{Partition: 3, Value: 5, Metadata: "old"}}
	for _, c := range []struct {
		v    LaneValue
		want LaneSays
	}{
		{LaneValue{Unstable: true}, LaneUnstable},
		{LaneValue{Value: 7, Metadata: "ours"}, LaneCommitted},
		{LaneValue{Value: 7, Metadata: "theirs"}, LaneOther},
		{LaneValue{Value: 7, Metadata: "ours salvaged=zz lost=0"}, LaneOther},
		{LaneValue{Value: 7, Metadata: "ours salvaged=1"}, LaneOther},
		{LaneValue{Value: 7, Metadata: "ours salvaged=1 lost=2"}, LaneCommitted},
		{LaneValue{Value: 5, Metadata: "old"}, LaneBefore},
		{LaneValue{Value: 5, Metadata: "seed"}, LaneOther},
		{LaneValue{Value: 4, Metadata: "old"}, LaneOther},
		{LaneValue{Value: -1}, LaneOther},
		{LaneValue{Value: 8, Metadata: "ours"}, LaneOther},
	} {
		if got, _ := ReadLane(tok, c.v); got != c.want {
			t.Errorf("%+v: %v, want %v", c.v, got, c.want)
		}
	}
}

// Compaction takes the entry of the aborted list together with the records: without the record itself, "not listed" is no
// commit.
func TestWitnessNeedsTheRecord(t *testing.T) {
	for _, c := range []struct {
		a    WitnessAnswer
		want Witness
	}{
		{WitnessAnswer{LastStable: 20, Listed: true}, WitnessAborted},
		{WitnessAnswer{LastStable: 20, RecordAt: true}, WitnessCommitted},
		{WitnessAnswer{LastStable: 20}, WitnessLost},
		{WitnessAnswer{OutOfRange: true}, WitnessLost},
		{WitnessAnswer{LastStable: 10}, WitnessUndecided},
		{WitnessAnswer{LastStable: 10, RecordAt: true}, WitnessUndecided},
		{WitnessAnswer{Unreachable: true}, WitnessUndecided},
		{WitnessAnswer{Gone: true}, WitnessLost},
	} {
		if got := ReadWitness(10, c.a); got != c.want {
			t.Errorf("%+v: %v, want %v", c.a, got, c.want)
		}
	}
}

// An answer in the wrong class aborts, loses or repeats a decided transaction.
func TestClassesOfEndTxn(t *testing.T) {
	want := map[kafka.Code]EndClass{
		kafka.OK:                        EndOK,
		kafka.ConcurrentTransactions:    EndAgain,
		kafka.CoordinatorLoadInProgress: EndAgain,
		kafka.RequestTimedOut:           EndAgain,
		kafka.NetworkException:          EndAgain,
		kafka.CoordinatorNotAvailable:   EndElsewhere,
		kafka.NotCoordinator:            EndElsewhere,
		kafka.ProducerFenced:            EndResolve,
		kafka.InvalidProducerEpoch:      EndResolve,
		kafka.InvalidTxnState:           EndResolve,
		kafka.InvalidProducerIDMapping:  EndResolve,
		kafka.TransactionAbortable:      EndResolve,
		kafka.TransactionalIDAuth:       EndUnauthorized,
		kafka.InvalidRequest:            EndBroken,
		kafka.UnsupportedVersion:        EndBroken,
	}
	for code := kafka.Code(-1); code < 130; code++ {
		if w, ok := want[code]; ok && ClassifyEnd(code, nil) != w {
			t.Errorf("%v: %v, want %v", code, ClassifyEnd(code, nil), w)
		}
	}
	if ClassifyEnd(kafka.OK, fmt.Errorf("broken pipe")) != EndAgain {
		t.Error("an unknown outcome must be asked for again")
	}
}

func TestNamesParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := Name{Job: "j1-x", Sink: "totals"}
		if rapid.Bool().Draw(t, "salvage") {
			n.Salvage = true
		} else {
			n.Generation = 1
			n.Subtask = rapid.Int32Range(0, 1000).Draw(t, "subtask")
			n.Number = rapid.Int32Range(0, 15).Draw(t, "number")
		}
		if got, ok := ParseName(n.String()); !ok || got != n {
			t.Fatalf("%s -> %+v %v", n, got, ok)
		}
	})
	for _, s := range []string{"", "onefold.j.s", "onefold.j.s.salvage.x", "onefold.j.s.g01.0.0", "onefold.j.s.g1.-0.0", "other.j.s.g1.0.0", "onefold.j.S.g1.0.0", "onefold.j.s.g1.0.0x"} {
		if n, ok := ParseName(s); ok {
			t.Errorf("%q parsed as %+v", s, n)
		}
	}
}

func TestSetsParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 300), 1, 20).Draw(t, "elements") {
			s.Add(i)
		}
		got, ok := parseSet(s.String())
		if !ok {
			t.Fatalf("%s does not parse", s.String())
		}
		for i := range 320 {
			if s.Has(i) != got.Has(i) {
				t.Fatalf("element %d of %s", i, s.String())
			}
		}
	})
}
