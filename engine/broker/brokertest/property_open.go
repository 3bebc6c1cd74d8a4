package brokertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// openImplicit is P5: from transaction.version 2 on a first record or offset opens the transaction by itself.
func openImplicit(p *property) {
	if !p.Protocol5 {
		p.is("Produce 12 is offered", p.Features.Max(produceKey) >= 12, false)
		p.is("TxnOffsetCommit 5 is offered", p.Features.Max(txnOffsetCommitKey) >= 5, false)
		return
	}
	name := p.Topic(2)
	data, lane, group := stage.Part(name, 0), stage.Part(name, 1), p.Name("group")
	p.Seed(group, lane, 5, "seed")
	home := p.groupPartition(group)
	if p.Features.TransactionVersion == 0 {
		p.openRefused(data, group, lane)
		return
	}
	byRecord := p.writer(5)
	at, code := p.produce(12, data, byRecord, 0, "a")
	p.is("first record", code, kafka.OK)
	p.is("offset of the first record", at, 0)
	x := p.Settled(byRecord.TransactionalID)
	p.is("state after the first record", x.State, kafka.TxnOngoing)
	p.is("the first record's partition alone is listed", slices.Equal(x.Partitions, []id.TopicPartition{data}), true)
	p.is("first offset into an open transaction", p.txnOffset(5, byRecord, group, lane, 6), kafka.OK)
	x = p.Settled(byRecord.TransactionalID)
	p.is("both partitions are listed", slices.Contains(x.Partitions, data) && slices.Contains(x.Partitions, home) && len(x.Partitions) == 2, true)
	p.Finish(byRecord, true, data, home)
	p.is("offset after the commit", p.StableLane(group, lane).Offset, 6)

	byOffset := p.writer(5)
	p.is("first offset", p.txnOffset(5, byOffset, group, lane, 7), kafka.OK)
	x = p.Settled(byOffset.TransactionalID)
	p.is("state after the first offset", x.State, kafka.TxnOngoing)
	p.is("the offsets partition alone is listed", slices.Equal(x.Partitions, []id.TopicPartition{home}), true)
	p.Finish(byOffset, false, home)
	p.is("offset after the abort", p.StableLane(group, lane).Offset, 6)
	p.is("log", p.Dump(data), "0:a 1:COMMIT")
}

// openRefused is what a broker at transaction.version 0 answers to requests that it offers.
func (p *property) openRefused(data id.TopicPartition, group string, lane id.TopicPartition) {
	who := p.writer(4)
	p.is("first offset at transaction.version 0", p.once(stage.GroupCoordinator(group), txnOffsetRequest(5, who, group, lane, 6)), kafka.UnsupportedVersion)
	who = p.writer(4)
	p.is("first record at transaction.version 0", p.once(stage.Leader(data), p.produceRequest(12, data, who, 0, "a")), kafka.UnsupportedVersion)
	p.is("log", p.Dump(data), "")
	// The refusal comes too late: the id is of no use any more.
	p.Sleep(200 * time.Millisecond)
	p.is("a partition added after it", p.once(stage.TxnCoordinator(who.TransactionalID), addRequest(3, who, data)), kafka.ConcurrentTransactions)
}

// groupPartition is where a group's offsets lie.
func (p *property) groupPartition(group string) (home id.TopicPartition) {
	p.Do(func(done func()) {
		p.GroupPartition(group, func(tp id.TopicPartition, _ error) { home = tp; done() })
	})
	return home
}

// openWithoutAdd is P6: a record of protocol 4 for a partition that was not added.
func openWithoutAdd(p *property) {
	name := p.Topic(2)
	for i, version := range []int16{min(10, p.Features.Max(produceKey)), p.produceVersion(4)} {
		tp := stage.Part(name, int32(i))
		want := kafka.OK
		switch {
		case p.VerifiesProduce && p.Abortable && version >= 11:
			want = kafka.TransactionAbortable
		case p.VerifiesProduce:
			want = kafka.InvalidTxnState
		}
		fact := map[int]string{0: "Produce up to 10", 1: "Produce up to 11"}[i]
		who := p.writer(4)
		_, code := p.produce(version, tp, who, 0, "a")
		p.is(fact, code, want)
		p.is(fact+", records", p.high(tp), map[bool]int64{true: 1, false: 0}[want == kafka.OK])
		p.is(fact+", state", p.describe(who), "Empty E+0")
	}
}

// lookup is P9: an id and a producer id that do not belong together.
func lookup(p *property) {
	name := p.Topic(2)
	tp, lane := stage.Part(name, 0), stage.Part(name, 1)
	group := p.Name("group")
	p.Seed(group, lane, 5, "seed")
	for _, protocol := range p.protocols() {
		mine, other := p.writer(protocol), p.writer(protocol)
		p.Write(tp, other, 0, "a")
		unknown, foreign, nobody := mine, mine, mine
		unknown.TransactionalID = p.Name("unknown")
		foreign.ProducerID, foreign.ProducerEpoch = other.ProducerID, other.ProducerEpoch
		nobody.ProducerID += 1 << 40
		for _, who := range []struct {
			name string
			kafka.Identity
		}{{"an unknown id", unknown}, {"another's producer id", foreign}, {"nobody's producer id", nobody}} {
			fact := func(what string) string { return named(protocol, "%s, %s", who.name, what) }
			for _, commit := range []bool{true, false} {
				for _, version := range []int16{1, p.endVersion(protocol)} {
					if version == 1 && protocol >= 5 {
						continue
					}
					_, code := p.end(version, who.Identity, commit)
					p.is(fact(verdict(commit)+", EndTxn "+fmt.Sprint(version)), code, kafka.InvalidProducerIDMapping)
				}
			}
			_, code := p.ask(stage.TxnCoordinator(who.TransactionalID), addOffsetsRequest(3, who.Identity, group))
			p.is(fact("AddOffsetsToTxn"), code, kafka.InvalidProducerIDMapping)
			_, code = p.ask(stage.TxnCoordinator(who.TransactionalID), addRequest(3, who.Identity, lane))
			p.is(fact("AddPartitionsToTxn"), code, kafka.InvalidProducerIDMapping)
			if p.VerifiesProduce {
				_, code = p.produce(p.produceVersion(protocol), lane, who.Identity, 0, "x")
				p.is(fact("Produce"), code, kafka.InvalidProducerIDMapping)
			}
			if p.VerifiesOffsets {
				p.is(fact("TxnOffsetCommit"), p.txnOffset(protocol, who.Identity, group, lane, 6), kafka.InvalidProducerIDMapping)
			}
		}
		p.is(named(protocol, "the other's transaction"), p.describe(other), "Ongoing E+0")
		p.is(named(protocol, "the untouched id"), p.describe(mine), "Empty E+0")
		p.Finish(other, true, tp)
		p.is(named(protocol, "the offset"), p.StableLane(group, lane).Offset, 5)
	}
	p.is("records on the other partition", p.high(lane), 0)
	_, code := p.Transaction(p.Name("unknown"))
	p.is("describe of an unknown id", code, kafka.TransactionalIDNotFound)
}
