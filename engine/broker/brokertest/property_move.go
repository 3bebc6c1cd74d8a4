package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// movedCoordinator is P22: the coordinator moves while a transaction is being ended.
func movedCoordinator(p *property) {
	moments := []struct {
		name string
		wait func(parts []id.TopicPartition, who kafka.Identity)
	}{
		{"at once", func([]id.TopicPartition, kafka.Identity) {}},
		{"after the first marker", func(parts []id.TopicPartition, who kafka.Identity) {
			p.Wait("a first marker", func() bool {
				return slices.ContainsFunc(parts, func(tp id.TopicPartition) bool { return p.high(tp) > 1 })
			})
		}},
		{"after all markers", func(parts []id.TopicPartition, who kafka.Identity) { p.Closed(who, parts...) }},
	}
	for _, protocol := range p.protocols() {
		for _, commit := range []bool{true, false} {
			for _, m := range moments {
				p.moveWhileEnding(protocol, commit, m.name, m.wait)
			}
		}
	}
	p.forgetsExpected()
}

func (p *property) moveWhileEnding(protocol int16, commit bool, moment string, wait func([]id.TopicPartition, kafka.Identity)) {
	fact := func(what string) string { return named(protocol, "%s, moved %s, %s", verdict(commit), moment, what) }
	name := p.Topic(7)
	lane, group := stage.Part(name, 6), p.Name("group")
	p.Seed(group, lane, 5, "seed")
	who := p.writer(protocol)
	var parts []id.TopicPartition
	for n := range int32(6) {
		tp := stage.Part(name, n)
		p.Write(tp, who, 0, "a")
		parts = append(parts, tp)
	}
	p.Mark(who, group, lane, 6, "pending")
	sent := p.StartAt(stage.TxnCoordinator(who.TransactionalID), endRequest(p.endVersion(protocol), who, commit))
	wait(parts, who)
	p.MoveCoordinator(who.TransactionalID)
	if r, err := sent.Await(); err == nil { // the answer may be lost or say that it is no coordinator any more
		p.isOneOf(fact("answer"), codeOf(r), kafka.OK, kafka.NotCoordinator, kafka.CoordinatorNotAvailable)
	}
	next, code := p.end(p.endVersion(protocol), who, commit)
	p.is(fact("repeat"), code, kafka.OK)
	p.is(fact("identity"), relative(who, next), epoch(protocol-4))
	state := map[bool]string{true: "CompleteCommit", false: "CompleteAbort"}[commit]
	// The former coordinator may answer for a while yet.
	p.becomes(fact("state"), func() string { return p.describe(who) }, state+" "+epoch(protocol-4))
	p.Closed(who, parts...)
	for i, tp := range parts {
		// The new coordinator writes again what it does not know to be written.
		lines := p.Lines(p.Log(tp))
		for j, line := range lines {
			lines[j] = line[strings.Index(line, ":")+1:]
		}
		p.is(fact(fmt.Sprint("partition ", i)), slices.Compact(lines), []string{"a", strings.ToUpper(verdict(commit))})
		p.becomes(fact(fmt.Sprint("all of partition is stable ", i)), func() string { return fmt.Sprint(p.stable(tp) == p.high(tp)) }, "true")
	}
	p.is(fact("offset"), p.StableLane(group, lane).Offset, map[bool]int64{true: 6, false: 5}[commit])
	_, code = p.end(p.endVersion(protocol), who, !commit)
	p.is(fact("the other verdict"), code, kafka.InvalidTxnState)
}

// forgetsExpected: which epoch came before is not in the coordinator's log.
func (p *property) forgetsExpected() {
	who := p.Writer()
	_, code := p.initialise(4, who.TransactionalID, time.Minute, who.ProducerID, who.ProducerEpoch)
	p.is("init with the current epoch", code, kafka.OK)
	again, code := p.initialise(4, who.TransactionalID, time.Minute, who.ProducerID, who.ProducerEpoch)
	p.is("its repeat", fmt.Sprintf("%v %s", code, relative(who, again)), fmt.Sprintf("%v E+1", kafka.OK))
	p.MoveCoordinator(who.TransactionalID)
	_, code = p.initialise(4, who.TransactionalID, time.Minute, who.ProducerID, who.ProducerEpoch)
	p.is("its repeat after a move", code, kafka.ProducerFenced)
}

// movedLeader is P25: the leader of a partition moves, and where a log begins and ends.
func movedLeader(p *property) {
	for _, protocol := range p.protocols() {
		fact := func(what string) string { return named(protocol, "%s", what) }
		tp := stage.Part(p.Topic(1), 0)
		plain, aborts, who := p.Plain(), p.writer(protocol), p.writer(protocol)
		p.Write(tp, plain, 0, "x")  // 0
		p.Write(tp, aborts, 0, "y") // 1
		p.Finish(aborts, false, tp) // 2
		p.Write(tp, who, 0, "a")    // 3
		p.Write(tp, plain, 1, "z")  // 4
		before := p.logged(tp)
		p.MoveLeader(tp)
		p.becomes(fact("after the move"), func() string { return p.logged(tp) }, before)
		p.is(fact("a repeated batch"), p.Write(tp, who, 0, "a"), 3)
		p.is(fact("a repeated plain batch"), p.Write(tp, plain, 1, "z"), 4)
		p.becomes(fact("after the repeats"), func() string { return p.logged(tp) }, before)
		p.is(fact("the next batch"), p.Write(tp, who, 1, "b"), 5)
		_, code := p.produce(p.produceVersion(protocol), tp, who, 3, "gap")
		p.is(fact("a gap"), code, kafka.OutOfOrderSequence)
		p.Finish(who, true, tp)
		p.MoveLeader(tp)
		p.becomes(fact("log"), func() string { return p.Dump(tp) }, "0:x 1:y 2:ABORT 3:a 4:z 5:b 6:COMMIT")
		p.is(fact("last stable offset"), p.stable(tp), 7)
	}
	p.bounds()
	if b, can := p.Backend.(stage.Breaker); can {
		p.heldReplicas(b)
		p.killedReplicas(b)
	}
}

// logged is what a reader and a writer see of a partition.
func (p *property) logged(tp id.TopicPartition) string {
	f, code := p.Fetch(tp, 0, kafka.ReadCommitted, 1<<20)
	return fmt.Sprintf("%v %s; stable %d of %d, aborted %v", code, p.Dump(tp), p.stable(tp), p.high(tp), f.Aborted)
}

// bounds looks at both ends of a log, before and after a move.
func (p *property) bounds() {
	tp := stage.Part(p.Topic(1), 0)
	plain, who := p.Plain(), p.Writer()
	for i := range int32(4) {
		p.Write(tp, plain, i, "x")
	}
	p.Write(tp, who, 0, "a") // 4, open
	p.Write(tp, plain, 4, "y")
	remove := func(to int64) kafka.Code {
		return p.Settle("delete records", func(done func(kafka.Code, error)) { p.DeleteRecords(tp, to, done) })
	}
	p.is("delete records beyond the end", remove(7), kafka.OffsetOutOfRange)
	p.is("delete records", remove(2), kafka.OK)
	for _, moved := range []string{"", ", moved"} {
		fetch := func(isolation kafka.Isolation, at int64) string {
			f, code := p.Fetch(tp, at, isolation, 1<<20)
			if code != kafka.OK {
				return code.String()
			}
			var got []string
			for _, line := range p.Lines(f.Records) {
				got = append(got, line[:strings.Index(line, ":")])
			}
			return strings.Join(got, " ")
		}
		fetched := func(fact string, isolation kafka.Isolation, at int64, want any) {
			p.becomes(fact+moved, func() string { return fetch(isolation, at) }, fmt.Sprint(want))
		}
		p.is("log start"+moved, p.Offset(tp, kafka.Earliest, kafka.ReadCommitted), 2)
		fetched("fetch below the start", kafka.ReadCommitted, 1, kafka.OffsetOutOfRange)
		fetched("fetch at the start", kafka.ReadCommitted, 2, "2 3")
		fetched("fetch at the last stable offset", kafka.ReadCommitted, 4, "")
		fetched("fetch above the last stable offset", kafka.ReadCommitted, 5, "")
		fetched("plain fetch there", kafka.ReadUncommitted, 4, "4 5")
		fetched("fetch at the end", kafka.ReadUncommitted, 6, "")
		fetched("fetch beyond the end", kafka.ReadUncommitted, 7, kafka.OffsetOutOfRange)
		fetched("committed fetch beyond the end", kafka.ReadCommitted, 7, kafka.OffsetOutOfRange)
		if moved == "" {
			p.MoveLeader(tp)
		}
	}
	p.is("delete records of an open transaction", remove(5), kafka.OK)
	p.is("last stable offset after it", p.stable(tp), 5)
	p.Finish(who, true, tp)
	p.is("last stable offset in the end", p.stable(tp), 7)
}
