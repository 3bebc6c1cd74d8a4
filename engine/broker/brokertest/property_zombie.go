package brokertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// zombies is P21: whatever a producer of an older epoch sends is refused and changes nothing.
func zombies(p *property) {
	for _, protocol := range p.protocols() {
		name := p.Topic(3)
		touched, untouched, lane := stage.Part(name, 0), stage.Part(name, 1), stage.Part(name, 2)
		group := p.Name("group")
		p.Seed(group, lane, 5, "seed")
		old := p.writer(protocol)
		p.Write(touched, old, 0, "a")
		p.Finish(old, true, touched)
		fresh := p.Init(old.TransactionalID, protocol)
		p.Write(touched, fresh, 0, "b")
		p.Mark(fresh, group, lane, 7, "fresh")
		before := p.look(fresh, touched, untouched)

		zombie := p.zombie()
		_, code := zombie.produce(p.produceVersion(protocol), touched, old, after(protocol, 1), "z")
		p.is(named(protocol, "Produce where the new one wrote"), code, kafka.InvalidProducerEpoch)
		if p.VerifiesProduce {
			_, code = zombie.produce(p.produceVersion(protocol), untouched, old, 0, "z")
			p.is(named(protocol, "Produce elsewhere"), code, kafka.InvalidProducerEpoch)
		}
		for _, version := range []int16{1, 3} {
			want := kafka.ProducerFenced
			if version < 2 {
				want = kafka.InvalidProducerEpoch
			}
			_, code = zombie.ask(stage.TxnCoordinator(old.TransactionalID), addRequest(version, old, untouched))
			p.is(named(protocol, "AddPartitionsToTxn %d", version), code, want)
			_, code = zombie.ask(stage.TxnCoordinator(old.TransactionalID), addOffsetsRequest(version, old, group))
			p.is(named(protocol, "AddOffsetsToTxn %d", version), code, want)
			for _, commit := range []bool{true, false} {
				v := version
				if version == 3 {
					v = p.endVersion(protocol)
				}
				_, code = zombie.end(v, old, commit)
				p.is(named(protocol, "%s, EndTxn %d", verdict(commit), v), code, want)
			}
		}
		p.is(named(protocol, "nothing has changed"), p.look(fresh, touched, untouched), before)
		p.is(named(protocol, "TxnOffsetCommit"), zombie.txnOffset(protocol, old, group, lane, 8), kafka.InvalidProducerEpoch)
		p.is(named(protocol, "nothing has changed by an offset"), p.look(fresh, touched, untouched), before)

		p.Finish(fresh, true, touched)
		p.is(named(protocol, "log"), p.Dump(touched), "0:a 1:COMMIT 2:b 3:COMMIT")
		o := p.StableLane(group, lane)
		want := "7 fresh"
		if p.ForgetsPending { // the refused one has made it forget
			want = "5 seed"
		}
		p.is(named(protocol, "offset"), fmt.Sprintf("%d %s", o.Offset, o.Metadata), want)
	}
	if !p.VerifiesProduce {
		p.unverified()
	}
}

// unverified is what a zombie can do on a partition that does not know the new epoch, where no leader asks: its record stands
// open for ever.
func (p *property) unverified() {
	tp := stage.Part(p.Topic(1), 0)
	old := p.writer(4)
	p.Init(old.TransactionalID, 4)
	_, code := p.zombie().produce(p.produceVersion(4), tp, old, 0, "z")
	p.is("Produce where nobody asks", code, kafka.OK)
	p.is("state where nobody asks", p.describe(old), "Empty E+1")
	p.is("last stable offset where nobody asks", p.stable(tp), 0)
}

// zombie is the same property as another client looks at it.
func (p *property) zombie() *property {
	return &property{T: p.Another(), Release: p.Release}
}

// look is what an id and two partitions look like.
func (p *property) look(who kafka.Identity, parts ...id.TopicPartition) string {
	x := p.Settled(who.TransactionalID)
	lines := []string{fmt.Sprintf("%s with %d partitions", p.describe(who), len(x.Partitions))}
	for _, tp := range parts {
		line := fmt.Sprintf("stable %d of %d", p.stable(tp), p.high(tp))
		if q, known := p.Producer(tp, who.ProducerID); known {
			at := kafka.Identity{ProducerID: q.ProducerID, ProducerEpoch: int16(q.ProducerEpoch)}
			line += fmt.Sprintf(", %s open from %d, last sequence %d", relative(who, at), q.OpenFrom, q.LastSequence)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func sortedNumbers(numbers []int32) string {
	slices.Sort(numbers)
	return strings.Trim(fmt.Sprint(numbers), "[]")
}
