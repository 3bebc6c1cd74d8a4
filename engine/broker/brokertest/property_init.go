package brokertest

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// initNew is P1: init of a new id, a second init, arguments.
func initNew(p *property) {
	name := p.Name("txn")
	a, code := p.initialise(4, name, time.Minute, -1, -1)
	p.is("a new id", code, kafka.OK)
	p.is("epoch of a new id", a.ProducerEpoch, 0)
	p.is("state of a new id", p.describe(a), "Empty E+0")
	b, code := p.initialise(4, name, 30*time.Second, -1, -1)
	p.is("a second init", code, kafka.OK)
	p.is("identity of a second init", relative(a, b), "E+1")
	p.is("state after a second init", p.describe(a), "Empty E+1")
	other := p.Writer()
	p.is("two ids share a producer id", other.ProducerID == a.ProducerID, false)
	plain, plainer := p.Plain(), p.Plain()
	p.is("epoch without an id", plain.ProducerEpoch, 0)
	p.is("inits without id share a producer id", plain.ProducerID == plainer.ProducerID, false)

	p.is("an empty id", p.once(stage.Node(-1), initRequest(4, "", time.Minute, -1, -1)), kafka.InvalidRequest)
	_, code = p.initialise(4, name, time.Minute, a.ProducerID, -1)
	p.is("producer id without epoch", code, kafka.InvalidRequest)
	_, code = p.initialise(4, name, time.Minute, -1, 1)
	p.is("epoch without producer id", code, kafka.InvalidRequest)
	for _, timeout := range []time.Duration{0, -time.Millisecond, 900_001 * time.Millisecond, 2147483647 * time.Millisecond} {
		_, code = p.initialise(4, name, timeout, -1, -1)
		p.is("timeout "+timeout.String(), code, kafka.InvalidTransactionTimeout)
	}
	p.is("state after refusals", p.describe(a), "Empty E+1")
	x, _ := p.Transaction(name)
	p.is("timeout in force", x.TimeoutMs, 30_000)
}

// initOngoing is P2: init while a transaction is open.
func initOngoing(p *property) {
	for _, protocol := range p.protocols() {
		name := p.Topic(3)
		parts := []id.TopicPartition{stage.Part(name, 0), stage.Part(name, 1)}
		lane, group := stage.Part(name, 2), p.Name("group")
		p.Seed(group, lane, 5, "seed")
		old := p.writer(protocol)
		for _, tp := range parts {
			p.Write(tp, old, 0, "a")
		}
		p.Mark(old, group, lane, 6, "pending")

		init := initRequest(4, old.TransactionalID, time.Minute, -1, -1)
		p.is(named(protocol, "first answer"), p.once(stage.TxnCoordinator(old.TransactionalID), init), kafka.ConcurrentTransactions)
		fresh, code := p.initialise(4, old.TransactionalID, time.Minute, -1, -1)
		p.is(named(protocol, "last answer"), code, kafka.OK)
		p.is(named(protocol, "identity"), relative(old, fresh), epoch(1+p.ownEpochs()))
		p.is(named(protocol, "state"), p.describe(old), "Empty "+epoch(1+p.ownEpochs()))
		p.Closed(old, parts...)
		for i, tp := range parts {
			p.is(named(protocol, "partition %d", i), p.Dump(tp), "0:a 1:ABORT")
			p.is(named(protocol, "epoch of marker %d", i), relative(old, p.marker(tp, 1)), epoch(p.ownEpochs()))
		}
		p.is(named(protocol, "offset"), p.StableLane(group, lane).Offset, 5)

		for _, commit := range []bool{true, false} {
			_, code = p.end(1, old, commit)
			p.is(named(protocol, "%s by the old one, version 1", verdict(commit)), code, kafka.InvalidProducerEpoch)
			_, code = p.end(p.endVersion(protocol), old, commit)
			p.is(named(protocol, "%s by the old one", verdict(commit)), code, kafka.ProducerFenced)
		}
		fresh.Protocol = protocol
		p.Write(parts[0], fresh, 0, "b")
		p.Finish(fresh, true, parts[0])
		p.is(named(protocol, "in the end"), p.Dump(parts[0]), "0:a 1:ABORT 2:b 3:COMMIT")
	}
}

// epoch is how relative tells a later epoch.
func epoch(n int16) string { return relative(kafka.Identity{}, kafka.Identity{ProducerEpoch: n}) }

func verdict(commit bool) string {
	if commit {
		return "commit"
	}
	return "abort"
}

// marker is the identity of the marker at an offset.
func (p *property) marker(tp id.TopicPartition, offset int64) kafka.Identity {
	for it := kafka.ReadBatches(p.Log(tp)); it.Next(); {
		if it.Batch.BaseOffset == offset && it.Batch.Control {
			return kafka.Identity{ProducerID: it.Batch.ProducerID, ProducerEpoch: it.Batch.ProducerEpoch}
		}
	}
	return kafka.Identity{ProducerID: -2}
}

// initExpected is P3: init with the identity that its producer believes to be.
func initExpected(p *property) {
	tp := stage.Part(p.Topic(1), 0)
	states := []struct {
		name  string
		reach func(who kafka.Identity) kafka.Identity
	}{
		{"Empty", func(who kafka.Identity) kafka.Identity { return who }},
		{"CompleteCommit", func(who kafka.Identity) kafka.Identity { return p.oneTransaction(tp, who, true) }},
		{"CompleteAbort", func(who kafka.Identity) kafka.Identity { return p.oneTransaction(tp, who, false) }},
	}
	for _, protocol := range p.protocols() {
		for _, s := range states {
			// The third epoch of an id, so that there are older ones.
			name := p.Name("txn")
			p.Init(name, protocol)
			p.Init(name, protocol)
			who := s.reach(p.Init(name, protocol))
			expect := func(by int16, version int16) (string, kafka.Code) {
				next, code := p.initialise(version, name, time.Minute, who.ProducerID, who.ProducerEpoch+by)
				if code != kafka.OK {
					return "", code
				}
				return relative(who, next), code
			}
			for _, by := range []int16{-2, 1, 50} {
				_, code := expect(by, 4)
				p.is(named(protocol, "%s, %s", s.name, epoch(by)), code, kafka.ProducerFenced)
			}
			_, code := expect(50, 3)
			p.is(named(protocol, "%s, E+50, version 3", s.name), code, kafka.InvalidProducerEpoch)
			_, code = p.initialise(4, name, time.Minute, who.ProducerID+1_000_000, who.ProducerEpoch)
			p.is(named(protocol, "%s, another producer id", s.name), code, kafka.ProducerFenced)
			got, code := expect(0, 4)
			p.is(named(protocol, "%s, current", s.name), got+" "+code.String(), "E+1 "+kafka.OK.String())
			got, code = expect(0, 4)
			p.is(named(protocol, "%s, previous", s.name), got+" "+code.String(), "E+1 "+kafka.OK.String())
			_, code = expect(-1, 4)
			p.is(named(protocol, "%s, older", s.name), code, kafka.ProducerFenced)
		}
		p.expectedOngoing(protocol)
	}
}

// expectedOngoing looks at the trap: an open transaction is aborted for whatever epoch is expected.
func (p *property) expectedOngoing(protocol int16) {
	for _, by := range []int16{0, -1, 50} {
		tp := stage.Part(p.Topic(1), 0)
		name := p.Name("txn")
		p.Init(name, protocol)
		who := p.Init(name, protocol)
		p.Write(tp, who, 0, "a")
		init := initRequest(4, name, time.Minute, who.ProducerID+1_000_000, who.ProducerEpoch)
		p.is(named(protocol, "Ongoing, another producer id, %s", epoch(by)), p.once(stage.TxnCoordinator(name), init), kafka.ProducerFenced)
		init = initRequest(4, name, time.Minute, who.ProducerID, who.ProducerEpoch+by)
		p.is(named(protocol, "Ongoing, %s", epoch(by)), p.once(stage.TxnCoordinator(name), init), kafka.ConcurrentTransactions)
		p.is(named(protocol, "Ongoing, %s, state", epoch(by)), p.describe(who), "CompleteAbort "+epoch(p.ownEpochs()))
		p.Closed(who, tp)
		p.is(named(protocol, "Ongoing, %s, log", epoch(by)), p.Dump(tp), "0:a 1:ABORT")
	}
}

// oneTransaction writes one record and ends it.
func (p *property) oneTransaction(tp id.TopicPartition, who kafka.Identity, commit bool) kafka.Identity {
	p.Write(tp, who, 0, "x")
	next := p.Finish(who, commit, tp)
	p.Settled(who.TransactionalID)
	return next
}

// addUnknown is P4: one unknown partition keeps the others out.
func addUnknown(p *property) {
	name := p.Topic(2)
	for _, open := range []bool{false, true} {
		state := map[bool]string{false: "Empty", true: "Ongoing"}[open]
		who := p.writer(4)
		var in []id.TopicPartition
		if open {
			in = []id.TopicPartition{stage.Part(name, 1)}
			p.Write(in[0], who, 0, "a")
		}
		var r kmsg.Response
		var err error
		p.Wait("answer about an unknown partition", func() bool { // 51 or 14 on all of them comes first now and then
			r, err = p.RawAt(stage.TxnCoordinator(who.TransactionalID), addRequest(3, who, stage.Part(name, 0), stage.Part(name, 7)))
			return err == nil && (codeOf(r) == kafka.OK || !stage.Passing(codeOf(r)) || codeOf(r) == kafka.UnknownTopicOrPartition)
		})
		for _, topic := range r.(*kmsg.AddPartitionsToTxnResponse).Topics {
			for _, q := range topic.Partitions {
				want := map[int32]kafka.Code{0: kafka.OperationNotAttempted, 7: kafka.UnknownTopicOrPartition}[q.Partition]
				p.is(state+", partition "+fmt.Sprint(q.Partition), kafka.Code(q.ErrorCode), want)
			}
		}
		x := p.Settled(who.TransactionalID)
		p.is(state+", state", x.State, state)
		p.is(state+", partitions", x.Partitions, in)
		if open {
			p.Finish(who, false, in...)
		}
	}
}
