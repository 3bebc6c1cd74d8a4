package sink

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// goneAfter is how long a partition may be unknown to the cluster before its topic counts as deleted.
const goneAfter = 5 * time.Second

// SettleTransactions waits until decided transactions have ended at every partition and on their lanes. An answer to EndTxn
// is not the end: a partition without a leader may never get its marker (Kafka 4.3 and 4.4), and the id's next transaction
// would then decide the old records with its own verdict.
//
// Describe comes first, the partitions and lanes second: complete, and then still open, is a dropped marker and is
// repaired; in the other order a marker on its way would look the same.
//
// Not open is not ended yet: a leader shows a transaction as closed when the marker is in its own log. If it dies before its
// followers have it the next leader has the transaction open, and 4.3 and 4.4 may drop the repeated marker: see proveEnds.
func SettleTransactions(ask Ask, p *Plan, items []Item) (Settled, error) {
	var out Settled
	left := make([]int, len(items))
	for i := range left {
		left[i] = i
	}
	var start, now, fenced env.Instant
	for try := 1; len(left) > 0; try++ {
		desc := get[Described](ask, Describe{idsOf(items, left)})
		var ended []Place
		if p.Rules.Proven() {
			ended, _ = placesOf(items, left)
		}
		seen := get[Seen](ask, Look{partitionsOf(items, left), lanesOf(items, left), try == 1, ended})
		now = seen.Now
		if try == 1 {
			start, fenced = now, now
			out.Deleted = deletedWhileOpen(ask, items, seen)
		}
		waits := "no answer"
		if err := cmp.Or(desc.Err, seen.Err); err == nil {
			var still []int
			for _, i := range left {
				at := inspect(p, items[i], find(desc, items[i].Token.TransactionalID), seen, try)
				switch {
				case at.contradicted:
					out.Contradicted = append(out.Contradicted, i)
				case at.clean:
				default:
					still, waits = append(still, i), at.waits
					if at.gone && now.Sub(start) > goneAfter {
						return out, fmt.Errorf("%s: %s: the topic was deleted", items[i].Token, at.waits)
					}
					acted, err := act(ask, p, items[i], at)
					if err != nil {
						return out, err
					}
					if acted && !slices.Contains(out.Repaired, i) {
						out.Repaired = append(out.Repaired, i)
					}
				}
			}
			left = still
		} else {
			waits = err.Error()
		}
		if len(left) == 0 {
			break
		}
		if now.Sub(start) > p.ConfirmLimit {
			return out, fmt.Errorf("%s has not ended after %v: %s", items[left[0]].Token, now.Sub(start), waits)
		}
		if now.Sub(fenced) > p.RefenceAfter {
			fenced = now
			fenceAgain(ask, p)
		}
		ask(Sleep{pauseOf(try), waits})
	}
	return out, nil
}

// fenceAgain ends what zombies have opened since: their pending marker may hold a shared lane.
func fenceAgain(ask Ask, p *Plan) {
	if err := p.Rules.Fence(ask, p, FenceInput{Fenced: p.Generation - 1}); err != nil {
		ask(Say{"fencing again: " + err.Error()})
	}
}

// inspection is where one transaction stands.
type inspection struct {
	clean        bool
	contradicted bool
	gone         bool
	waits        string
	end          bool // half of a repair, or an end that was not heard: end it under the identity of Describe
	dropped      Dropped
}

func inspect(p *Plan, item Item, now kafka.Transaction, seen Seen, try int) inspection {
	t := item.Token
	co := ReadCoordinator(t, now, p.MaxEpoch)
	in := inspection{dropped: Dropped{Item: item, Now: now, LastEpoch: t.ProducerEpoch}}
	var waits []string
	for _, tp := range item.partitions() {
		at := producersOf(seen, tp)
		if at.Code != kafka.OK {
			in.gone = in.gone || at.Code == kafka.UnknownTopicOrPartition || at.Code == kafka.UnknownTopicID
			waits = append(waits, fmt.Sprintf("%v: %v", tp, at.Code))
			continue
		}
		open, ok := openAt(at, t.ProducerID)
		if !ok {
			continue
		}
		if int16(open.ProducerEpoch) != t.ProducerEpoch {
			in.contradicted = true
			return in
		}
		in.dropped.Partitions = append(in.dropped.Partitions, at)
		waits = append(waits, fmt.Sprintf("%v is open", tp))
	}
	lane, _ := ReadLane(t, laneOf(seen, item))
	switch {
	case lane == LaneUnstable:
		in.dropped.Lane = true
		waits = append(waits, fmt.Sprintf("lane %d is unstable", t.Lane.Partition))
	case item.NeedLane && lane != LaneCommitted:
		in.contradicted = true
		return in
	}
	if len(waits) == 0 {
		in.clean = true
		return in
	}
	in.waits = strings.Join(waits, ", ")
	switch co {
	case OngoingRepair:
		in.end = true
	case OngoingOurs:
		in.end = try >= 3 // the answer may be older than the decision
	case CompletedCommit:
		in.contradicted = !item.Commit
	case CompletedAbort:
		in.contradicted = item.Commit && lane != LaneCommitted
	case Silent:
		in.dropped.Lane = false // somebody else's marker is pending there
	}
	if co == Preparing || co == OngoingOurs || co == OngoingRepair {
		in.dropped.Partitions, in.dropped.Lane = nil, false
	}
	return in
}

// act does what an inspection asks for. It reports whether it wrote anything.
func act(ask Ask, p *Plan, item Item, at inspection) (bool, error) {
	if at.end {
		now := at.dropped.Now
		ask(EndTxn{kafka.Identity{
			TransactionalID: item.Token.TransactionalID, ProducerID: now.ProducerID, ProducerEpoch: now.ProducerEpoch, Protocol: item.Token.EndTxnVersion,
		}, item.Commit, true})
		return true, nil
	}
	if len(at.dropped.Partitions) == 0 && !at.dropped.Lane {
		return false, nil
	}
	return p.Rules.RepairDropped(ask, p, at.dropped)
}

// deletedWhileOpen are the parts of ranges below their partition's log start: retention took them before they were visible.
func deletedWhileOpen(ask Ask, items []Item, seen Seen) []joblog.LostRange {
	var lost []joblog.LostRange
	for _, item := range items {
		if !item.Commit {
			continue
		}
		for i, r := range item.Token.Ranges {
			start := logStartOf(seen, id.TopicPartition{Topic: r.Topic, Partition: r.Partition})
			if start <= r.First {
				continue
			}
			if start <= r.Last {
				r = partBelow(ask, item.Token, i, start)
			}
			lost = append(lost, joblog.LostRange{Token: item.Token, Range: r, Reason: "deleted while its transaction was open"})
		}
	}
	return lost
}

// partBelow is the part of a range below an offset. If what is above cannot be read, the log has perhaps moved on, and all of the
// range is named: a record too many is loud, one too few is not.
func partBelow(ask Ask, t token.Token, which int, offset int64) token.Range {
	r := t.Ranges[which]
	t.Ranges = slices.Clone(t.Ranges)
	t.Ranges[which].First = offset
	rest := get[RangeRead](ask, ReadRange{t, which})
	if rest.Err != nil {
		return r
	}
	r.Last, r.Count = offset-1, r.Count-rest.Count
	return r
}

func (i Item) partitions() []id.TopicPartition {
	if i.Partitions != nil {
		return i.Partitions
	}
	return rangePartitions(i.Token.Ranges)
}

func idsOf(items []Item, which []int) []string {
	var list []string
	for _, i := range which {
		if name := items[i].Token.TransactionalID; !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func partitionsOf(items []Item, which []int) []id.TopicPartition {
	var list []id.TopicPartition
	for _, i := range which {
		list = append(list, items[i].partitions()...)
	}
	return unique(list)
}

func unique(list []id.TopicPartition) []id.TopicPartition {
	slices.SortStableFunc(list, id.TopicPartition.Compare)
	return slices.Compact(list)
}

func lanesOf(items []Item, which []int) []Lane {
	var list []Lane
	for _, i := range which {
		list = append(list, Lane{items[i].Token.Sink, items[i].Token.Lane.Partition})
	}
	return uniqueLanes(list)
}

func uniqueLanes(list []Lane) []Lane {
	slices.SortStableFunc(list, compareLanes)
	return slices.Compact(list)
}

func compareLanes(a, b Lane) int {
	return cmp.Or(cmp.Compare(a.Sink, b.Sink), cmp.Compare(a.Partition, b.Partition))
}

func find(d Described, name string) kafka.Transaction {
	for _, t := range d.Transactions {
		if t.TransactionalID == name {
			return t
		}
	}
	return kafka.Transaction{TransactionalID: name}
}

func producersOf(s Seen, tp id.TopicPartition) kafka.PartitionProducers {
	i, ok := slices.BinarySearchFunc(s.Producers, tp, func(p kafka.PartitionProducers, tp id.TopicPartition) int {
		return p.TopicPartition.Compare(tp)
	})
	if !ok {
		return kafka.PartitionProducers{TopicPartition: tp, Code: kafka.LeaderNotAvailable}
	}
	return s.Producers[i]
}

func logStartOf(s Seen, tp id.TopicPartition) int64 {
	i, ok := slices.BinarySearchFunc(s.Producers, tp, func(p kafka.PartitionProducers, tp id.TopicPartition) int {
		return p.TopicPartition.Compare(tp)
	})
	if !ok || i >= len(s.LogStarts) {
		return -1
	}
	return s.LogStarts[i]
}

// laneOf is the value of an item's lane. The driver answers lanes in the order asked, which is sorted.
func laneOf(s Seen, item Item) LaneValue {
	for _, l := range s.Lanes {
		if l.Lane == (Lane{item.Token.Sink, item.Token.Lane.Partition}) {
			return l
		}
	}
	return LaneValue{Unstable: true}
}

// pauseOf is how long a script waits before try+1. The driver adds jitter.
func pauseOf(try int) time.Duration {
	if try > 7 {
		return 500 * time.Millisecond
	}
	return backoffMin << (try - 1)
}
