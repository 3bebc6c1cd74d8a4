package brokertest

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// endCell is what an EndTxn is answered in one state: the code, and the identity if there is one.
type endCell struct {
	code kafka.Code
	next string // of protocol 5, seen from the current epoch
	ends string // state afterwards; "": as before
}

// endRow is one state and verdict, by the epoch of the request: one below the current, the current, one above.
type endRow struct {
	state   string
	commit  bool
	answers [3]endCell
}

var (
	endOK     = endCell{code: kafka.OK}
	endState  = endCell{code: kafka.InvalidTxnState}
	endFenced = endCell{code: kafka.ProducerFenced}
)

// endsOld is the matrix of versions 0 to 4.
var endsOld = []endRow{
	{"Empty", true, [3]endCell{endFenced, endState, endFenced}},
	{"Empty", false, [3]endCell{endFenced, endState, endFenced}},
	{"Ongoing", true, [3]endCell{endFenced, {ends: "CompleteCommit E+0"}, endFenced}},
	{"Ongoing", false, [3]endCell{endFenced, {ends: "CompleteAbort E+0"}, endFenced}},
	{"CompleteCommit", true, [3]endCell{endFenced, endOK, endFenced}},
	{"CompleteCommit", false, [3]endCell{endFenced, endState, endFenced}},
	{"CompleteAbort", true, [3]endCell{endFenced, endState, endFenced}},
	{"CompleteAbort", false, [3]endCell{endFenced, endOK, endFenced}},
}

// endsNew is the matrix of version 5. One below the current epoch is a repeat.
var endsNew = []endRow{
	{"Empty", true, [3]endCell{endFenced, endState, endFenced}},
	{"Empty", false, [3]endCell{endFenced, {next: "E+1", ends: "CompleteAbort E+1"}, endFenced}},
	{"Ongoing", true, [3]endCell{endFenced, {next: "E+1", ends: "CompleteCommit E+1"}, endFenced}},
	{"Ongoing", false, [3]endCell{endFenced, {next: "E+1", ends: "CompleteAbort E+1"}, endFenced}},
	{"CompleteCommit", true, [3]endCell{{next: "E+0"}, endState, endFenced}},
	{"CompleteCommit", false, [3]endCell{endState, {next: "E+1", ends: "CompleteAbort E+1"}, endFenced}},
	{"CompleteAbort", true, [3]endCell{endState, endState, endFenced}},
	{"CompleteAbort", false, [3]endCell{{next: "E+0"}, {next: "E+1", ends: "CompleteAbort E+1"}, endFenced}},
}

// endOld is P7: EndTxn up to version 4 in every state, verdict and epoch.
func endOld(p *property) {
	for _, version := range []int16{1, p.endVersion(4)} {
		p.matrix(version, 4, endsOld)
	}
}

// endNew is P8: the same of version 5.
func endNew(p *property) {
	switch {
	case !p.Protocol5:
		p.is("EndTxn 5 is offered", p.Features.Max(endTxnKey) >= 5, false)
	case p.Features.TransactionVersion == 0:
		tp := stage.Part(p.Topic(1), 0)
		who := p.writer(4)
		p.Write(tp, who, 0, "a")
		coordinator := stage.TxnCoordinator(who.TransactionalID)
		p.is("EndTxn 5 at transaction.version 0", p.once(coordinator, endRequest(5, who, true)), kafka.UnsupportedVersion)
		for _, commit := range []bool{true, false} { // and the id is of no use any more
			p.is(verdict(commit)+" after it, EndTxn 4", p.once(coordinator, endRequest(4, who, commit)), kafka.ConcurrentTransactions)
		}
		p.is("state after it", p.describe(who), "Ongoing E+0")
	default:
		p.matrix(5, 5, endsNew)
	}
}

func (p *property) matrix(version, protocol int16, rows []endRow) {
	tp := stage.Part(p.Topic(1), 0)
	for _, row := range rows {
		for i, by := range []int16{-1, 0, 1} {
			want := row.answers[i]
			fact := strings.Join([]string{"EndTxn " + fmt.Sprint(version), row.state, verdict(row.commit), epoch(by)}, ", ")
			current := p.reach(tp, row.state, protocol)
			asked := current
			asked.ProducerEpoch += by
			next, code := p.end(version, asked, row.commit)
			if version < 2 && want.code == kafka.ProducerFenced {
				want.code = kafka.InvalidProducerEpoch
			}
			p.is(fact, code, want.code)
			if code == kafka.OK && protocol >= 5 {
				p.is(fact+", identity", relative(current, next), want.next)
			}
			if want.ends == "" {
				want.ends = row.state + " E+0"
			}
			p.is(fact+", state", p.describe(current), want.ends)
			if row.state == "Ongoing" && code != kafka.OK {
				_, _ = p.end(p.endVersion(protocol), current, false)
			}
		}
	}
}

// reach makes a fresh id, of at least epoch 1, and brings it into a state.
func (p *property) reach(tp id.TopicPartition, state string, protocol int16) kafka.Identity {
	name := p.Name("txn")
	p.Init(name, protocol)
	who := p.Init(name, protocol)
	if state == "Empty" {
		return who
	}
	p.Write(tp, who, 0, "a")
	if state == "Ongoing" {
		return who
	}
	next, code := p.End(who, state == "CompleteCommit")
	p.Check(code == kafka.OK, "%s: %v", state, code)
	p.Settled(name)
	return next
}

// nextIdentity is P10: which identity and sequence follow an end.
func nextIdentity(p *property) {
	for _, protocol := range p.protocols() {
		bump := epoch(protocol - 4)
		tp := stage.Part(p.Topic(1), 0)
		first := p.writer(protocol)
		p.Write(tp, first, 0, "a", "b") // 0, 1
		second := p.Finish(first, true, tp)
		p.is(named(protocol, "identity after a commit"), relative(first, second), bump)
		p.is(named(protocol, "epoch of its marker"), relative(first, p.marker(tp, 2)), bump)
		p.is(named(protocol, "state"), p.describe(first), "CompleteCommit "+bump)

		p.Join(second, tp)
		_, code := p.Send(tp, second, after(protocol, 2)+1, "gap")
		p.is(named(protocol, "a gap at the beginning"), code, kafka.OutOfOrderSequence)
		second = p.again(protocol, tp, second)
		at := p.Write(tp, second, after(protocol, 2), "c")
		third := p.Finish(second, false, tp)
		p.is(named(protocol, "identity after an abort"), relative(second, third), bump)
		p.is(named(protocol, "epoch of its marker after an abort"), relative(second, p.marker(tp, at+1)), bump)
		p.is(named(protocol, "state after an abort"), p.describe(second), "CompleteAbort "+bump)

		if protocol < 5 {
			// The batches of the transaction before are still known once the partition is in the next one.
			p.Join(third, tp)
			repeated, code := p.Send(tp, third, 0, "a", "b")
			p.is(named(protocol, "the first batch again"), code, kafka.OK)
			p.is(named(protocol, "the first batch again, offset"), repeated.Offset, 0)
			// A repeat is told the batch's own time, although the topic keeps timestamps.
			p.is(named(protocol, "the first batch again is told its time"), repeated.LogAppendTime == p.Time, true)
			p.is(named(protocol, "the first batch again, end"), p.high(tp), at+2)
			_, code = p.End(third, false)
			p.is(named(protocol, "end after it"), code, kafka.OK)
			p.Settled(third.TransactionalID)
			continue
		}
		fourth, code := p.End(third, false)
		p.is(named(protocol, "abort of nothing"), code, kafka.OK)
		p.is(named(protocol, "identity after an abort of nothing"), relative(third, fourth), bump)
		p.is(named(protocol, "state after an abort of nothing"), p.describe(third), "CompleteAbort "+bump)
		p.is(named(protocol, "end of the log"), p.high(tp), at+2)
		p.Write(tp, fourth, 0, "d")
		p.Finish(fourth, true, tp)
	}
}

// again is the identity after a refused first batch. Its guard refuses what follows it in sequence until the transaction ends,
// so it is ended.
func (p *property) again(protocol int16, tp id.TopicPartition, who kafka.Identity) kafka.Identity {
	next, code := p.End(who, false)
	p.Check(code == kafka.OK, "end after a refused batch: %v", code)
	p.Settled(who.TransactionalID)
	p.Wait("the partition closed", func() bool { x, ok := p.Producer(tp, who.ProducerID); return !ok || x.OpenFrom < 0 })
	next.Protocol = protocol
	return next
}

// endRepeats is P12: the repeat of an end whose answer was lost, at once and later.
func endRepeats(p *property) {
	for _, protocol := range p.protocols() {
		for _, commit := range []bool{true, false} {
			fact := func(what string) string { return named(protocol, "%s, %s", verdict(commit), what) }
			name := p.Topic(4)
			lane, group := stage.Part(name, 3), p.Name("group")
			p.Seed(group, lane, 5, "seed")
			who := p.writer(protocol)
			parts := []id.TopicPartition{stage.Part(name, 0), stage.Part(name, 1), stage.Part(name, 2)}
			for _, tp := range parts {
				p.Write(tp, who, 0, "a")
			}
			p.Mark(who, group, lane, 6, "pending")

			req := endRequest(p.endVersion(protocol), who, commit)
			node := p.Find(stage.TxnCoordinator(who.TransactionalID))
			sent, repeat := p.Start(node, req), p.Start(node, req)
			r, err := sent.Await()
			p.Check(err == nil, "end: %v", err)
			p.is(fact("answer"), codeOf(r), kafka.OK)
			again, err := repeat.Await()
			p.Check(err == nil, "its repeat: %v", err)
			p.isOneOf(fact("repeat at once"), codeOf(again), kafka.ConcurrentTransactions, kafka.OK)
			next := identityOf(who, r.(*kmsg.EndTxnResponse))
			p.is(fact("identity"), relative(who, next), epoch(protocol-4))
			p.Closed(who, parts...)
			for range 2 {
				later, code := p.end(p.endVersion(protocol), who, commit)
				p.is(fact("later repeat"), code, kafka.OK)
				p.is(fact("later repeat, identity"), relative(who, later), epoch(protocol-4))
			}
			other, code := p.end(p.endVersion(protocol), who, !commit)
			p.is(fact("the other verdict later"), code, kafka.InvalidTxnState)
			p.is(fact("the other verdict later, identity"), relative(who, other), "E+0")
			for _, tp := range parts {
				p.is(fact("log"), p.Dump(tp), "0:a 1:"+strings.ToUpper(verdict(commit)))
			}
			p.is(fact("offset"), p.StableLane(group, lane).Offset, map[bool]int64{true: 6, false: 5}[commit])
		}
	}
}

// identityOf is the identity in an answer to EndTxn.
func identityOf(who kafka.Identity, r *kmsg.EndTxnResponse) kafka.Identity {
	if r.Version >= 5 && r.ErrorCode == 0 {
		who.ProducerID, who.ProducerEpoch = r.ProducerID, r.ProducerEpoch
	}
	return who
}

// lateRepeat is P13: the repeat of an end that comes when the next transaction is open. On protocol 4 it ends that one, which
// is why the engine initialises an id before it uses it again.
func lateRepeat(p *property) {
	for _, protocol := range p.protocols() {
		for _, commit := range []bool{true, false} {
			fact := func(what string) string { return named(protocol, "%s, %s", verdict(commit), what) }
			tp := stage.Part(p.Topic(1), 0)
			who := p.writer(protocol)
			p.Write(tp, who, 0, "a")
			end := endRequest(p.endVersion(protocol), who, commit)
			r, code := p.ask(stage.TxnCoordinator(who.TransactionalID), end)
			p.is(fact("the first"), code, kafka.OK)
			p.Closed(who, tp)
			next := identityOf(who, r.(*kmsg.EndTxnResponse))
			p.Write(tp, next, after(protocol, 1), "b")
			_, code = p.Another().Answer(stage.TxnCoordinator(who.TransactionalID), end, codeOf)
			word := strings.ToUpper(verdict(commit))
			if protocol >= 5 {
				p.is(fact("the late repeat"), code, kafka.ProducerFenced)
				p.is(fact("state"), p.describe(next), "Ongoing E+0")
				p.is(fact("log"), p.Dump(tp), "0:a 1:"+word+" 2:b")
				p.Finish(next, false, tp)
				continue
			}
			p.is(fact("the late repeat"), code, kafka.OK)
			p.Closed(who, tp)
			p.is(fact("state"), p.describe(next), "Complete"+word[:1]+strings.ToLower(word[1:])+" E+0")
			p.is(fact("log"), p.Dump(tp), "0:a 1:"+word+" 2:b 3:"+word)
		}
	}
}
