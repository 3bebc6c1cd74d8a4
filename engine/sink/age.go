package sink

import (
	"github.com/onefold/onefold/engine/kafka"
)

// watchAge tells people when a transaction has used up half, and then nine tenths, of its timeout. A transaction that is
// aborted by it after its checkpoint was completed must be salvaged.
func (w *Writer) watchAge(number int32, who kafka.Identity) {
	timeout := w.k.transactionTimeout()
	tell := func(share string) {
		if n := w.pool.holds(number, who); n != "" && !w.closed {
			w.ctx.Process.Log("sink %s: transaction %s of subtask %d (%s) has used up %s of its timeout %v", w.ctx.Operator, who.TransactionalID,
				w.ctx.Subtask.Index, n, share, timeout)
		}
	}
	w.ctx.Loop.After(timeout/2, func() { tell("half") })
	w.ctx.Loop.After(timeout-timeout/10, func() { tell("nine tenths") })
}

// holds is the state of a slot whose transaction is not known to be committed; empty for any other.
func (p *Pool) holds(number int32, who kafka.Identity) string {
	s := &p.slots[number]
	if s.identity != who || s.state < SlotOpen || s.state > SlotCommitting {
		return ""
	}
	return s.state.String()
}
