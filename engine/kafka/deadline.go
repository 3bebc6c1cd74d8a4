package kafka

import (
	"time"

	"github.com/onefold/onefold/engine/env"
)

// deadline is until when an answer is waited for.
type deadline struct {
	due  env.Instant
	at   int // in deadlines.open
	late func()
}

// deadlines are those of a client. Hardly any is ever missed: one timer watches over all.
type deadlines struct {
	open  []*deadline
	timer env.Timer // nil: none
	due   env.Instant
}

// await begins to wait.
func (c *Client) await(d *deadline, wait time.Duration) {
	d.due, d.at = c.cfg.Process.Now().Add(wait), len(c.deadlines.open)
	c.deadlines.open = append(c.deadlines.open, d)
	c.watch(d.due)
}

// met ends a wait: late will not be called.
func (c *Client) met(d *deadline) {
	open := c.deadlines.open
	last := len(open) - 1
	open[d.at], open[last].at = open[last], d.at
	open[last] = nil
	c.deadlines.open, d.at = open[:last], -1
}

// watch makes sure that the timer fires at due or before.
func (c *Client) watch(due env.Instant) {
	w := &c.deadlines
	if w.timer != nil {
		if w.due <= due {
			return
		}
		w.timer.Stop()
	}
	w.due = due
	w.timer = c.cfg.Loop.After(due.Sub(c.cfg.Process.Now()), c.missed)
}

// missed looks for waits that are over.
func (c *Client) missed() {
	c.deadlines.timer = nil
	if c.closed {
		return
	}
	now := c.cfg.Process.Now()
	var over []*deadline
	for _, d := range c.deadlines.open {
		if d.due <= now {
			over = append(over, d)
		}
	}
	for _, d := range over {
		c.met(d)
	}
	for _, d := range over {
		d.late()
	}
	for _, d := range c.deadlines.open {
		c.watch(d.due)
	}
}
