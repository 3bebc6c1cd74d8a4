package checker

import (
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// ledger is the state of one transactional id in the sequential model of a transaction coordinator. The coordinator may
// move the epoch up by itself (at the end of a transaction, at a timeout, at an initialisation whose answer was lost), so
// the model keeps the least that it can be, until somebody shows it.
type ledger struct {
	producer int64
	epoch    int16 // the producer's: the current one when exact, else the least that it can be
	exact    bool
	open     bool
	decided  []decision // what each identity ended with, in order
}

type decision struct {
	identity
	commit bool
}

// txnModel judges each transactional id by itself.
var txnModel = porcupine.Model{
	Partition: byTransactionalID,
	Init:      func() any { return ledger{producer: -1} },
	Step: func(state, input, _ any) (bool, any) {
		return state.(ledger).step(input.(*TransactionOperation))
	},
	Equal: func(a, b any) bool {
		s, t := a.(ledger), b.(ledger)
		return s.producer == t.producer && s.epoch == t.epoch && s.exact == t.exact && s.open == t.open && slices.Equal(s.decided, t.decided)
	},
}

func byTransactionalID(history []porcupine.Operation) [][]porcupine.Operation {
	return partitionBy(history, func(a, b any) int {
		return strings.Compare(a.(*TransactionOperation).ID, b.(*TransactionOperation).ID)
	})
}

func (l ledger) step(op *TransactionOperation) (bool, ledger) {
	id := identity{op.ProducerID, op.ProducerEpoch}
	switch op.Kind {
	case Initialise:
		return l.initialise(op, id)
	case TimedOut:
		return l.owns(id) && l.open, l.decide(id, false).bump()
	case ObservedCommit, ObservedAbort:
		commit, ended := l.ended(id)
		return ended && commit == (op.Kind == ObservedCommit), l
	}
	switch op.Result {
	case TxnFenced:
		return !l.exact || l.producer != id.producer || l.epoch != id.epoch, l
	case TxnInvalidState:
		_, ended := l.ended(id)
		return op.Kind != EndCommit || !l.exact || !l.owns(id) || !l.open || ended, l
	}
	ok, next := l.effect(op, id)
	if op.Result == TxnUnknown && !ok {
		return true, l
	}
	return ok, next
}

// initialise gives the id a new identity and aborts what is open under the old one.
func (l ledger) initialise(op *TransactionOperation, id identity) (bool, ledger) {
	next := l
	if l.open {
		next = l.decide(identity{l.producer, l.epoch}, false)
	}
	if op.Result != TxnDone {
		if op.Result == TxnUnknown {
			return true, next.bump()
		}
		return true, l
	}
	newer := l.producer != id.producer || id.epoch > l.epoch || id.epoch == l.epoch && !l.exact
	next.producer, next.epoch, next.exact = id.producer, id.epoch, true
	return newer, next
}

// effect is a write or an end that took effect.
func (l ledger) effect(op *TransactionOperation, id identity) (bool, ledger) {
	if op.Kind == Write {
		if !l.owns(id) {
			return false, l
		}
		l.epoch, l.exact, l.open = id.epoch, true, true
		return true, l
	}
	commit := op.Kind == EndCommit
	if was, ended := l.ended(id); ended && !(l.open && l.owns(id)) {
		return was == commit, l // asked again
	}
	if !l.owns(id) {
		return false, l
	}
	if !l.open {
		return !commit, l // an abort of nothing is done at once
	}
	l = l.decide(id, commit)
	l.exact = false // from transaction.version 2 on the epoch moves with every end
	return true, l
}

// owns reports whether the identity can be the current one.
func (l ledger) owns(id identity) bool {
	return l.producer == id.producer && (id.epoch == l.epoch || !l.exact && id.epoch > l.epoch)
}

func (l ledger) bump() ledger {
	l.epoch, l.exact = l.epoch+1, false
	return l
}

func (l ledger) decide(id identity, commit bool) ledger {
	l.decided = append(slices.Clip(l.decided), decision{id, commit})
	l.open = false
	return l
}

// ended is the newest decision about an identity.
func (l ledger) ended(id identity) (commit, ok bool) {
	for i := len(l.decided) - 1; i >= 0; i-- {
		if l.decided[i].identity == id {
			return l.decided[i].commit, true
		}
	}
	return false, false
}

// transactionsSequential: what callers were told of transactions has an order in which one coordinator could have said it.
func (j *judge) transactionsSequential() {
	if len(j.h.TxnLog) == 0 {
		return
	}
	j.compared.Operations += len(j.h.TxnLog)
	ops := make([]porcupine.Operation, len(j.h.TxnLog))
	for i := range j.h.TxnLog {
		op := &j.h.TxnLog[i]
		ops[i] = porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Call, Return: op.Return}
		if op.Result == TxnUnknown {
			ops[i].Return = math.MaxInt64
		}
	}
	f := Finding{}
	for _, part := range byTransactionalID(ops) {
		if !porcupine.CheckOperations(txnModel, part) {
			f.Place = "transactions"
			f.evidence("%s: %d calls have no order that a coordinator allows", part[0].Input.(*TransactionOperation).ID, len(part))
		}
	}
	j.settle(&f, "transactional ids whose history is not sequential")
}
