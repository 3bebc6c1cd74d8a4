package hazard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

// clients are the hazards that live in clients, or between a client and one connection.
var clients = []Hazard{
	{
		Number: 34, Title: "list by prefix lists everybody",
		Story:    "ListTransactions knows a pattern from 4.1 on. Below, the pattern is not sent, and the answer has all ids of the cluster: whoever fences what it lists fences strangers.",
		Where:    Places{{To: "k401"}},
		ClosedBy: "4.1; the client filters by itself",
		Show:     listByPrefix,
		Control:  "fences-strangers",
		Engine: []Trial{
			{Plan: "hazards/H34-stranger", Profiles: []string{"k37", "k39", "k400", "k44"}, Evidence: []Evidence{struck, said("stranger:", "transactions committed"), reached("simbroker: open transaction fenced")}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 37, Title: "guard poisoned by the first batch",
		Story:     "The first batch of a transaction of the old protocol is refused, or is a repetition. The sequence that is due next is answered 45 on that partition until the transaction has ended.",
		Where:     Places{{From: "k37"}},
		ClosedBy:  "the checkpoint is declined and the transaction ended; with one batch in flight and an id initialised between uses it does not come about",
		Show:      guardPoisoned,
		NoControl: "it needs two batches in flight, or an id used again without an initialisation: the engine's producer has neither",
		Engine: []Trial{
			{Plan: "hazards/H37-first-batch-repeated", Profiles: []string{"k37", "k39", "k44-tv1"}, Evidence: []Evidence{struck, reached("simbroker: duplicate batch recognised")}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 39, Title: "flush does not tell",
		Story:    "After a fence or a timeout franz-go's Flush returns without an error: only the promises of the records tell that they are not there.",
		Where:    Places{},
		ClosedBy: "count promises; engine/kafka's Flush fails",
		Show:     flushSilent,
		Control:  "record-lost",
		Engine: []Trial{
			{Plan: "zombie-taskmanager", Profiles: []string{"k39", "k44"}, Evidence: []Evidence{struck, reached("simbroker: open transaction fenced")}},
			{Plan: "timeout-after-completed", Evidence: []Evidence{struck, reached("simbroker: transaction timed out")}},
		},
		Real: Real{Feasible: true, Note: "one broker, by franz-go's client: a test of this package"},
	},
	{
		Number: 45, Title: "pipelined requests lost when the socket closes",
		Story:     "A client writes several requests and is gone. The broker works on the one that it has read, and on one that it reads behind it; the others are lost.",
		Where:     everywhere,
		ClosedBy:  "two frames in one write at most, each repair by itself",
		Show:      thirdLost,
		Cure:      pairWorks,
		NoControl: "the port has one call for a pair, and none for more",
		Engine: []Trial{
			{Plan: "hazards/H45-repair-in-one-write", Evidence: []Evidence{struck, withoutRights, reached(markerWasDropped), reached(repairWasSent)}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
}

// listTransactionsKey is the key of the request whose pattern is known from version 2 on.
const listTransactionsKey = 66

// listByPrefix lists ids by a pattern at the highest version that the broker offers: below version 2 the pattern is not a
// part of the request, and nobody says so.
func listByPrefix(t *Scene) (seen bool, what string) {
	mine, stranger := t.Writer(), t.Init(t.Name("stranger"), t.Protocol)
	version := min(2, t.Features.Max(listTransactionsKey))
	m, _ := t.View(broker.Bootstrap)
	var found []string
	for _, node := range m.Brokers {
		req := kmsg.NewPtrListTransactionsRequest()
		req.Version, req.TransactionalIDPattern = version, kmsg.StringPtr("txn-.*")
		r, code := t.Answer(stage.Node(node), req, func(r kmsg.Response) kafka.Code {
			return kafka.Code(r.(*kmsg.ListTransactionsResponse).ErrorCode)
		})
		t.Check(code == kafka.OK, "list of broker %d: %v", node, code)
		for _, x := range r.(*kmsg.ListTransactionsResponse).TransactionStates {
			if id := x.TransactionalID; id == mine.TransactionalID || id == stranger.TransactionalID {
				found = append(found, strings.SplitN(id, "-", 2)[0])
			}
		}
	}
	slices.Sort(found)
	all := strings.Join(found, " ")
	t.Check(strings.Contains(all, "txn"), "the id asked for is not listed: %s", all)
	return strings.Contains(all, "stranger"), fmt.Sprintf("ListTransactions v%d by \"txn-.*\" lists: %s", version, all)
}

// guardPoisoned begins a transaction of the old protocol with a repeated batch. It is answered as a repetition, and the
// sequence that is due next is refused until the transaction has ended.
func guardPoisoned(t *Scene) (seen bool, what string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Init(t.Name("txn"), 4)
	t.Write(tp, who, 0, "a")
	t.Write(tp, who, 1, "b")
	t.Finish(who, true, tp)
	t.Join(who, tp)
	repeated, code := t.Send(tp, who, 1, "b")
	t.Check(code == kafka.OK && repeated.Offset == 1, "the repeated batch: %v at %d", code, repeated.Offset)
	_, due := t.Send(tp, who, 2, "c")
	_, again := t.Send(tp, who, 2, "c")
	_, code = t.End(who, false)
	t.Check(code == kafka.OK, "end: %v", code)
	t.Settled(who.TransactionalID)
	t.Join(who, tp)
	next := int32(2)
	if due == kafka.OK {
		next = 3
	}
	_, code = t.Send(tp, who, next, "d")
	t.Check(code == kafka.OK, "in the next transaction: %v", code)
	t.Finish(who, true, tp)
	return due == kafka.OutOfOrderSequence && again == due, fmt.Sprintf("first batch repeated: 0; sequence 2, which is due: %v, again: %v; in the next transaction: %v", due, again, code)
}

// flushSilent writes under an identity that was fenced and flushes. This is about clients, not brokers: what is asked here is
// the engine's producer, whose Flush says so; a test of this package asks franz-go's, whose does not.
func flushSilent(t *Scene) (seen bool, what string) {
	name := t.Topic(1)
	who := t.Writer()
	t.Write(stage.Part(name, 0), who, 0, "a")
	t.Init(who.TransactionalID, who.Protocol)
	t.Closed(who, stage.Part(name, 0))
	p := t.NewProducer(kafka.ProducerConfig{Identity: who})
	defer p.Close()
	err := p.Append(name, 0, []byte("k"), []byte("b"), nil, 1_700_000_000_000)
	t.Check(err == nil, "append: %v", err)
	t.Do(func(done func()) { p.Flush(func(e error) { err = e; done() }) })
	t.Holds(stage.Part(name, 0), "0:a 1:ABORT")
	return err == nil, fmt.Sprintf("engine/kafka: produce after a fence, Flush: %v", err)
}

// hasty writes so many InitProducerId and closes the connection, some times, each for an id of its own, so that one sees
// afterwards which were worked on. It returns how often each of them was.
func hasty(t *Scene, requests, rounds int) []int {
	w, ok := t.Backend.(Wire)
	t.Check(ok, "%s gives no connection away", t.Backend.Name())
	done := make([]int, requests)
	for range rounds {
		var ids []string
		var reqs []kmsg.Request
		node := int32(-1)
		for len(ids) < requests {
			name := t.Name("txn")
			at := t.Find(stage.TxnCoordinator(name))
			if node >= 0 && at != node {
				continue
			}
			node = at
			req := kmsg.NewPtrInitProducerIDRequest()
			req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, kmsg.StringPtr(name), 60_000
			req.ProducerID, req.ProducerEpoch = -1, -1
			ids, reqs = append(ids, name), append(reqs, req)
		}
		err := w.WriteAndClose(node, reqs)
		t.Check(err == nil, "write and close: %v", err)
		t.Sleep(300 * time.Millisecond)
		for i, name := range ids {
			if _, code := t.Transaction(name); code != kafka.TransactionalIDNotFound {
				done[i]++
			}
		}
	}
	return done
}

// thirdLost writes three requests.
func thirdLost(t *Scene) (seen bool, what string) {
	const rounds = 20
	done := hasty(t, 3, rounds)
	return done[2] < done[0], fmt.Sprintf("three InitProducerId in one write, connection closed at once, %d times: the first was worked on %d times, the second %d, the third %d",
		rounds, done[0], done[1], done[2])
}

// pairWorks writes two.
func pairWorks(t *Scene) string {
	const rounds = 10
	done := hasty(t, 2, rounds)
	t.Check(done[0] == rounds && done[1] == rounds, "of %d pairs the first was worked on %d times, the second %d", rounds, done[0], done[1])
	return fmt.Sprintf("of %d pairs both requests were worked on", rounds)
}
