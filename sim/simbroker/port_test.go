package simbroker

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/sim"
)

// A request is two messages. The sender of a lost one, in either direction, must not be told which it was.
func TestLostAndRepeatedRequests(t *testing.T) {
	const endTxn = 26
	cases := []struct {
		name     string
		effect   sim.Effect
		answered bool // without error
		applied  bool // by when the sender knows
		later    bool // in the end
	}{
		{"lose request", sim.LoseRequest, false, false, false},
		{"lose reply", sim.LoseReply, false, true, true},
		{"late request", sim.LateRequest, false, false, true},
		{"late reply", sim.LateReply, true, true, true},
		{"repeat", sim.Repeat, false, true, true},
	}
	for _, c := range cases {
		r := newRig(t, 1, "k44")
		x := r.init("a")
		r.produce(12, x, 0, batchOf(x, 0, true, "x"))
		struck := 0
		r.w.FaultRequests(sim.RequestFault{
			Key: endTxn, Node: "client", Effect: c.effect, Delay: 3 * time.Second, Count: 1, Struck: func() { struck++ },
		})
		a := r.start(r.coord("a"), endReq(5, x, true))
		r.wait(a)
		equal(t, c.name+" struck", struck, 1)
		equal(t, c.name+" answered", a.err == nil, c.answered)
		equal(t, c.name+" is unknown", errors.Is(a.err, broker.ErrNotSent), false)
		r.w.RunFor(time.Second)
		equal(t, c.name+" applied", r.state("a") == CompleteCommit, c.applied)
		r.w.RunFor(5 * time.Second)
		equal(t, c.name+" in the end", r.state("a") == CompleteCommit, c.later)
		s, _ := r.c.Transaction("a")
		if c.later {
			equal(t, c.name+" once", s.Epoch, x.epoch+1)
		}
		e := r.end(5, x, true)
		equal(t, c.name+" repeat by hand", e.ErrorCode, ok)
	}
}

// Under the old protocol a repeated EndTxn ends the next transaction of the id. Under the new one it does nothing.
func TestRepeatedEndTxnMeetsNextTransaction(t *testing.T) {
	for _, tv2 := range []bool{false, true} {
		r := newRig(t, 1, "k44")
		x := r.init("a")
		v, ev := int16(11), int16(4)
		begin := func() {}
		if tv2 {
			v, ev = 12, 5
		} else {
			begin = func() { equal(t, "add", r.add(x, 0), ok) }
		}
		begin()
		r.produce(v, x, 0, batchOf(x, 0, true, "one"))
		r.w.FaultRequests(sim.RequestFault{Key: 26, Effect: sim.Repeat, Delay: 2 * time.Second, Count: 1})
		r.wait(r.start(r.coord("a"), endReq(ev, x, true)))
		r.settle()
		seq := int32(1)
		if tv2 {
			seq, x.epoch = 0, x.epoch+1
		}
		begin()
		code, _ := r.produce(v, x, 0, batchOf(x, seq, true, "half"))
		equal(t, "second transaction", code, ok)
		r.w.RunFor(4 * time.Second)
		if tv2 {
			equal(t, "untouched", r.state("a"), Ongoing)
			sameStrings(t, "visible", r.committed(0), "one")
		} else {
			equal(t, "cut", r.state("a"), CompleteCommit)
			sameStrings(t, "half of it published", r.committed(0), "one", "half")
		}
	}
}

// The definite error is given only when nothing can have arrived.
func TestRefusedIsNotSent(t *testing.T) {
	r := newRig(t, 1, "k44")
	r.c.Node(0).Crash()
	a := r.start(0, kmsg.NewPtrApiVersionsRequest())
	r.wait(a)
	equal(t, "not sent", errors.Is(a.err, broker.ErrNotSent), true)
	a = r.start(77, kmsg.NewPtrApiVersionsRequest())
	r.wait(a)
	equal(t, "no such broker", errors.Is(a.err, broker.ErrNotSent), true)

	r.start(1, fetchReq(0, 0, true, 100, time.Minute))
	leader := r.c.Leader("out", 0)
	slow := r.start(int32(leader), fetchReq(0, 0, true, 100, time.Minute))
	behind := r.start(int32(leader), kmsg.NewPtrApiVersionsRequest())
	r.w.RunFor(time.Second)
	equal(t, "waits behind the long poll", behind.done, false)
	r.c.Node(leader).Crash()
	r.wait(slow)
	r.wait(behind)
	equal(t, "in flight at a crash is unknown", slow.err != nil && !errors.Is(slow.err, broker.ErrNotSent), true)
	equal(t, "so is what is behind it", behind.err != nil && !errors.Is(behind.err, broker.ErrNotSent), true)
}

// Bootstrap finds a living broker, and the connection comes back after a break.
func TestBootstrapGoesOn(t *testing.T) {
	r := newRig(t, 1, "k44")
	r.c.Node(0).Crash()
	r.c.Node(1).Crash()
	answered := false
	for range 4 {
		q := kmsg.NewPtrMetadataRequest()
		q.Version = 12
		a := r.start(broker.Bootstrap, q)
		r.wait(a)
		if a.err == nil {
			answered = true
			m := a.resp.(*kmsg.MetadataResponse)
			equal(t, "topics", len(m.Topics), 2)
		}
	}
	equal(t, "answered", answered, true)
}

// What one loop has in flight dies with the loop, and never comes to the next one.
func TestClosedLoopHearsNothing(t *testing.T) {
	r := newRig(t, 1, "k44")
	a := r.start(int32(r.c.Leader("out", 0)), fetchReq(0, 0, true, 100, time.Second))
	r.w.RunFor(100 * time.Millisecond)
	r.loop.Close()
	r.w.RunFor(5 * time.Second)
	equal(t, "silent", a.done, false)
	r.loop = r.node.NewLoop("next")
	r.port = r.c.Requests(r.node, r.loop, broker.Control)
	b := r.start(0, kmsg.NewPtrApiVersionsRequest())
	r.wait(b)
	equal(t, "next loop works", b.err, nil)
}

// A coordinator that is cut off from a leader keeps the transaction prepared, and finishes when the cut ends.
func TestMarkersAcrossACut(t *testing.T) {
	r := newRig(t, 1, "k41")
	x := r.init("a")
	coord := r.c.Coordinator("a")
	r.c.MoveLeader("out", 0, (coord+1)%3)
	r.w.RunFor(10 * time.Millisecond)
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	a, b := r.c.Node(coord), r.c.Node((coord+1)%3)
	r.w.Cut(a, b)
	r.w.Cut(b, a)
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	r.w.RunFor(30 * time.Second)
	equal(t, "prepared", r.state("a"), PrepareCommit)
	r.w.MendAll()
	r.settle()
	sameStrings(t, "visible", r.committed(0), "x")
}

func TestNewPartitionsBecomeVisibleOneByOne(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.Visible = Span{20 * time.Millisecond, 300 * time.Millisecond} })
	q := kmsg.NewPtrCreatePartitionsRequest()
	q.Version = 3
	q.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "out", Count: 4}}
	equal(t, "create", ask1[*kmsg.CreatePartitionsResponse](r, 0, q).Topics[0].ErrorCode, ok)
	equal(t, "at once", r.plainOffset("g", 3, 1, ""), unknownTopicOrPartition)
	r.w.RunFor(time.Second)
	equal(t, "later", r.plainOffset("g", 3, 1, ""), ok)
	create := func() int16 {
		q := kmsg.NewPtrCreateTopicsRequest()
		q.Version = 7
		q.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "new", NumPartitions: 2, ReplicationFactor: 1}}
		return ask1[*kmsg.CreateTopicsResponse](r, 0, q).Topics[0].ErrorCode
	}
	equal(t, "create", create(), ok)
	equal(t, "again", create(), topicAlreadyExists)
	q.Topics[0].Count = 2
	equal(t, "fewer", ask1[*kmsg.CreatePartitionsResponse](r, 0, q).Topics[0].ErrorCode, invalidPartitions)
}

// The fence of older generations is found by listing and describing: what is left out there stays open.
func TestIntrospectionFollowsTransactions(t *testing.T) {
	r := newRig(t, 1, "k44")
	for _, id := range []string{"onefold.j.s.g1.0.0", "onefold.j.s.g1.0.1", "onefold.j.s.g2.0.0", "stranger"} {
		r.init(id)
	}
	list := func(profile *rig, v int16, pattern *string, states ...string) int {
		n := 0
		for b := range int32(3) {
			q := kmsg.NewPtrListTransactionsRequest()
			q.Version, q.StateFilters, q.TransactionalIDPattern = v, states, pattern
			l := ask1[*kmsg.ListTransactionsResponse](profile, b, q)
			n += len(l.TransactionStates)
		}
		return n
	}
	x := r.init("stranger")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	pattern := "onefold\\.j\\.s\\..*"
	equal(t, "all", list(r, 0, nil), 4)
	equal(t, "ongoing", list(r, 0, nil, "Ongoing"), 1)
	equal(t, "empty", list(r, 0, nil, "Empty"), 3)
	equal(t, "pattern", list(r, 2, &pattern), 3)
	equal(t, "older versions drop the pattern", list(r, 0, &pattern), 4)
	q := kmsg.NewPtrDescribeTransactionsRequest()
	q.TransactionalIDs = []string{"stranger"}
	d := ask1[*kmsg.DescribeTransactionsResponse](r, r.coord("stranger"), q).TransactionStates[0]
	equal(t, "state", d.State, "Ongoing")
	equal(t, "topic", d.Topics[0].Topic, "out")
	q.TransactionalIDs = []string{"nobody"}
	equal(t, "unknown", ask1[*kmsg.DescribeTransactionsResponse](r, r.coord("nobody"), q).TransactionStates[0].ErrorCode,
		transactionalIDNotFound)
	v := kmsg.NewPtrApiVersionsRequest()
	v.Version = 4
	a := ask1[*kmsg.ApiVersionsResponse](r, 0, v)
	equal(t, "feature", a.FinalizedFeatures[0].MaxVersionLevel, 2)
	a = ask1[*kmsg.ApiVersionsResponse](newRig(t, 1, "k39"), 0, v)
	equal(t, "no feature", len(a.FinalizedFeatures), 0)
	c := kmsg.NewPtrDescribeConfigsRequest()
	c.Version = 4
	c.Resources = []kmsg.DescribeConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "0",
		ConfigNames: []string{"transaction.max.timeout.ms"},
	}}
	configs := ask1[*kmsg.DescribeConfigsResponse](r, 0, c).Resources[0].Configs
	equal(t, "one config", len(configs), 1)
	equal(t, "maximum", *configs[0].Value, "900000")
}

// The same seed takes the same steps; another takes others.
func TestSameSeedSameTrace(t *testing.T) {
	run := func(seed uint64) uint64 {
		r := newRig(t, seed, "k44")
		x := r.init("a")
		for p := range int32(3) {
			r.produce(12, x, p, batchOf(x, 0, true, "x"))
		}
		r.txnOffset(5, x, "g", 0, 1, "m")
		r.start(r.coord("a"), endReq(5, x, true))
		r.w.RunFor(2 * time.Millisecond)
		r.c.Node(r.c.Coordinator("a")).Restart()
		r.w.RunFor(20 * time.Second)
		r.alive()
		return r.w.TraceHash()
	}
	for seed := range uint64(20) {
		if a, b := run(seed), run(seed); a != b {
			t.Fatalf("seed %d: %x and %x", seed, a, b)
		}
	}
	if run(1) == run(2) {
		t.Error("two seeds, one trace")
	}
}

// A broker that says nothing is given up, and the outcome is unknown: it may still do what it was asked.
func TestSilentBrokerIsGivenUp(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.Session = Span{time.Hour, time.Hour} })
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	n := r.c.Node(r.c.Coordinator("a"))
	n.Pause(0)
	a := r.start(r.coord("a"), endReq(5, x, true))
	r.w.RunFor(14 * time.Second)
	equal(t, "waits", a.done, false)
	r.wait(a)
	equal(t, "unknown", a.err != nil && !errors.Is(a.err, broker.ErrNotSent), true)
	equal(t, "not done", r.state("a"), Ongoing)
	n.Resume()
	r.settle()
	equal(t, "answer of a fresh connection", r.end(5, x, true).ErrorCode, ok)
	r.settle()
	sameStrings(t, "visible", r.committed(0), "x")
}

// Deleting a topic ends what waits for it.
func TestDeletedTopicEndsTransaction(t *testing.T) {
	r := newRig(t, 1, "k41")
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	r.plainOffset("g", 0, 1, "")
	r.c.TakeLeader("out", 0)
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	r.w.RunFor(time.Second)
	equal(t, "waits", r.state("a"), PrepareCommit)
	equal(t, "delete", r.c.DeleteTopic("out"), true)
	r.settle()
	equal(t, "complete", r.state("a"), CompleteCommit)
	equal(t, "offset gone", r.c.Offsets("g")[0].Offset, -1)
}
