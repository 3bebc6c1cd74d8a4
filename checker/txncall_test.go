package checker

import (
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// txnOps numbers operations as a history of one id.
func txnOps(list []TransactionOperation) []TransactionOperation {
	for i := range list {
		list[i].ID = "id"
		if list[i].Result == TxnUnknown {
			list[i].Return = math.MaxInt64
		}
	}
	return list
}

// lostInits is a history in which so many initialisations and commits had no answer, and every one after them took effect once.
func lostInits(lost, rounds int) (list []TransactionOperation) {
	at := int64(0)
	done := func(kind TransactionKind, epoch int) {
		list = append(list, TransactionOperation{Call: at, Return: at + 1, Kind: kind, ProducerID: 7, ProducerEpoch: int16(epoch)})
		at += 2
	}
	for range lost {
		list = append(list, TransactionOperation{Call: at, Kind: Initialise, Result: TxnUnknown})
		at++
	}
	for e := range rounds {
		done(Initialise, e)
		done(Write, e)
		for _, kind := range []TransactionKind{Write, EndCommit} {
			list = append(list, TransactionOperation{Call: at, Kind: kind, ProducerID: 7, ProducerEpoch: int16(e), Result: TxnUnknown})
		}
		done(EndCommit, e)
	}
	return txnOps(list)
}

// judged runs the model with a deadline: without a bound, eight calls without an answer are not judged within minutes.
func judged(t *testing.T, list []TransactionOperation) bool {
	t.Helper()
	switch porcupine.CheckOperationsTimeout(txnModel, txnCalls(list)[0], 2*time.Minute) {
	case porcupine.Ok:
		return true
	case porcupine.Illegal:
		return false
	}
	t.Fatalf("%d calls: not judged within 2 minutes", len(list))
	return false
}

// If this failed, one run with many lost answers would hold a campaign up for ever.
func TestManyUnknownCallsAreJudgedSoon(t *testing.T) {
	if !judged(t, lostInits(24, 24)) {
		t.Error("a legal history is refused")
	}
	bad := lostInits(24, 24)
	bad = append(bad, txnOps([]TransactionOperation{{Call: 1 << 40, Return: 1<<40 + 1, Kind: Write, ProducerID: 7, ProducerEpoch: 22}})...)
	if judged(t, bad) {
		t.Error("a write of an identity that was fenced is accepted")
	}
	bad = lostInits(24, 24)
	for e := range int16(24) {
		bad = append(bad, txnOps([]TransactionOperation{{Call: 1 << 40, Return: 1<<40 + 1, Kind: ObservedCommit, ProducerID: 7, ProducerEpoch: e}})...)
	}
	if !judged(t, bad) {
		t.Error("commits that are seen in the end are refused")
	}
	bad = append(bad, txnOps([]TransactionOperation{{Call: 1 << 40, Return: 1<<40 + 1, Kind: ObservedAbort, ProducerID: 7, ProducerEpoch: 12}})...)
	if judged(t, bad) {
		t.Error("an abort of what is committed elsewhere is accepted")
	}
}

// The bound leaves every verdict as it is: on small histories the model says the same with and without.
func TestBoundLeavesVerdicts(t *testing.T) {
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		var list []TransactionOperation
		for range rapid.IntRange(1, 9).Draw(t, "calls") {
			call := rapid.Int64Range(0, 20).Draw(t, "call")
			op := TransactionOperation{
				Call: call, Return: call + rapid.Int64Range(0, 6).Draw(t, "takes"),
				Kind:       rapid.SampledFrom([]TransactionKind{Initialise, Initialise, Write, Write, EndCommit, EndAbort, TimedOut, FencedInMemory, ObservedCommit, ObservedAbort}).Draw(t, "kind"),
				ProducerID: rapid.Int64Range(1, 2).Draw(t, "producer"), ProducerEpoch: int16(rapid.IntRange(0, 2).Draw(t, "epoch")),
			}
			if op.Kind == FencedInMemory {
				op.Result = rapid.SampledFrom([]TransactionResult{TxnDone, TxnInvalidState}).Draw(t, "result")
			}
			if op.Kind < TimedOut {
				op.Result = rapid.SampledFrom([]TransactionResult{TxnDone, TxnDone, TxnUnknown, TxnUnknown, TxnFenced, TxnInvalidState}).Draw(t, "result")
			}
			list = append(list, op)
		}
		list = txnOps(list)
		plain := make([]porcupine.Operation, len(list))
		for i := range list {
			plain[i] = porcupine.Operation{Input: &txnCall{op: &list[i]}, Call: list[i].Call, Return: list[i].Return}
		}
		want := porcupine.CheckOperations(txnModel, plain)
		verdicts[want]++
		if got := porcupine.CheckOperations(txnModel, txnCalls(list)[0]); got != want {
			t.Fatalf("%v with the bound, %v without", got, want)
		}
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("verdicts %v: one of them never came", verdicts)
	}
}
