package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onefold/onefold/scenarios/outside"
)

// burnAndSettle waits until the burn is over, heals, and waits until all is at rest. It returns what is still waited for.
func (o *ordeal) burnAndSettle(ctx context.Context) string {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var limit, checked time.Time
	waits, started := "the burn", time.Now()
	for waits != "" && ctx.Err() == nil && o.failure == nil {
		select {
		case <-ctx.Done():
		case <-o.mail.some:
		case <-tick.C:
		}
		o.mail.drain()
		now := time.Now()
		switch {
		case o.lost:
			return ""
		case o.failures >= maxFailures:
			return "a process that does not end by itself again and again"
		case o.began.IsZero():
			if now.Sub(started) > startMax {
				o.failure = fmt.Errorf("the job does not run after %v", startMax)
			}
		case o.healed.IsZero():
			o.awaited.Store(o.awaits(now.Sub(o.began)))
			if o.burnt(now.Sub(o.began)) && o.generated {
				o.note("the burn is over: all faults end")
				o.nemesis.Heal()
				o.healed, limit = now, now.Add(o.bound())
			}
		case now.Sub(checked) > 300*time.Millisecond:
			checked = now
			if waits = o.waitsFor(ctx); waits != "" && now.After(limit) {
				o.note("not at rest %v after the burn: it waits for %s", now.Sub(o.healed).Round(time.Second), waits)
				return waits
			}
		}
	}
	if waits == "" {
		o.note("at rest: all of the input is below a confirmed checkpoint")
	}
	return waits
}

// awaits reports whether the burn waits for a hook. On a machine that is slower than the plan one at which a fault is to strike may
// come later than its author thought.
func (o *ordeal) awaits(passed time.Duration) bool {
	for i, f := range o.nemesis.Outcomes() {
		if o.plan.Faults[i].Trigger.OnHook && !f.Fired && passed < o.setup.Burn+min(o.setup.Burn, hookMax) {
			return true
		}
	}
	return false
}

// burnt reports whether the burn is over.
func (o *ordeal) burnt(passed time.Duration) bool {
	return !o.awaits(passed) && passed > o.nemesis.BurnUntil(o.setup.Burn)
}

// bound is how long a healed world may take to settle, as in the simulator.
func (o *ordeal) bound() time.Duration {
	s, restarts := o.setup, time.Duration(len(o.plan.Faults)+3)
	return s.TransactionTimeout + time.Second + (outside.ToleratedFailures+2)*(s.Interval+s.CheckpointTimeout) +
		restarts*(backoffMax+outside.HeartbeatTimeout) + 30*time.Second
}

// waitsFor says which input is not below a confirmed checkpoint yet; "" when all is.
func (o *ordeal) waitsFor(ctx context.Context) string {
	l, err := readJobLog(o.state())
	if err != nil {
		return err.Error()
	}
	state := l.state()
	if state.Completed == nil || state.Confirmed < state.Completed.Checkpoint {
		return "a checkpoint to be confirmed"
	}
	at := l.reached(state.Completed)
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, logical := range o.job.Inputs {
		topic := o.names[logical]
		ends, err := o.admin.ListCommittedOffsets(asked, topic)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return fmt.Sprintf("the ends of %s: %v", topic, err)
		}
		for _, e := range ends[topic] {
			if at[topic][e.Partition] < e.Offset {
				return fmt.Sprintf("a confirmed checkpoint with %s/%d at %d; the newest has %d", topic, e.Partition, e.Offset, at[topic][e.Partition])
			}
		}
	}
	return ""
}
