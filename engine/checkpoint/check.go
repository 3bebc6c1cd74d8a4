package checkpoint

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
)

// Check panics when the state is impossible. It is expensive: drivers call it when the world asks for such checks.
func (c *Coordinator) Check() {
	last := c.confirmed
	for i, w := range c.waiting {
		invariant.Check(w.number > last, "checkpoint %d waits for confirmation behind %d", w.number, last)
		invariant.Check(!w.asked || i == 0 && w.logged && w.notified && len(w.open) == 0, "checkpoint %d is being confirmed too early", w.number)
		last = w.number
	}
	if p := c.pending; p != nil {
		invariant.Check(p.number == c.newest, "checkpoint %d is pending, %d is the newest", p.number, c.newest)
		invariant.Check(p.writing == (len(p.acks) == len(c.place.Subtasks)), "checkpoint %d has %d acks of %d", p.number, len(p.acks), len(c.place.Subtasks))
		invariant.Check(!c.over, "checkpoint %d is pending after the last one", p.number)
	}
	for i := 1; i < len(c.retained); i++ {
		invariant.Check(c.retained[i-1].Checkpoint < c.retained[i].Checkpoint, "checkpoint %d is retained after %d", c.retained[i].Checkpoint, c.retained[i-1].Checkpoint)
	}
	invariant.Check(last <= c.newest, "checkpoint %d waits, %d is the newest", last, c.newest)
}

// Snapshot is what CheckDelta compares.
type Snapshot struct {
	newest, confirmed id.Checkpoint
	waiting           []id.Checkpoint
}

// Snapshot is the state before a Step.
func (c *Coordinator) Snapshot() Snapshot {
	s := Snapshot{newest: c.newest, confirmed: c.confirmed}
	for _, w := range c.waiting {
		s.waiting = append(s.waiting, w.number)
	}
	return s
}

// CheckDelta panics when no Step can lead from prev to here.
func (c *Coordinator) CheckDelta(prev Snapshot) {
	invariant.Check(c.newest >= prev.newest && c.newest <= prev.newest+1, "checkpoint numbers went from %d to %d", prev.newest, c.newest)
	invariant.Check(c.confirmed >= prev.confirmed, "confirmed went back from %d to %d", prev.confirmed, c.confirmed)
	if c.confirmed > prev.confirmed {
		invariant.Check(len(prev.waiting) > 0 && prev.waiting[0] == c.confirmed, "checkpoint %d was confirmed out of turn", c.confirmed)
		prev.waiting = prev.waiting[1:]
	}
	invariant.Check(len(c.waiting) >= len(prev.waiting), "a completed checkpoint was forgotten")
	for i, n := range prev.waiting {
		invariant.Check(c.waiting[i].number == n, "completed checkpoint %d was forgotten", n)
	}
}
