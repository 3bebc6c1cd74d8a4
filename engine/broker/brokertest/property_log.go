package brokertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// markerAccounting is P17: each transaction adds one offset to each of its partitions and to no other.
func markerAccounting(p *property) {
	for _, protocol := range p.protocols() {
		name := p.Topic(3)
		group := p.Name("group")
		p.Seed(group, stage.Part(name, 0), 5, "seed")
		var want [3][]string
		var sequences [2][3]int32
		line := func(n int, what string) { want[n] = append(want[n], fmt.Sprintf("%d:%s", len(want[n]), what)) }
		writers := []kafka.Identity{p.writer(protocol), p.writer(protocol)}
		for round := range 8 { // each subset of the partitions once for each writer, and the two writers mixed
			var touched [2][]id.TopicPartition
			for w := range writers {
				if protocol >= 5 {
					sequences[w] = [3]int32{}
				}
				for n := range 3 {
					if (round+3*w)>>n&1 == 0 {
						continue
					}
					tp := stage.Part(name, int32(n))
					value := fmt.Sprintf("%d.%d", w, round)
					p.Write(tp, writers[w], sequences[w][n], value, value)
					sequences[w][n] += 2
					line(n, value)
					line(n, value)
					touched[w] = append(touched[w], tp)
				}
				if len(touched[w]) == 0 { // which is a transaction all the same
					p.Mark(writers[w], group, stage.Part(name, 0), 6, "")
				}
			}
			for w := range writers {
				commit := (round+w)%2 == 0
				writers[w] = p.Finish(writers[w], commit, touched[w]...)
				p.Settled(writers[w].TransactionalID)
				for _, tp := range touched[w] {
					line(int(tp.Partition), strings.ToUpper(verdict(commit)))
				}
			}
		}
		for n := range 3 {
			p.is(named(protocol, "partition %d", n), p.Dump(stage.Part(name, int32(n))), strings.Join(want[n], " "))
		}
	}
}

// lastStable is P18: where committed reads end while transactions of three producers end in any order.
func lastStable(p *property) {
	tp := stage.Part(p.Topic(1), 0)
	plain, plainSequence := p.Plain(), int32(0)
	writers := []kafka.Identity{p.Writer(), p.Writer(), p.Writer()}
	var sequences [3]int32
	end := int64(0)
	for round, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		open := map[int]int64{}
		look := func(step string) {
			stable := end
			for _, first := range open {
				stable = min(stable, first)
			}
			fact := fmt.Sprintf("order %v, %s", order, step)
			p.is(fact, fmt.Sprintf("%d of %d", p.stable(tp), p.high(tp)), fmt.Sprintf("%d of %d", stable, end))
			f, code := p.Fetch(tp, stable, kafka.ReadCommitted, 1<<20)
			p.is(fact+", fetch", fmt.Sprint(code, f.LastStable, f.HighWatermark, len(f.Records)), fmt.Sprint(kafka.OK, stable, end, 0))
		}
		for w := range writers {
			p.Write(tp, plain, plainSequence, "plain")
			plainSequence++
			end++
			if p.Protocol >= 5 {
				sequences[w] = 0
			}
			p.Write(tp, writers[w], sequences[w], "x", "x")
			sequences[w] += 2
			open[w] = end
			end += 2
			look(fmt.Sprint("opened ", w))
		}
		for i, w := range order {
			writers[w] = p.Finish(writers[w], (i+round)%2 == 0, tp)
			end++
			delete(open, w)
			look(fmt.Sprint("ended ", w))
		}
	}
}

// readCommitted is P19: from any offset and with any limit of bytes a reader gets what was committed below the last stable
// offset, in order.
func readCommitted(p *property) {
	tp := stage.Part(p.Topic(1), 0)
	all, committed := p.mixedLog(tp)
	stable, high := p.stable(tp), p.high(tp)
	p.is("last stable offset", stable < high, true)
	for _, isolation := range []kafka.Isolation{kafka.ReadCommitted, kafka.ReadUncommitted} {
		want, stop := committed, stable
		if isolation == kafka.ReadUncommitted {
			want, stop = all, high
		}
		for _, limit := range []int32{1, 250, 1 << 20} {
			for from := range stop + 1 {
				got := p.readFrom(tp, from, stop, isolation, limit)
				rest := slices.DeleteFunc(slices.Clone(want), func(r logged) bool { return r.offset < from })
				p.is(fmt.Sprintf("isolation %d, %d bytes, from %d", isolation, limit, from), fmt.Sprint(got), fmt.Sprint(rest))
			}
		}
	}
	p.abortedList(tp)
	var lines []string
	for _, r := range committed {
		lines = append(lines, fmt.Sprintf("%d:%s", r.offset, r.value))
	}
	p.is("what the engine's fetcher reads", p.Drain(tp, 0, stable), lines)
}

type logged struct {
	offset int64
	value  string
}

// mixedLog writes transactions of three producers and plain records, one above the other, and leaves one open.
func (p *property) mixedLog(tp id.TopicPartition) (all, committed []logged) {
	plain := p.Plain()
	writers := []kafka.Identity{p.Writer(), p.Writer(), p.Writer()}
	var sequences [3]int32
	for round := range 3 {
		var mine [3][]logged
		for w := range writers {
			if p.Protocol >= 5 {
				sequences[w] = 0
			}
			value := fmt.Sprintf("%d.%d", round, w)
			for range 1 + w%2 {
				at := p.Write(tp, writers[w], sequences[w], value, value)
				sequences[w] += 2
				mine[w] = append(mine[w], logged{at, value}, logged{at + 1, value})
			}
			if w == 1 {
				at := p.Write(tp, plain, int32(round), "plain")
				all = append(all, logged{at, "plain"})
				committed = append(committed, logged{at, "plain"})
			}
		}
		for w := range writers {
			all = append(all, mine[w]...)
			if round == 2 && w == 2 {
				break // stays open
			}
			commit := (round+w)%2 == 0
			writers[w] = p.Finish(writers[w], commit, tp)
			if commit {
				committed = append(committed, mine[w]...)
			}
		}
	}
	stable := p.stable(tp)
	byOffset := func(a, b logged) int { return int(a.offset - b.offset) }
	slices.SortStableFunc(all, byOffset)
	slices.SortStableFunc(committed, byOffset)
	return all, slices.DeleteFunc(committed, func(r logged) bool { return r.offset >= stable })
}

// readFrom reads with bare fetches and filters as Kafka's protocol tells a client to.
func (p *property) readFrom(tp id.TopicPartition, from, stop int64, isolation kafka.Isolation, limit int32) (got []logged) {
	for at := from; at < stop; {
		f, code := p.Fetch(tp, at, isolation, limit)
		p.Check(code == kafka.OK, "fetch from %d: %v", at, code)
		before := at
		listed, aborted := f.Aborted, map[int64]bool{}
		for it := kafka.ReadBatches(f.Records); it.Next(); {
			b := it.Batch
			if b.LastOffset < at {
				continue
			}
			for len(listed) > 0 && listed[0].First <= b.LastOffset {
				aborted[listed[0].ProducerID] = true
				listed = listed[1:]
			}
			switch {
			case b.Control:
				if commit, _ := it.Marker(); !commit {
					delete(aborted, b.ProducerID)
				}
			case isolation == kafka.ReadCommitted && b.Transactional && aborted[b.ProducerID]:
			default:
				for it.NextRecord() {
					if it.Record.Offset >= at {
						got = append(got, logged{it.Record.Offset, string(it.Record.Value)})
					}
				}
			}
			at = b.LastOffset + 1
		}
		if at == before {
			p.Fail("fetch from %d with %d bytes gives nothing below %d", at, limit, stop)
		}
	}
	return got
}

// abortedList looks at what a fetch tells of aborted transactions.
func (p *property) abortedList(tp id.TopicPartition) {
	type ended struct {
		pid           int64
		first, marker int64
	}
	var all []ended
	first := map[int64]int64{}
	for it := kafka.ReadBatches(p.Log(tp)); it.Next(); {
		b := it.Batch
		_, open := first[b.ProducerID]
		switch {
		case b.Control:
			if commit, _ := it.Marker(); !commit {
				all = append(all, ended{b.ProducerID, first[b.ProducerID], b.BaseOffset})
			}
			delete(first, b.ProducerID)
		case b.Transactional && !open:
			first[b.ProducerID] = b.BaseOffset
		}
	}
	for from := range p.stable(tp) {
		f, code := p.Fetch(tp, from, kafka.ReadCommitted, 1<<20)
		p.Check(code == kafka.OK, "fetch from %d: %v", from, code)
		end := from // a broker ends an answer with a segment, which it rolls by the timestamps of records
		for it := kafka.ReadBatches(f.Records); it.Next(); {
			end = it.Batch.LastOffset + 1
		}
		var want []kafka.AbortedTxn
		for _, e := range all {
			if e.marker >= from && e.first < end {
				want = append(want, kafka.AbortedTxn{ProducerID: e.pid, First: e.first})
			}
		}
		got := slices.Clone(f.Aborted)
		for _, list := range [][]kafka.AbortedTxn{got, want} {
			slices.SortStableFunc(list, func(a, b kafka.AbortedTxn) int { return int(a.First - b.First) })
		}
		p.is(fmt.Sprint("aborted transactions from ", from), starts(got), starts(want))
	}
}

// starts are the first offsets of transactions.
func starts(list []kafka.AbortedTxn) (at []int64) {
	for _, a := range list {
		at = append(at, a.First)
	}
	return at
}
