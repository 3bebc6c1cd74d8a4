package brokertest

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// introspection is P24: DescribeTransactions, ListTransactions and DescribeProducers tell the same.
func introspection(p *property) {
	for _, protocol := range p.protocols() {
		name := p.Topic(3)
		tp, other, lane := stage.Part(name, 0), stage.Part(name, 1), stage.Part(name, 2)
		group := p.Name("group")
		p.Seed(group, lane, 5, "seed")
		home := p.groupPartition(group)
		who := p.writer(protocol)
		p.told(protocol, "fresh", who, who, kafka.TxnEmpty)
		p.Write(tp, p.Plain(), 0, "plain")

		wall := p.Process.Wall().UnixMilli()
		p.Write(tp, who, 0, "a", "b")
		p.told(protocol, "open", who, who, kafka.TxnOngoing, tp)
		x, _ := p.Transaction(who.TransactionalID)
		p.is(named(protocol, "start is told"), x.StartUnixMs >= wall-1000 && x.StartUnixMs <= wall+60_000, true)
		p.Mark(who, group, lane, 6, "")
		p.told(protocol, "open with offsets", who, who, kafka.TxnOngoing, home, tp)
		p.shows(protocol, "open", who, tp, "from 1, last sequence 1, epoch E+0")
		p.shows(protocol, "open elsewhere", who, other, "unknown")
		q, ok := p.Producer(home, who.ProducerID)
		p.is(named(protocol, "open on the offsets partition"), ok && q.OpenFrom >= 0, true)
		q, _ = p.Producer(tp, who.ProducerID)
		p.is(named(protocol, "coordinator epoch before a marker"), q.CoordinatorEpoch, -1)
		p.is(named(protocol, "the first unstable offset is the open one"), p.stable(tp), q.OpenFrom)

		next := p.Finish(who, true, tp, home)
		p.told(protocol, "committed", who, next, kafka.TxnCompleteCommit)
		p.shows(protocol, "committed", who, tp, "closed, epoch "+epoch(protocol-4))
		q, _ = p.Producer(tp, who.ProducerID)
		p.is(named(protocol, "coordinator epoch after a marker"), q.CoordinatorEpoch >= 0, true)
		x, _ = p.Transaction(who.TransactionalID)
		p.is(named(protocol, "start after the end"), x.StartUnixMs > 0, true)
		p.Write(tp, next, after(protocol, 2), "c")
		p.told(protocol, "open again", who, next, kafka.TxnOngoing, tp)
		p.shows(protocol, "open again", who, tp, fmt.Sprintf("from 4, last sequence %d, epoch %s", after(protocol, 2), epoch(protocol-4)))
		last := p.Finish(next, false, tp)
		p.told(protocol, "aborted", who, last, kafka.TxnCompleteAbort)
		fresh := p.Init(who.TransactionalID, protocol)
		p.told(protocol, "initialised", who, fresh, kafka.TxnEmpty)
		x, _ = p.Transaction(who.TransactionalID)
		p.is(named(protocol, "start after init is none"), x.StartUnixMs == -1, !p.KeepsStart)
		p.filters(protocol, fresh)
	}
	p.unknown()
}

// told compares what the coordinator and the lists of all brokers tell.
func (p *property) told(protocol int16, when string, from, now kafka.Identity, state kafka.TxnState, parts ...id.TopicPartition) {
	slices.SortStableFunc(parts, id.TopicPartition.Compare)
	x := p.Settled(from.TransactionalID)
	p.is(named(protocol, "%s, state", when), x.State, state)
	p.is(named(protocol, "%s, identity", when), relative(from, kafka.Identity{ProducerID: x.ProducerID, ProducerEpoch: x.ProducerEpoch}), relative(from, now))
	p.is(named(protocol, "%s, partitions are told", when), slices.Equal(x.Partitions, parts), true)
	p.is(named(protocol, "%s, timeout", when), x.TimeoutMs, 60_000)
	p.is(named(protocol, "%s, listed", when), p.listed(from.TransactionalID, kmsg.NewPtrListTransactionsRequest(), 0), []string{fmt.Sprintf("%s, same producer id: true", state)})
}

// listed are the lines of all brokers' lists for an id: its state, and whether its producer id is the coordinator's.
func (p *property) listed(transactionalID string, req *kmsg.ListTransactionsRequest, version int16) []string {
	x, _ := p.Transaction(transactionalID)
	m, _ := p.View(-1)
	var lines []string
	for _, node := range m.Brokers {
		req.Version = version
		r, code := p.ask(stage.Node(node), req)
		p.Check(code == kafka.OK, "list of node %d: %v", node, code)
		for _, l := range r.(*kmsg.ListTransactionsResponse).TransactionStates {
			if l.TransactionalID == transactionalID {
				lines = append(lines, fmt.Sprintf("%s, same producer id: %t", l.TransactionState, l.ProducerID == x.ProducerID))
			}
		}
	}
	return lines
}

// shows compares what a partition's leader knows.
func (p *property) shows(protocol int16, when string, from kafka.Identity, tp id.TopicPartition, want string) {
	q, ok := p.Producer(tp, from.ProducerID)
	got := "unknown"
	at := kafka.Identity{ProducerID: q.ProducerID, ProducerEpoch: int16(q.ProducerEpoch)}
	switch {
	case ok && q.OpenFrom >= 0:
		got = fmt.Sprintf("from %d, last sequence %d, epoch %s", q.OpenFrom, q.LastSequence, relative(from, at))
	case ok:
		got = "closed, epoch " + relative(from, at)
	}
	p.is(named(protocol, "producers, %s", when), got, want)
}

// filters looks at those of ListTransactions.
func (p *property) filters(protocol int16, who kafka.Identity) {
	tp := stage.Part(p.Topic(1), 0)
	p.Write(tp, who, 0, "a")
	list := func(version int16, set func(*kmsg.ListTransactionsRequest)) int {
		req := kmsg.NewPtrListTransactionsRequest()
		set(req)
		return len(p.listed(who.TransactionalID, req, version))
	}
	p.is(named(protocol, "list of its state"), list(0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Empty", "Ongoing"} }), 1)
	p.is(named(protocol, "list of other states"), list(0, func(r *kmsg.ListTransactionsRequest) { r.StateFilters = []string{"Empty", "CompleteCommit"} }), 0)
	p.is(named(protocol, "list of its producer id"), list(0, func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{1 << 50, who.ProducerID} }), 1)
	p.is(named(protocol, "list of other producer ids"), list(0, func(r *kmsg.ListTransactionsRequest) { r.ProducerIDFilters = []int64{1 << 50} }), 0)
	max := p.Features.Max(kmsg.NewPtrListTransactionsRequest().Key())
	p.is(named(protocol, "duration is offered"), max >= 1, p.ListsDuration)
	p.is(named(protocol, "pattern is offered"), max >= 2, p.ListsPattern)
	if p.ListsDuration && max >= 1 {
		p.is(named(protocol, "list of those open for 0 ms"), list(1, func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 0 }), 1)
		p.is(named(protocol, "list of those open for an hour"), list(1, func(r *kmsg.ListTransactionsRequest) { r.DurationFilterMillis = 3_600_000 }), 0)
	}
	if p.ListsPattern && max >= 2 {
		pattern := "txn-.*" + who.TransactionalID[len(who.TransactionalID)-4:]
		p.is(named(protocol, "list of its pattern"), list(2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = &pattern }), 1)
		other := "nothing-.*"
		p.is(named(protocol, "list of another pattern"), list(2, func(r *kmsg.ListTransactionsRequest) { r.TransactionalIDPattern = &other }), 0)
	}
	p.Finish(who, false, tp)
}

// unknown looks at what is not there.
func (p *property) unknown() {
	_, code := p.Transaction(p.Name("unknown"))
	p.is("describe of an unknown id", code, kafka.TransactionalIDNotFound)
}
