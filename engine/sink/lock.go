package sink

import (
	"cmp"
	"fmt"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// LockSalvage initialises the salvage id of each sink, in the order of Plan.Sinks: this fences an older restore and aborts
// a salvage that was cut short. All evidence is read afterwards.
//
// A salvage's own end marker may have been dropped at a partition, and an initialisation alone does not close it. Its
// verdict is known only before: so each id is described first, and what its last transaction left open is settled with that
// verdict. The identity that comes back from the initialisation is the only one that may write.
func LockSalvage(ask Ask, p *Plan) ([]kafka.Identity, error) {
	locks := make([]kafka.Identity, len(p.Sinks))
	for i, s := range p.Sinks {
		name := SalvageID(p.Job, s.Operator)
		if err := finishSalvage(ask, p, s, name); err != nil {
			return nil, err
		}
		got := get[Initialised](ask, Initialise{name, s.TransactionTimeout})
		if got.Err != nil || got.Code != kafka.OK {
			return nil, fmt.Errorf("initialise %s: %w", name, firstError(got.Err, got.Code))
		}
		locks[i] = got.Who
	}
	ask(Pass{hook.R1SalvageIDInitialised, 0})
	return locks, nil
}

// finishTries is how often the end of the last salvage is waited for, some seven seconds with their pauses. A restore that gives
// up is repeated.
const finishTries = 20

// finishSalvage writes the markers that the last ended salvage of a sink has lost.
func finishSalvage(ask Ask, p *Plan, s Spec, name string) error {
	for try := 1; ; try++ {
		d := get[Described](ask, Describe{[]string{name}})
		if d.Err != nil {
			return fmt.Errorf("describe %s: %w", name, d.Err)
		}
		now := d.Transactions[0]
		switch now.State {
		case kafka.TxnCompleteCommit, kafka.TxnCompleteAbort, kafka.TxnPrepareCommit, kafka.TxnPrepareAbort:
		case kafka.TxnOngoing:
			if try == 1 {
				ask(Reach{SalvageRepeated})
			}
			return nil
		default:
			return nil // never used, or initialised since: an initialisation follows every settled one
		}
		listed := get[PartitionsListed](ask, ListPartitions{[]string{s.Topic}})
		if listed.Err != nil {
			return fmt.Errorf("partitions of %s: %w", s.Topic, listed.Err)
		}
		seen := get[Seen](ask, Look{Partitions: listed.Partitions})
		if seen.Err != nil {
			return fmt.Errorf("%s: %w", name, seen.Err)
		}
		offsets, silent := offsetsOf(ask, s.Operator)
		waits := cmp.Or(silentOf(seen), silent)
		open := openOf(seen, offsets, now.ProducerID, now.ProducerEpoch)
		if len(open.Partitions) > 0 || open.Lane {
			waits = fmt.Sprintf("open at %v", open.where())
		}
		if waits == "" {
			return nil
		}
		if now.State == kafka.TxnCompleteCommit || now.State == kafka.TxnCompleteAbort {
			open.Item = Item{Commit: now.State == kafka.TxnCompleteCommit}
			open.Item.Token.Sink, open.Item.Token.TransactionalID = s.Operator, name
			open.Item.Token.ProducerID, open.Item.Token.EndTxnVersion = now.ProducerID, p.Protocol
			open.Now = now
			if _, err := p.Rules.RepairDropped(ask, p, open); err != nil {
				return err
			}
		}
		if try > finishTries {
			return fmt.Errorf("%s: its last transaction does not end: %s", name, waits)
		}
		ask(Sleep{pauseOf(try), "the last salvage of " + string(s.Operator) + " is ending"})
	}
}

// silentOf is a partition that did not tell what is open there, and why; "" if all did. Its leader is away, or its answer was
// lost: what it does not tell is not closed.
func silentOf(seen Seen) (silent string) {
	for _, at := range seen.Producers {
		if at.Code != kafka.OK {
			silent = fmt.Sprintf("%v: %v", at.TopicPartition, at.Code)
		}
	}
	return silent
}

// offsetsOf looks at the offsets partition of a sink's group. silent is why it does not tell now what is open there. One that may
// not be looked at never does: then its lanes tell alone.
func offsetsOf(ask Ask, sink id.Operator) (seen Seen, silent string) {
	seen = get[Seen](ask, LookOffsets{sink})
	code := kafka.OK
	if seen.Err == nil && len(seen.Producers) == 1 {
		switch code = seen.Producers[0].Code; {
		case code == kafka.OK:
			return seen, ""
		case repeatable(code, nil):
			return Seen{}, silentOf(seen)
		}
	}
	ask(Say{fmt.Sprintf("the offsets partition of %s cannot be looked at: %v", sink, firstError(seen.Err, code))})
	return Seen{}, ""
}

// openOf is where a producer id has an open transaction of a producer epoch up to last: partitions that were looked at, and
// the offsets partition of a sink's group. A later one is a transaction that somebody began since.
func openOf(seen, offsets Seen, producer int64, last int16) Dropped {
	d := Dropped{LastEpoch: last}
	for _, at := range seen.Producers {
		if open, ok := openAt(at, producer); ok && open.ProducerEpoch <= int32(last) {
			d.Partitions = append(d.Partitions, at)
		}
	}
	for _, at := range offsets.Producers {
		if open, ok := openAt(at, producer); ok && open.ProducerEpoch <= int32(last) {
			d.Lane = true
		}
	}
	return d
}

// openAt is the open transaction of a producer id at a partition.
func openAt(at kafka.PartitionProducers, producer int64) (kafka.ActiveProducer, bool) {
	for _, a := range at.Producers {
		if a.ProducerID == producer && a.OpenFrom >= 0 {
			return a, true
		}
	}
	return kafka.ActiveProducer{}, false
}

func (d Dropped) where() []id.TopicPartition {
	var list []id.TopicPartition
	for _, p := range d.Partitions {
		list = append(list, p.TopicPartition)
	}
	return list
}

// firstError is the error, else the code.
func firstError(err error, code kafka.Code) error {
	if err != nil {
		return err
	}
	return code.Err()
}
