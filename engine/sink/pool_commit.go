package sink

import (
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

func (p *Pool) asked(t token.Token) bool {
	return slices.ContainsFunc(p.queue, func(q token.Token) bool { return Same(q, t) })
}

// holding is the slot that holds a token; -1 for one of an older generation.
func (p *Pool) holding(t token.Token) int32 {
	for i := range p.slots {
		if s := &p.slots[i]; s.token.Checkpoint > 0 && Same(s.token, t) {
			return int32(i)
		}
	}
	return -1
}

func (p *Pool) commitAsked(t token.Token) []any {
	n := p.holding(t)
	if t.Checkpoint <= p.confirmed || n >= 0 && p.slots[n].state == SlotCommitted {
		return []any{ReportCommit{operator.CommitResult{Token: t, State: operator.Committed}}}
	}
	p.carried = slices.DeleteFunc(p.carried, func(c token.Token) bool { return Same(c, t) })
	if p.asked(t) {
		return nil
	}
	if !p.cfg.Rules.InTurn() {
		if n >= 0 {
			p.slots[n].state = SlotCommitting
		}
		return []any{SendCommit{t}}
	}
	if p.refused != nil && t.Checkpoint > p.refused.Checkpoint {
		return []any{p.refuse(t)}
	}
	if n >= 0 {
		p.slots[n].state = SlotCommitting
	}
	// The first one is under way and stays first.
	at := 0
	if p.sending {
		at = 1
	}
	for at < len(p.queue) && OldestFirst(p.queue[at], t) <= 0 {
		at++
	}
	p.queue = slices.Insert(p.queue, at, t)
	return p.send()
}

func (p *Pool) send() []any {
	if p.sending || len(p.queue) == 0 {
		return nil
	}
	p.sending = true
	return []any{SendCommit{p.queue[0]}}
}

func (p *Pool) commitEnded(r operator.CommitResult) []any {
	out := []any{ReportCommit{r}}
	if p.cfg.Rules.InTurn() {
		if !p.sending || !Same(p.queue[0], r.Token) {
			return nil // confirmed in the meantime
		}
		p.queue, p.sending = p.queue[1:], false
		if r.State != operator.Committed {
			return append(out, p.holdBack(r.Token)...)
		}
	}
	if r.State != operator.Committed {
		return out
	}
	if n := p.holding(r.Token); n >= 0 {
		p.slots[n].state = SlotCommitted
		if p.cfg.Rules.Reusable(true, false) {
			out = append(out, p.prepare(n))
		}
	}
	return append(out, p.send()...)
}

// holdBack refuses the commits behind one that was refused: if that one has to be salvaged, its records go to the end of
// their partitions, and younger ones that are visible by then have overtaken them. A restore decides all of them, in order.
func (p *Pool) holdBack(older token.Token) []any {
	p.refused = &older
	var out []any
	for _, t := range p.queue {
		out = append(out, p.refuse(t))
	}
	p.queue = nil
	return out
}

func (p *Pool) refuse(t token.Token) any {
	return ReportCommit{operator.CommitResult{Token: t, State: operator.Refused, Reason: fmt.Sprintf("not sent, because an older one is not committed: %s", p.refused)}}
}

func (p *Pool) freed(n id.Checkpoint) []any {
	p.confirmed = max(p.confirmed, n)
	var out []any
	before := len(p.queue)
	p.queue = slices.DeleteFunc(p.queue, func(t token.Token) bool { return t.Checkpoint <= n })
	if before != len(p.queue) {
		p.sending = false
		out = append(out, p.send()...)
	}
	p.carried = slices.DeleteFunc(p.carried, func(t token.Token) bool { return t.Checkpoint <= n })
	for i := range p.slots {
		s := &p.slots[i]
		if s.token.Checkpoint == 0 || s.token.Checkpoint > n || s.state < SlotPrepared || !p.cfg.Rules.Reusable(true, true) {
			continue
		}
		out = append(out, p.prepare(int32(i)))
	}
	return out
}

func (p *Pool) fail(reason string) []any {
	p.failed = true
	return []any{FailTask{reason}}
}
