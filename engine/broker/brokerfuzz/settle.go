package brokerfuzz

import (
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// settle waits until nothing moves any more and returns what has changed.
func (r *run) settle(began env.Instant, waited bool) []string {
	before := r.view
	reason := r.observe(began)
	if waited {
		r.view.order()
	}
	lines := r.changes(&before)
	switch {
	case reason != "" && !strings.HasPrefix(reason, "open"):
		r.stuck = true
		return append(lines, "does not settle: "+reason)
	case r.stuck:
	case waited:
		clear(r.opened)
	default:
		r.hurried(began)
	}
	return lines
}

// observe looks until the view is settled or patience is at its end, and says what is not settled then.
func (r *run) observe(began env.Instant) string {
	until := r.process.Now().Add(r.o.Patience)
	hanging := r.process.Now().Add(300 * time.Millisecond)
	var batches [][]string
	for looks := 1; ; looks++ {
		v := r.survey()
		reason := v.unsettled()
		for i := range v.parts {
			switch high := v.parts[i].high; {
			case r.seen == nil:
				r.seen = make([]int64, len(v.parts))
			case high < r.seen[i]:
				reason = fmt.Sprintf("the new leader of partition %d does not know yet what is committed", i)
			}
			r.seen[i] = max(r.seen[i], v.parts[i].high)
		}
		if batches == nil {
			batches = make([][]string, len(v.parts))
		}
		for i := range v.parts {
			batches[i] = append(batches[i], v.parts[i].batches...)
		}
		r.view = v
		open := strings.HasPrefix(reason, "open")
		hangs := looks >= fewestOpen && r.process.Now() >= hanging
		switch {
		case reason == "", open && (reason == r.accepted || hangs), looks >= fewest && r.process.Now() >= until:
			if open {
				r.accepted = reason
			}
			for i := range v.parts {
				r.view.parts[i].batches = batches[i]
			}
			return reason
		}
		r.sleep(10 * time.Millisecond)
	}
}

// fewestOpen is how often a partition is seen open before it counts as open for ever: fewer than fewest, since after most sequences
// that leave a transaction open nothing is on its way, and each look is a round of requests.
const fewestOpen = fewest / 10

// unsettled says what is on its way, as far as it can be seen. A reason that begins with "open" may stay for ever.
func (v *view) unsettled() string {
	group := false
	for i := range v.ids {
		t := &v.ids[i]
		if strings.HasPrefix(t.state, "Prepare") {
			return "id " + t.state
		}
		group = group || t.state == "Ongoing" && t.offsets
	}
	for i := range v.parts {
		p := &v.parts[i]
		stable := p.high
		for _, q := range p.producers {
			if q.open < 0 {
				continue
			}
			stable = min(stable, q.open)
			known := false
			for j := range v.ids {
				known = known || v.ids[j].state == "Ongoing" && v.ids[j].pid == q.pid && v.ids[j].has(int32(i))
			}
			if !known {
				return fmt.Sprintf("open: partition %d from %d", i, q.open)
			}
		}
		if stable != p.stable && stable >= p.start {
			return fmt.Sprintf("open: the stable offset of partition %d is %d, not %d", i, p.stable, stable)
		}
	}
	for _, l := range v.lanes {
		if strings.Contains(l, ":") && !group {
			return "open: an offset is pending: " + l
		}
	}
	return ""
}

// hurried ends the run when a transaction with a short timeout is older than is safe.
func (r *run) hurried(began env.Instant) {
	for i := range r.view.ids {
		t := &r.view.ids[i]
		timeout := time.Duration(t.timeoutMs) * time.Millisecond
		if r.opened[i] != 0 && r.process.Now().Sub(r.opened[i]) > timeout*7/10 {
			panic(failure{fmt.Errorf("operation %d: %w", r.operation, ErrLate)})
		}
		switch {
		case t.state != "Ongoing" || timeout >= short:
			r.opened[i] = 0
		case r.opened[i] == 0:
			r.opened[i] = max(began, 1)
		}
	}
}
