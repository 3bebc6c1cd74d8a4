package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// txnCall is a call as the sequential model takes it.
//
// A call without an answer may have its effect at any time after it. The search for an order would try each subset of such calls
// at each place: a few dozen take longer than anybody waits. Three things bound it, and change no verdict:
//
//   - Calls that are the same but for their time stand in a queue. An order in which a younger one comes before an older one is
//     as good with the two exchanged, so only orders that keep the queue are looked at.
//   - A write or an end of an identity that is past does nothing, so it may as well do so at once: its time ends with the
//     initialisation after which the identity is past, if not before.
//   - What became of an identity that is past, and that no call is left for, does not change. What the partitions show of it may
//     as well be looked at then; and what nobody will ask for is forgotten, so that orders that differ in nothing else are one.
type txnCall struct {
	op    *TransactionOperation
	queue int // 0: none
	place int // in the queue, from 0
	asks  *txnAsks
}

// txnAsks counts the calls that ask what became of an identity.
type txnAsks struct {
	identities []identity
	calls      []int
}

func (a *txnAsks) index(id identity) int { return slices.Index(a.identities, id) }

// asking reports whether a call asks what became of its identity.
func (o *TransactionOperation) asking() bool {
	switch o.Kind {
	case EndCommit, EndAbort, ObservedCommit, ObservedAbort:
		return true
	}
	return false
}

func (o *TransactionOperation) identity() identity { return identity{o.ProducerID, o.ProducerEpoch} }

// take is step in the order of the queues.
func (l ledger) take(c *txnCall) (bool, ledger) {
	if c.queue > 0 {
		for len(l.taken) < c.queue {
			l.taken = append(slices.Clip(l.taken), 0)
		}
		if l.taken[c.queue-1] != c.place {
			return false, l
		}
	}
	if l.asks == nil && c.asks != nil {
		l.asks, l.left = c.asks, c.asks.calls
	}
	ok, next := l.step(c.op)
	if !ok {
		return false, l
	}
	if c.queue > 0 {
		next.taken = slices.Clone(l.taken)
		next.taken[c.queue-1]++
	}
	if c.asks != nil && c.op.asking() {
		at := c.asks.index(c.op.identity())
		next.left = slices.Clone(next.left)
		if next.left[at]--; next.left[at] == 0 {
			next.decided = slices.DeleteFunc(slices.Clone(next.decided), func(d decision) bool { return d.identity == c.op.identity() })
		}
	}
	return true, next
}

// remember notes what became of an identity, if anybody will ask.
func (l ledger) remember(id identity, commit bool) ledger {
	if l.asks != nil {
		if at := l.asks.index(id); at < 0 || l.left[at] == 0 {
			return l
		}
	}
	l.decided = append(slices.Clip(l.decided), decision{id, commit})
	return l
}

// txnCalls is a history as the model takes it, by transactional id.
func txnCalls(history []TransactionOperation) [][]porcupine.Operation {
	ops := make([]porcupine.Operation, len(history))
	for i := range history {
		op := &history[i]
		ops[i] = porcupine.Operation{ClientId: op.Client, Input: &txnCall{op: op}, Call: op.Call, Return: op.Return}
		if op.Result == TxnUnknown {
			ops[i].Return = math.MaxInt64
		}
	}
	parts := byTransactionalID(ops)
	for _, part := range parts {
		bound(part)
	}
	return parts
}

// bound bounds the search for an order of the calls of one id.
func bound(part []porcupine.Operation) {
	var inits []*TransactionOperation // that were answered
	asks := &txnAsks{}
	for i := range part {
		c := part[i].Input.(*txnCall)
		if c.asks = asks; c.op.Kind == Initialise && c.op.Result == TxnDone {
			inits = append(inits, c.op)
		}
		if c.op.asking() {
			at := asks.index(c.op.identity())
			if at < 0 {
				at = len(asks.identities)
				asks.identities, asks.calls = append(asks.identities, c.op.identity()), append(asks.calls, 0)
			}
			asks.calls[at]++
		}
	}
	var unknown []*porcupine.Operation
	for i := range part {
		if op := part[i].Input.(*txnCall).op; op.Result == TxnUnknown {
			unknown = append(unknown, &part[i])
			if op.Kind != Initialise {
				part[i].Return = min(part[i].Return, max(op.Call, pastFrom(op.identity(), inits)))
			}
		}
	}
	enqueue(unknown)
	for i := range part {
		if op := part[i].Input.(*txnCall).op; op.Kind == ObservedCommit || op.Kind == ObservedAbort {
			settled := pastFrom(op.identity(), inits)
			for _, other := range part {
				if o := other.Input.(*txnCall).op; o.Kind < ObservedCommit && o.Kind != Initialise && o.identity() == op.identity() {
					settled = max(settled, other.Return)
				}
			}
			if settled < part[i].Call {
				part[i].Call, part[i].Return = settled+1, settled+1
			}
		}
	}
}

// pastFrom is the time from which an identity is past: an initialisation has answered with another one, and
// none that could bring it back may come after it.
func pastFrom(id identity, inits []*TransactionOperation) int64 {
	back := int64(math.MinInt64)
	for _, i := range inits {
		if i.ProducerID == id.producer && i.ProducerEpoch <= id.epoch {
			back = max(back, i.Return)
		}
	}
	past := int64(math.MaxInt64)
	for _, i := range inits {
		if (i.ProducerID != id.producer || i.ProducerEpoch > id.epoch) && i.Call > back {
			past = min(past, i.Return)
		}
	}
	return past
}

// enqueue puts calls of one id that are the same into queues, by time.
func enqueue(unknown []*porcupine.Operation) {
	same := func(a, b *porcupine.Operation) int {
		x, y := a.Input.(*txnCall).op, b.Input.(*txnCall).op
		c := cmp.Compare(x.Kind, y.Kind)
		if c != 0 || x.Kind == Initialise { // what identity it would have been answered, nobody knows
			return c
		}
		return cmp.Or(cmp.Compare(x.ProducerID, y.ProducerID), cmp.Compare(x.ProducerEpoch, y.ProducerEpoch))
	}
	slices.SortStableFunc(unknown, func(a, b *porcupine.Operation) int { return cmp.Or(same(a, b), cmp.Compare(a.Call, b.Call)) })
	queue := 0
	for i, o := range unknown {
		c := o.Input.(*txnCall)
		if i == 0 || same(unknown[i-1], o) != 0 {
			queue++
		} else {
			c.place = unknown[i-1].Input.(*txnCall).place + 1
		}
		c.queue = queue
	}
}
