package checkpoint

import (
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
)

func (c *Coordinator) of(n id.Checkpoint) *completed {
	for _, w := range c.waiting {
		if w.number == n {
			return w
		}
	}
	return nil
}

// notify sends the commits that may go.
func (c *Coordinator) notify() {
	for _, w := range c.waiting {
		if w.notified || !c.rules.Next(w.number, c.waiting[0].number) || !w.logged && !c.rules.Early() {
			continue
		}
		w.notified = true
		c.do(Notify{w.number, w.tokens})
	}
	c.confirm()
}

// confirm asks for the oldest checkpoint once all of its commits were answered.
func (c *Coordinator) confirm() {
	if len(c.waiting) == 0 {
		return
	}
	w := c.waiting[0]
	if w.notified && w.logged && !w.asked && len(w.open) == 0 {
		w.asked = true
		c.do(Confirm{w.number, w.tokens})
	}
}

func (c *Coordinator) reported(f CommitsReported) {
	for _, r := range f.Results {
		switch r.State {
		case operator.Refused:
			c.fail(Restart{fmt.Sprintf("commit refused: %s: %v", r.Reason, r.Token)})
			return
		case operator.Unauthorized:
			c.fail(Halt{fmt.Sprintf("commit not authorized: %s: %v", r.Reason, r.Token)})
			return
		}
		for _, w := range c.waiting {
			if i := find(w.open, r.Token); i >= 0 && w.notified {
				w.open = slices.Delete(w.open, i, i+1)
			}
		}
	}
	c.confirm()
}

func (c *Coordinator) confirmedAppended(n id.Checkpoint) {
	w := c.waiting[0]
	c.waiting = slices.Clone(c.waiting[1:])
	c.confirmed = n
	c.do(Freed{n})
	switch w.kind {
	case Savepoint, Stop:
		if w.kind == Stop {
			c.stopping = n
		}
		c.sealing = append(c.sealing, w.ref)
		if len(c.sealing) == 1 {
			c.do(AppendSavepoint{n})
		}
	case Final:
		c.do(Finish{n, true})
	}
	c.notify()
	c.release()
}

func (c *Coordinator) sealed(n id.Checkpoint) {
	c.sealing = c.sealing[1:]
	if len(c.sealing) > 0 {
		c.do(AppendSavepoint{c.sealing[0].Checkpoint})
	}
	if n == c.stopping {
		c.do(Finish{n, false})
	}
	c.release()
}

// release lets go of what retention does not need: the newest confirmed checkpoint is what a step back returns to, so it
// and everything later stays, and so does a savepoint that is not sealed.
func (c *Coordinator) release() {
	older := 0
	for _, r := range c.retained {
		if r.Checkpoint <= c.confirmed {
			older++
		}
	}
	for older > c.cfg.Retain && !slices.ContainsFunc(c.sealing, func(r joblog.CheckpointRef) bool { return r.Checkpoint == c.retained[0].Checkpoint }) {
		c.do(Release{c.retained[0].Checkpoint})
		c.retained = c.retained[1:]
		older--
	}
}
