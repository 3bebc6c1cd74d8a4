package sink

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// fenceTimeout is the transaction timeout that a fenced id is left with: nobody opens a transaction with it, but the broker
// must allow it.
func (p *Plan) fenceTimeout() time.Duration {
	d := time.Minute
	for _, s := range p.Sinks {
		d = min(d, s.TransactionTimeout)
	}
	return d
}

// FenceOlder initialises every transactional id of an older generation that the last Fenced does not cover, and every one
// that is open. All ids are asked for on every broker and filtered here: below Kafka 4.1 a pattern is not known and the
// answer holds the ids of the whole cluster, and an idle, initialised id is Empty and must be fenced too. Ids with
// undecided tokens are never initialised.
func FenceOlder(ask Ask, p *Plan, in FenceInput) error {
	listed := get[IDsListed](ask, ListIDs{})
	if listed.Err != nil {
		return fmt.Errorf("list transactional ids: %w", listed.Err)
	}
	var older []kafka.ListedTransaction
	for _, l := range listed.IDs {
		n, ok := ParseName(l.TransactionalID)
		if !ok || n.Job != p.Job || n.Salvage || n.Generation >= p.Generation || slices.Contains(p.Protected, l.TransactionalID) {
			continue
		}
		older = append(older, l)
		if n.Generation <= in.Fenced && !isOpen(l.State) {
			continue
		}
		got := get[Initialised](ask, Initialise{l.TransactionalID, p.fenceTimeout()})
		if got.Err != nil || got.Code != kafka.OK {
			return fmt.Errorf("fence %s: %w%s", l.TransactionalID, firstError(got.Err, got.Code), stuckAt(ask, l.TransactionalID))
		}
	}
	if !in.Check || len(older) == 0 {
		return nil
	}
	return checkClosed(ask, p, older)
}

func isOpen(s kafka.TxnState) bool {
	return s != kafka.TxnEmpty && s != kafka.TxnCompleteCommit && s != kafka.TxnCompleteAbort
}

// stuckAt names the partitions that keep an id from being initialised.
func stuckAt(ask Ask, name string) string {
	d := get[Described](ask, Describe{[]string{name}})
	if d.Err != nil || len(d.Transactions[0].Partitions) == 0 {
		return ""
	}
	return fmt.Sprintf(" (waits for %v)", d.Transactions[0].Partitions)
}

// checkClosed checks that no output partition has an open transaction of fenced ids. A marker that was dropped is written:
// nothing that holds a token is among them, so the verdict is abort, unless the coordinator still knows of a commit.
func checkClosed(ask Ask, p *Plan, older []kafka.ListedTransaction) error {
	var topics []string
	for _, s := range p.Sinks {
		if !slices.Contains(topics, s.Topic) {
			topics = append(topics, s.Topic)
		}
	}
	listed := get[PartitionsListed](ask, ListPartitions{topics})
	if listed.Err != nil {
		return fmt.Errorf("partitions of %v: %w", topics, listed.Err)
	}
	var start env.Instant
	for try := 1; ; try++ {
		seen := get[Seen](ask, Look{Partitions: listed.Partitions})
		if try == 1 {
			start = seen.Now
		}
		waits := closeAll(ask, p, older, seen)
		if waits == "" {
			return nil
		}
		if seen.Now.Sub(start) > p.ConfirmLimit {
			return fmt.Errorf("after fencing: %s", waits)
		}
		ask(Sleep{pauseOf(try), waits})
	}
}

// closeAll repairs what fenced ids left open and says what is still to be waited for. A marker that is missing on the
// offsets partition of a sink counts as well: its lanes would read as unstable for ever.
func closeAll(ask Ask, p *Plan, older []kafka.ListedTransaction, seen Seen) string {
	if seen.Err != nil {
		return seen.Err.Error()
	}
	waits := silentOf(seen)
	for _, s := range p.Sinks {
		offsets, silent := offsetsOf(ask, s.Operator)
		waits = cmp.Or(silent, waits)
		for _, l := range older {
			if n, _ := ParseName(l.TransactionalID); n.Sink != s.Operator {
				continue
			}
			d := openOf(seen, offsets, l.ProducerID, math.MaxInt16)
			if len(d.Partitions) == 0 && !d.Lane {
				continue
			}
			waits = fmt.Sprintf("%s is open at %v lanes=%v", l.TransactionalID, d.where(), d.Lane)
			if err := closeOne(ask, p, s, l, d.where()); err != nil {
				return err.Error()
			}
		}
	}
	return waits
}

// closeOne ends what one fenced id has left open.
func closeOne(ask Ask, p *Plan, s Spec, l kafka.ListedTransaction, where []id.TopicPartition) error {
	got := get[Described](ask, Describe{[]string{l.TransactionalID}})
	if got.Err != nil {
		return nil
	}
	now := got.Transactions[0]
	switch now.State {
	case kafka.TxnOngoing:
		ask(Initialise{l.TransactionalID, p.fenceTimeout()})
		return nil
	case kafka.TxnPrepareCommit, kafka.TxnPrepareAbort:
		return nil
	}
	// Describe first, the partitions second: what is still open now was dropped.
	seen := get[Seen](ask, Look{Partitions: where})
	offsets, silent := offsetsOf(ask, s.Operator)
	if seen.Err != nil || silent != "" {
		return nil
	}
	last := now.ProducerEpoch
	if now.ProducerID != l.ProducerID {
		last = math.MaxInt16 // the epochs were used up, and the fencing moved the id to another producer id
	}
	d := openOf(seen, offsets, l.ProducerID, last)
	if len(d.Partitions) == 0 && !d.Lane {
		return nil
	}
	d.Now, d.Item = now, Item{Commit: now.State == kafka.TxnCompleteCommit}
	t := &d.Item.Token
	t.Sink, t.TransactionalID, t.ProducerID, t.EndTxnVersion = s.Operator, l.TransactionalID, l.ProducerID, p.Protocol
	_, err := p.Rules.RepairDropped(ask, p, d)
	return err
}
