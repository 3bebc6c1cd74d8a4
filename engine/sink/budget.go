package sink

import (
	"fmt"
	"strings"
	"time"
)

// Budget is the time that a transaction may have to stay open, in parts: from the first record of an epoch to the commit of
// its checkpoint, through everything that the job is meant to survive.
type Budget struct {
	Interval          time.Duration // between checkpoints
	LongestCheckpoint time.Duration // after it a checkpoint expires
	ToleratedFailures int32
	Pause             time.Duration // least pause between checkpoints
	FailureDetection  time.Duration
	Rescheduling      time.Duration // longest back-off before tasks start again
	Restore           time.Duration
	CommitRetries     time.Duration

	TransactionTimeout time.Duration
	BrokerMaxTimeout   time.Duration // 0: not known
}

// Sum is how long a transaction may have to stay open.
func (b Budget) Sum() time.Duration {
	failed := max(b.Interval, b.Pause) + b.LongestCheckpoint
	return b.Interval + b.LongestCheckpoint + time.Duration(b.ToleratedFailures)*failed + b.FailureDetection + b.Rescheduling + b.Restore + b.CommitRetries
}

// String is the sum with its parts.
func (b Budget) String() string {
	parts := []string{
		fmt.Sprintf("interval %v", b.Interval),
		fmt.Sprintf("longest checkpoint %v", b.LongestCheckpoint),
		fmt.Sprintf("%d tolerated failures x (%v + %v)", b.ToleratedFailures, max(b.Interval, b.Pause), b.LongestCheckpoint),
		fmt.Sprintf("failure detection %v", b.FailureDetection),
		fmt.Sprintf("rescheduling %v", b.Rescheduling),
		fmt.Sprintf("restore %v", b.Restore),
		fmt.Sprintf("commit retries %v", b.CommitRetries),
	}
	return strings.Join(parts, " + ") + fmt.Sprintf(" = %v", b.Sum())
}

// Check is an error with the sum in its text unless the transaction timeout covers it and the broker allows the timeout.
func (b Budget) Check() error {
	if sum := b.Sum(); sum >= b.TransactionTimeout {
		return fmt.Errorf("the transaction timeout %v does not cover what the job is meant to survive: %v", b.TransactionTimeout, b)
	}
	if b.BrokerMaxTimeout > 0 && b.TransactionTimeout > b.BrokerMaxTimeout {
		return fmt.Errorf("the transaction timeout %v is above the broker's transaction.max.timeout.ms %v; needed: %v", b.TransactionTimeout, b.BrokerMaxTimeout, b)
	}
	return nil
}

// Age is how much of the transaction timeout has been used up.
type Age uint8

// The ages at which a running job does something.
const (
	AgeFine  Age = iota
	AgeWarn      // half: tell people
	AgeForce     // 70 %: force a checkpoint
	AgePage      // 90 %: wake somebody up
)

// AgeOf is the age of a transaction that has been open for so long.
func (b Budget) AgeOf(open time.Duration) Age {
	switch percent := open * 100 / max(1, b.TransactionTimeout); {
	case percent >= 90:
		return AgePage
	case percent >= 70:
		return AgeForce
	case percent >= 50:
		return AgeWarn
	}
	return AgeFine
}

// ForceAfter is the age of an epoch at which a checkpoint is to be forced: 70 % of the shortest transaction timeout of the
// sinks. 0: there are none.
func ForceAfter(sinks []Spec) time.Duration {
	var least time.Duration
	for _, s := range sinks {
		if least == 0 || s.TransactionTimeout < least {
			least = s.TransactionTimeout
		}
	}
	return least * 7 / 10
}
