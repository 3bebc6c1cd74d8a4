package brokertest

import (
	"fmt"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// window is P14: what a partition makes of sequences and epochs, for idempotent producers and inside transactions.
func window(p *property) {
	who := p.Plain()
	p.sequences("idempotent", p.produceVersion(p.Protocol), who, func(id.TopicPartition) {})
	for _, protocol := range p.protocols() {
		who := p.writer(protocol)
		p.sequences(fmt.Sprint("protocol ", protocol), p.produceVersion(protocol), who, func(tp id.TopicPartition) { p.Join(who, tp) })
		p.Finish(who, false)
	}
	p.epochs()
}

func (p *property) sequences(kind string, version int16, who kafka.Identity, join func(id.TopicPartition)) {
	name := p.Topic(2)
	tp, other := stage.Part(name, 0), stage.Part(name, 1)
	join(tp)
	fact := func(what string) string { return kind + ", " + what }
	for i := range int32(6) { // two records each
		at, code := p.produce(version, tp, who, 2*i, "x", "y")
		p.is(fact(fmt.Sprint("batch ", i)), fmt.Sprint(code, at), fmt.Sprint(kafka.OK, 2*i))
	}
	for i := range int32(5) {
		at, code := p.produce(version, tp, who, 2*i+2, "x", "y")
		p.is(fact(fmt.Sprintf("batch %d again", i+1)), fmt.Sprint(code, at), fmt.Sprint(kafka.OK, 2*i+2))
	}
	refused := func(what string, sequence int32, values ...string) {
		_, code := p.produce(version, tp, who, sequence, values...)
		p.is(fact(what), code, kafka.OutOfOrderSequence)
	}
	refused("the sixth batch from the end", 0, "x", "y")
	refused("a gap", 13, "x")
	refused("half of a known batch", 10, "x")
	refused("over the end of a known batch", 10, "x", "y", "z")
	refused("from the middle of a known batch", 11, "x", "y")
	p.is(fact("end after refusals"), p.high(tp), 12)
	at, code := p.produce(version, tp, who, 12, "x")
	p.is(fact("the next one"), fmt.Sprint(code, at), fmt.Sprint(kafka.OK, 12))
	if version >= 12 && who.TransactionalID != "" {
		return // which begins at sequence 0 and does not get to the end of the numbers
	}
	join(other)
	_, code = p.produce(version, other, who, 2147483645, "x", "y")
	p.is(fact("near the end of the numbers"), code, kafka.OK)
	at, code = p.produce(version, other, who, 2147483647, "x", "y", "z") // 2147483647, 0, 1
	p.is(fact("over the end of the numbers"), fmt.Sprint(code, at), fmt.Sprint(kafka.OK, 2))
	at, code = p.produce(version, other, who, 2147483647, "x", "y", "z")
	p.is(fact("over the end of the numbers again"), fmt.Sprint(code, at), fmt.Sprint(kafka.OK, 2))
	_, code = p.produce(version, other, who, 3, "x")
	p.is(fact("a gap behind the end of the numbers"), code, kafka.OutOfOrderSequence)
	at, code = p.produce(version, other, who, 2, "x")
	p.is(fact("behind the end of the numbers"), fmt.Sprint(code, at), fmt.Sprint(kafka.OK, 5))
}

// epochs looks at a producer id that comes with other epochs: nobody asks a coordinator about an idempotent one.
func (p *property) epochs() {
	tp := stage.Part(p.Topic(1), 0)
	version := p.produceVersion(p.Protocol)
	who := p.Plain()
	p.Write(tp, who, 0, "a")
	newer := who
	newer.ProducerEpoch++
	_, code := p.produce(version, tp, newer, 1, "b")
	p.is("a new epoch goes on", code, kafka.OutOfOrderSequence)
	_, code = p.produce(version, tp, newer, 0, "b")
	p.is("a new epoch begins", code, kafka.OK)
	_, code = p.produce(version, tp, who, 1, "c")
	p.is("an old epoch", code, kafka.InvalidProducerEpoch)
	_, code = p.produce(version, tp, who, 0, "a")
	p.is("an old epoch repeats a batch", code, kafka.InvalidProducerEpoch)
	p.is("log of epochs", p.Dump(tp), "0:a 1:b")
}

// firstSequence is P15: the first sequence on a partition that does not know the producer.
func firstSequence(p *property) {
	fresh := func() id.TopicPartition { return stage.Part(p.Topic(1), 0) }
	used := func() id.TopicPartition {
		tp := fresh()
		p.Write(tp, p.Plain(), 0, "x")
		return tp
	}
	for kind, place := range []func() id.TopicPartition{fresh, used} {
		where := []string{"a partition never written", "a partition written by others"}[kind]
		tp := place()
		_, code := p.produce(p.produceVersion(p.Protocol), tp, p.Plain(), 7, "a")
		p.is("idempotent, "+where, code, kafka.OK)
		for _, protocol := range p.protocols() {
			tp := place()
			who := p.writer(protocol)
			p.Join(who, tp)
			_, code := p.produce(p.produceVersion(protocol), tp, who, 7, "a")
			want := kafka.OK
			if protocol >= 5 && p.FirstAtZero {
				want = kafka.OutOfOrderSequence
			}
			p.is(named(protocol, "%s", where), code, want)
			_, code = p.End(who, false)
			p.is(named(protocol, "%s, end", where), code, kafka.OK)
		}
	}
}

// mixedBatch is P16: a batch outside of the transaction that its producer has open there.
func mixedBatch(p *property) {
	for _, protocol := range p.protocols() {
		tp := stage.Part(p.Topic(1), 0)
		who := p.writer(protocol)
		p.Write(tp, who, 0, "a")
		bare := who
		bare.TransactionalID = ""
		_, code := p.produce(p.produceVersion(protocol), tp, bare, 1, "b")
		p.is(named(protocol, "code"), code, kafka.InvalidTxnState)
		p.is(named(protocol, "end of the log"), p.high(tp), 1)
		p.Write(tp, who, 1, "c")
		p.Finish(who, true, tp)
		p.is(named(protocol, "log"), p.Dump(tp), "0:a 1:c 2:COMMIT")
	}
}
