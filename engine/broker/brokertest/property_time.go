package brokertest

import (
	"strconv"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

// timeoutAborts is P11: the coordinator aborts a transaction that is older than its timeout, and what its producer is answered
// afterwards.
func timeoutAborts(p *property) {
	// On a busy machine, too, what is written before it passes must be written by then.
	const timeout = 5 * time.Second
	for _, protocol := range p.protocols() {
		name := p.Topic(3)
		touched, untouched, lane := stage.Part(name, 0), stage.Part(name, 1), stage.Part(name, 2)
		group, elsewhere := p.Name("group"), p.Name("group")
		p.Seed(group, lane, 5, "seed")
		p.Seed(elsewhere, lane, 5, "seed")
		who, code := p.InitCode(p.Name("txn"), timeout, protocol)
		p.Check(code == kafka.OK, "init: %v", code)
		p.Write(touched, who, 0, "a")
		p.Mark(who, group, lane, 6, "pending")
		x, _ := p.Transaction(who.TransactionalID)
		p.is(named(protocol, "last stable offset while open"), p.stable(touched), 0)

		sequence, early := int32(1), false
		aborted := p.Within(time.Minute, func() bool { // under traffic, which does not extend it
			if p.stable(touched) > 0 {
				early = p.Process.Wall().UnixMilli() < x.StartUnixMs+timeout.Milliseconds()
				return true
			}
			if p.Process.Wall().UnixMilli() < x.StartUnixMs+timeout.Milliseconds()/4 {
				p.Write(touched, who, sequence, "more")
				sequence++
			}
			return false
		})
		p.Check(aborted, "not aborted within a minute")
		p.is(named(protocol, "early"), early, false)
		p.Closed(who, touched)
		p.is(named(protocol, "state"), p.describe(who), "CompleteAbort "+epoch(p.ownEpochs()))
		p.is(named(protocol, "epoch of the marker"), relative(who, p.marker(touched, p.high(touched)-1)), epoch(p.ownEpochs()))
		p.is(named(protocol, "offset"), p.StableLane(group, lane).Offset, 5)
		end := p.high(touched)

		p.afterTimeout(protocol, who)
		_, code = p.produce(p.produceVersion(protocol), touched, who, sequence, "late")
		p.is(named(protocol, "Produce where it wrote"), code, p.staleProduce())
		_, code = p.produce(p.produceVersion(protocol), untouched, who, 0, "late")
		want := p.staleProduce()
		if !p.VerifiesProduce {
			want = kafka.OK
		}
		p.is(named(protocol, "Produce elsewhere"), code, want)
		p.is(named(protocol, "end where it wrote"), p.high(touched), end)
		if protocol < 5 {
			_, code = p.ask(stage.TxnCoordinator(who.TransactionalID), addRequest(3, who, touched))
			p.is(named(protocol, "AddPartitionsToTxn"), code, kafka.ProducerFenced)
			_, code = p.ask(stage.TxnCoordinator(who.TransactionalID), addRequest(1, who, touched))
			p.is(named(protocol, "AddPartitionsToTxn 1"), code, kafka.InvalidProducerEpoch)
			_, code = p.ask(stage.TxnCoordinator(who.TransactionalID), addOffsetsRequest(3, who, group))
			p.is(named(protocol, "AddOffsetsToTxn"), code, kafka.ProducerFenced)
		}
		p.is(named(protocol, "TxnOffsetCommit"), p.txnOffset(protocol, who, group, lane, 7), kafka.InvalidProducerEpoch)
		want = kafka.InvalidProducerEpoch
		if !p.VerifiesOffsets && p.groupPartition(elsewhere) != p.groupPartition(group) {
			want = kafka.OK
		}
		p.is(named(protocol, "TxnOffsetCommit of another group"), p.txnOffset(protocol, who, elsewhere, lane, 7), want)
		p.is(named(protocol, "offset in the end"), p.StableLane(group, lane).Offset, 5)

		_, code = p.initialise(4, who.TransactionalID, timeout, who.ProducerID, who.ProducerEpoch)
		want = kafka.ProducerFenced
		if p.Features.TransactionVersion >= 2 && !p.FencesTwice {
			want = kafka.OK
		}
		p.is(named(protocol, "init with what it believes to be"), code, want)
	}
}

// staleProduce is what a record of an old epoch is answered.
func (p *property) staleProduce() kafka.Code { return kafka.InvalidProducerEpoch }

// afterTimeout looks at the ends that its producer may send.
func (p *property) afterTimeout(protocol int16, who kafka.Identity) {
	_, code := p.end(1, who, true)
	p.is(named(protocol, "commit, EndTxn 1"), code, kafka.InvalidProducerEpoch)
	for _, commit := range []bool{true, false} {
		_, code = p.end(p.endVersion(4), who, commit)
		p.is(named(protocol, "%s, EndTxn 4", verdict(commit)), code, kafka.ProducerFenced)
	}
	if protocol < 5 {
		return
	}
	// One bump looks to version 5 like a repeat: of an abort.
	wantCommit, wantAbort := kafka.InvalidTxnState, kafka.OK
	if p.ownEpochs() == 2 {
		wantCommit, wantAbort = kafka.ProducerFenced, kafka.ProducerFenced
	}
	_, code = p.end(5, who, true)
	p.is(named(protocol, "commit, EndTxn 5"), code, wantCommit)
	next, code := p.end(5, who, false)
	p.is(named(protocol, "abort, EndTxn 5"), code, wantAbort)
	if code == kafka.OK {
		p.is(named(protocol, "abort, EndTxn 5, identity"), relative(who, next), "E+1")
	}
}

// MaxIDExpiration is the longest transactional.id.expiration.ms that the suite waits for. It must not be much shorter either,
// or ids of other cases expire under their hands.
const MaxIDExpiration = 20 * time.Second

// idExpires is P23: an id that is idle for transactional.id.expiration.ms is forgotten, an open one is not.
func idExpires(p *property) {
	expiration := p.idExpiration()
	p.Check(expiration <= MaxIDExpiration, "transactional.id.expiration.ms is %d: the suite needs at most %d", expiration.Milliseconds(), MaxIDExpiration.Milliseconds())
	tp := stage.Part(p.Topic(1), 0)
	open, code := p.InitCode(p.Name("txn"), 10*time.Minute, p.Protocol)
	p.Check(code == kafka.OK, "init: %v", code)
	p.Write(tp, open, 0, "a")
	used := p.Writer()
	data := stage.Part(p.Topic(1), 0)
	p.Write(data, used, 0, "x")
	last := p.Process.Now() // each is used once more, after this
	idle, end := p.Writer(), p.Finish(used, true, data)
	p.Settled(used.TransactionalID)

	began := p.Process.Now()
	gone := map[string]time.Duration{}
	for len(gone) < 2 && p.Process.Now().Sub(began) < expiration+15*time.Second {
		for _, who := range []kafka.Identity{idle, used} {
			if _, code := p.Transaction(who.TransactionalID); code == kafka.TransactionalIDNotFound && gone[who.TransactionalID] == 0 {
				gone[who.TransactionalID] = p.Process.Now().Sub(last)
			}
		}
		p.Sleep(100 * time.Millisecond)
	}
	for i, after := range []time.Duration{gone[idle.TransactionalID], gone[used.TransactionalID]} {
		name := []string{"an idle id", "an id after a commit"}[i]
		p.is(name+" expires", after > 0, true)
		p.is(name+" expires early", after > 0 && after < expiration, false)
	}
	for _, commit := range []bool{true, false} {
		_, code := p.End(used, commit)
		p.is(verdict(commit), code, kafka.InvalidProducerIDMapping)
	}
	_, code = p.ask(stage.TxnCoordinator(end.TransactionalID), addRequest(3, end, tp))
	p.is("AddPartitionsToTxn", code, kafka.InvalidProducerIDMapping)
	fresh, code := p.initialise(4, used.TransactionalID, time.Minute, end.ProducerID, end.ProducerEpoch)
	p.is("init with what it was", code, kafka.OK)
	p.is("init with what it was, producer id is new", fresh.ProducerID != used.ProducerID, true)
	p.is("init with what it was, epoch", fresh.ProducerEpoch, 0)
	p.is("an open one", p.describe(open), "Ongoing E+0")
	p.Finish(open, true, tp)
}

// idExpiration is the broker's setting.
func (p *property) idExpiration() time.Duration {
	m, _ := p.View(-1)
	p.Check(len(m.Brokers) > 0, "no brokers")
	var entries []kafka.ConfigEntry
	code := p.Settle("broker configs", func(done func(kafka.Code, error)) {
		p.BrokerConfigs(m.Brokers[0], func(e []kafka.ConfigEntry, c kafka.Code, err error) { entries = e; done(c, err) })
	})
	p.Check(code == kafka.OK, "broker configs: %v", code)
	for _, e := range entries {
		if e.Name == "transactional.id.expiration.ms" {
			ms, err := strconv.ParseInt(e.Value, 10, 64)
			p.Check(err == nil, "%s=%s", e.Name, e.Value)
			return time.Duration(ms) * time.Millisecond
		}
	}
	p.Fail("the broker does not tell transactional.id.expiration.ms")
	return 0
}
