package checker

import (
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
	ahead    bool       // open, and the coordinator takes the next epoch for the current one, in memory only
	decided  []decision // what each identity ended with, in order

	taken []int    // calls of each queue that have their place; see txnCall
	asks  *txnAsks // nil: nothing is forgotten
	left  []int    // calls that still ask what became of an identity
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
		return state.(ledger).take(input.(*txnCall))
	},
	Equal: func(a, b any) bool {
		s, t := a.(ledger), b.(ledger)
		return s.producer == t.producer && s.epoch == t.epoch && s.exact == t.exact && s.open == t.open && s.ahead == t.ahead &&
			slices.Equal(s.decided, t.decided)
	},
}

func byTransactionalID(history []porcupine.Operation) [][]porcupine.Operation {
	return partitionBy(history, func(a, b any) int {
		return strings.Compare(a.(*txnCall).op.ID, b.(*txnCall).op.ID)
	})
}

func (l ledger) step(op *TransactionOperation) (bool, ledger) {
	id := identity{op.ProducerID, op.ProducerEpoch}
	switch op.Kind {
	case Initialise:
		return l.initialise(op, id)
	case TimedOut:
		victim := l.owns(id) || l.ahead && id == (identity{l.producer, l.epoch})
		return victim && l.open, l.fence()
	case FencedInMemory:
		if op.Result != TxnDone { // another coordinator knows what the log says, and no more
			l.ahead = false
			return true, l
		}
		legal := l.owns(id) && l.open && !l.ahead
		l.ahead = true
		return legal, l
	case ObservedCommit, ObservedAbort:
		commit, ended := l.ended(id)
		return ended && commit == (op.Kind == ObservedCommit), l
	}
	switch op.Result {
	case TxnFenced:
		return !l.exact || l.producer != id.producer || l.epoch != id.epoch || l.ahead, l
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
	next := l.fence()
	if op.Result != TxnDone {
		if op.Result == TxnUnknown {
			return true, next
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
		if l.ahead && id == (identity{l.producer, l.epoch}) { // a leader need not ask for a partition that is in it
			return true, l
		}
		if !l.owns(id) {
			return false, l
		}
		if !l.ahead {
			l.epoch, l.exact, l.open = id.epoch, true, true
		}
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
	if l.ahead {
		return id == identity{l.producer, l.epoch + 1}
	}
	return l.producer == id.producer && (id.epoch == l.epoch || !l.exact && id.epoch > l.epoch)
}

// fence aborts what is open and moves the epoch, unless it has moved already.
func (l ledger) fence() ledger {
	moved := l.ahead
	if l.open {
		l = l.decide(identity{l.producer, l.epoch}, false)
	}
	if l.exact = false; !moved {
		l.epoch++
	}
	return l
}

// decide ends the open transaction. One that was fenced in memory ends for both epochs: the one that wrote it, and the one
// that the coordinator takes for its own and shows to who asks.
func (l ledger) decide(id identity, commit bool) ledger {
	if l.ahead {
		id = identity{l.producer, l.epoch}
		l.epoch++
		l = l.remember(identity{l.producer, l.epoch}, commit)
	}
	l = l.remember(id, commit)
	l.open, l.ahead = false, false
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
	f := Finding{}
	for _, part := range txnCalls(j.h.TxnLog) {
		if !porcupine.CheckOperations(txnModel, part) {
			f.Place = "transactions"
			f.evidence("%s: %d calls have no order that a coordinator allows", part[0].Input.(*txnCall).op.ID, len(part))
		}
	}
	j.settle(&f, "transactional ids whose history is not sequential")
}
