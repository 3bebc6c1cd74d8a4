package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/sink"
)

// What the budget allows for the parts that no setting bounds.
const (
	restoreTime = 10 * time.Second // deciding tokens, fencing, reading state
	commitTime  = 5 * time.Second  // the commit's retries
	backoffTime = 10 * time.Second // the longest wait before a restart
)

// part is one summand of the budget.
type part struct {
	name string
	time time.Duration
}

// budget is how long a transaction may have to stay open: from the first record of its epoch, over failed checkpoints and a
// restart, to its commit.
func (c Config) budget() []part {
	k := c.Checkpoint
	return []part{
		{"interval", k.Interval},
		{"checkpoint timeout", k.Timeout},
		{
			fmt.Sprintf("%d tolerated failures x (max(interval, pause) + checkpoint timeout)", k.Tolerated),
			time.Duration(k.Tolerated) * (max(k.Interval, k.Pause) + k.Timeout),
		},
		{"failure detection (heartbeat timeout)", c.HeartbeatTimeout},
		{"rescheduling (largest back-off)", backoffTime},
		{"restore", restoreTime},
		{"commit retries", commitTime},
	}
}

// auditBudget refuses settings under which a transaction could time out before its commit.
func (c Config) auditBudget(sinks []sink.Spec) error {
	var sum time.Duration
	var lines []string
	for _, p := range c.budget() {
		sum += p.time
		lines = append(lines, fmt.Sprintf("  %10v  %s", p.time, p.name))
	}
	for _, s := range sinks {
		if sum < s.TransactionTimeout {
			continue
		}
		return fmt.Errorf("sink %s: a transaction may have to stay open for %v, but its timeout is %v:\n%s\n  %10v  in all\n"+
			"raise --transaction-timeout above %v, or lower --interval, --checkpoint-timeout or --tolerated-failures",
			s.Operator, sum, s.TransactionTimeout, strings.Join(lines, "\n"), sum, sum)
	}
	return nil
}
