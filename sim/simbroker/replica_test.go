package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func replicated(c *Config) {
	c.Replication.Factor, c.MinISR, c.ReplicaLag = 3, 2, 2*time.Second
}

// followers are the brokers that follow in a partition of out, in order of preference.
func (r *rig) followers(part int32) []int {
	var out []int
	for _, s := range r.c.Replicas("out", part) {
		if s.LeadsSince < 0 {
			out = append(out, s.Broker)
		}
	}
	return out
}

func (r *rig) inSync(part int32) int {
	n := 0
	for _, s := range r.c.Replicas("out", part) {
		if s.InSync {
			n++
		}
	}
	return n
}

func (r *rig) stall(part int32, brokers ...int) {
	for _, b := range brokers {
		if !r.c.StallReplica("out", part, b) {
			r.t.Fatalf("no replica of out/%d on %d", part, b)
		}
	}
}

func (r *rig) resume(part int32, brokers ...int) {
	for _, b := range brokers {
		r.c.ResumeReplica("out", part, b)
	}
}

func plain(values ...string) []byte {
	return batchOf(identity{pid: -1, epoch: -1}, -1, false, values...)
}

// send produces with given acks, and a timeout of a second.
func (r *rig) send(acks int16, part int32, data []byte) *reply {
	q := produceReq(11, identity{}, part, data)
	q.Acks = acks
	return r.start(int32(r.c.Leader("out", part)), q)
}

func codeOf(a *reply) int16 { return a.resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode }

// Without replicas in sync a write that wants them all is not acknowledged: 7 while they are only slow, 19 once they have
// left the ISR, and what was answered 7 is there after all.
func TestWriteWaitsForItsReplicas(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	r.wait(r.send(-1, 0, plain("a")))
	f := r.followers(0)
	r.stall(0, f...)

	a := r.send(-1, 0, plain("b"))
	r.wait(a)
	equal(t, "slow replicas", codeOf(a), requestTimedOut)
	equal(t, "end", r.c.mustFind("out", 0).log.leo, 2)
	equal(t, "visible end", r.c.Bounds("out", 0).High, 1)
	sameStrings(t, "visible", r.committed(0), "a")

	a = r.send(1, 0, plain("c"))
	r.wait(a)
	equal(t, "acks=1", codeOf(a), ok)
	equal(t, "visible end", r.c.Bounds("out", 0).High, 1)

	r.w.RunFor(4 * time.Second)
	equal(t, "in sync", r.inSync(0), 1)
	equal(t, "the high watermark waits for the minimum", r.c.Bounds("out", 0).High, 1)
	a = r.send(-1, 0, plain("d"))
	r.wait(a)
	equal(t, "too few", codeOf(a), notEnoughReplicas)
	equal(t, "nothing appended", r.c.mustFind("out", 0).log.leo, 3)

	r.resume(0, f...)
	r.w.RunFor(time.Second)
	equal(t, "in sync", r.inSync(0), 3)
	sameStrings(t, "visible after all", r.committed(0), "a", "b", "c")
}

// Acks of 0 get no answer, not even in the order of the connection; an error ends it. Other numbers are refused.
func TestAcks(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	r.wait(r.send(0, 0, plain("a")))
	a := r.send(-1, 0, plain("b"))
	r.wait(a)
	equal(t, "the next answer is for the next request", codeOf(a), ok)
	sameStrings(t, "visible", r.committed(0), "a", "b")
	a = r.send(2, 0, plain("c"))
	r.wait(a)
	equal(t, "acks=2", codeOf(a), invalidAcks)
	q := produceReq(11, identity{}, 7, plain("x"))
	q.Acks = 0
	r.wait(r.start(0, q))
	b := r.start(0, produceReq(11, identity{}, 7, plain("y")))
	r.wait(b)
	equal(t, "the connection ends behind an error", b.err != nil, true)
}

// The minimum of replicas in sync is looked at before everything else that the log knows: also a duplicate is refused.
func TestOrderOfChecksUnderMinISR(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	p := ask1[*kmsg.InitProducerIDResponse](r, 0, func() *kmsg.InitProducerIDRequest {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.Version = 4
		return q
	}())
	x := identity{"", p.ProducerID, p.ProducerEpoch}
	send := func(what string, epoch int16, seq int32, want int16) {
		t.Helper()
		c, _ := r.produce(11, identity{"", x.pid, epoch}, 0, batchOf(identity{"", x.pid, epoch}, seq, false, "x"))
		equal(t, what, c, want)
	}
	send("first", 3, 0, ok)
	r.stall(0, r.followers(0)...)
	send("slow", 3, 1, requestTimedOut)
	send("duplicate of what is not replicated yet", 3, 1, requestTimedOut)
	send("duplicate of what is", 3, 0, ok)
	r.c.ShrinkISR("out", 0, r.followers(0)[0])
	r.c.ShrinkISR("out", 0, r.followers(0)[1])
	send("duplicate", 3, 1, notEnoughReplicas)
	send("old epoch", 2, 0, notEnoughReplicas)
	send("gap", 3, 9, notEnoughReplicas)
	send("next", 3, 2, notEnoughReplicas)
	r.resume(0, r.followers(0)...)
	r.w.RunFor(time.Second)
	send("duplicate", 3, 1, ok)
	send("old epoch", 2, 0, invalidProducerEpoch)
	send("gap", 3, 9, outOfOrderSequence)
	send("next", 3, 2, ok)
	equal(t, "records", r.c.Bounds("out", 0).High, 3)
}

// Before 3.7 the high watermark followed a shrunken ISR, so that a write was committed and answered 20.
func TestTooFewReplicasAfterTheAppend(t *testing.T) {
	for _, c := range []struct {
		profile string
		code    int16
		high    int64
	}{{"k35", notEnoughReplicasAfterAppend, 1}, {"k37", requestTimedOut, 0}, {"k44", requestTimedOut, 0}} {
		r := newRig(t, 1, c.profile, replicated)
		f := r.followers(0)
		r.stall(0, f...)
		q := produceReq(9, identity{}, 0, plain("a"))
		a := r.start(int32(r.c.Leader("out", 0)), q)
		r.w.RunFor(100 * time.Millisecond)
		r.c.ShrinkISR("out", 0, f[0])
		r.c.ShrinkISR("out", 0, f[1])
		equal(t, "the last one stays", r.c.ShrinkISR("out", 0, r.c.Leader("out", 0)), false)
		r.wait(a)
		equal(t, c.profile, codeOf(a), c.code)
		equal(t, c.profile+" high watermark", r.c.Bounds("out", 0).High, c.high)
	}
}

// A follower that lags holds the high watermark back until it leaves the ISR, and comes back when it has caught up.
func TestLaggingFollowerLeavesAndReturns(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	f := r.followers(0)
	r.stall(0, f[0])
	r.w.RunFor(10 * time.Second)
	equal(t, "a follower of a quiet partition stays in sync", r.inSync(0), 3)
	q := produceReq(11, identity{}, 0, plain("a"))
	q.TimeoutMillis = 10_000
	a, before := r.start(int32(r.c.Leader("out", 0)), q), r.w.Now()
	r.wait(a)
	equal(t, "in time", codeOf(a), ok)
	if d := r.w.Now().Sub(before); d > 4*time.Second {
		t.Errorf("the lag was noticed after %v", d)
	}
	equal(t, "in sync", r.inSync(0), 2)
	r.resume(0, f[0])
	r.w.RunFor(time.Second)
	equal(t, "in sync again", r.inSync(0), 3)
}

// A marker that is not on all replicas in sync decides nothing for a reader: the last stable offset stays at the first
// record of the transaction.
func TestStableOffsetWaitsForTheMarkersReplicas(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	x := r.init("a")
	c, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	equal(t, "produce", c, ok)
	f := r.followers(0)
	r.stall(0, f...)
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	r.w.RunFor(time.Second)
	p := r.c.mustFind("out", 0)
	equal(t, "marker is in the log", len(p.log.open), 0)
	equal(t, "stable", r.c.Bounds("out", 0), Bounds{0, 0, 1})
	sameStrings(t, "visible", r.committed(0))
	equal(t, "state", r.state("a"), PrepareCommit)
	got := r.fetch(0, 0, true, 1<<20)
	equal(t, "fetched", len(got.RecordBatches), 0)
	equal(t, "last stable offset", got.LastStableOffset, 0)
	r.resume(0, f...)
	r.settle()
	equal(t, "stable", r.c.Bounds("out", 0), Bounds{0, 2, 2})
	sameStrings(t, "visible", r.committed(0), "x")
	equal(t, "state", r.state("a"), CompleteCommit)
}

// Below the minimum of replicas in sync EndTxn is answered, the transaction stays prepared with the partition named, and the
// coordinator repeats the marker until the ISR is back.
func TestMarkerBelowMinISRIsRepeated(t *testing.T) {
	for _, profile := range []string{"k44", "k41", "k39"} {
		r := newRig(t, 1, profile, replicated)
		x := r.init("a")
		v, ev := int16(12), int16(5)
		if profile == "k39" {
			v, ev = 11, 4
			equal(t, "add", r.add(x, 0), ok)
		}
		c, _ := r.produce(v, x, 0, batchOf(x, 0, true, "x"))
		equal(t, "produce", c, ok)
		f := r.followers(0)
		r.stall(0, f...)
		r.c.ShrinkISR("out", 0, f[0])
		r.c.ShrinkISR("out", 0, f[1])
		equal(t, "end", r.end(ev, x, true).ErrorCode, ok)
		r.w.RunFor(5 * time.Second)
		s, _ := r.c.Transaction("a")
		equal(t, "state", s.State, PrepareCommit)
		equal(t, "init", ask1[*kmsg.InitProducerIDResponse](r, r.coord("a"), r.initReq("a", 4, -1, -1)).ErrorCode, concurrentTransactions)
		equal(t, "nothing appended", r.c.mustFind("out", 0).log.leo, 1)
		r.resume(0, f...)
		r.settle()
		sameStrings(t, "visible", r.committed(0), "x")
	}
}

// Offsets are replicated as well: below the minimum a commit is answered 15, and a value counts when it is on all replicas
// in sync.
func TestOffsetsAreReplicated(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	equal(t, "commit", r.plainOffset("g", 0, 5, ""), ok)
	p := r.c.groupPartition("g")
	for i := range p.replicas {
		if b := p.replicas[i].broker; b != p.leader {
			p.replicas[i].stalls++
		}
	}
	equal(t, "not in time", r.plainOffset("g", 0, 6, ""), coordinatorNotAvailable)
	_, at, _ := r.offset("g", 0, false)
	equal(t, "value", at, 5)
	r.w.RunFor(3 * time.Second)
	equal(t, "in sync", p.inSync(), 1)
	equal(t, "too few", r.plainOffset("g", 0, 7, ""), coordinatorNotAvailable)
	x := r.init("a")
	equal(t, "too few for a transaction", r.txnOffset(5, x, "g", 0, 8, ""), coordinatorNotAvailable)
	for i := range p.replicas {
		p.replicas[i].stalls = 0
	}
	r.w.RunFor(2 * time.Second)
	c, at, _ := r.offset("g", 0, true)
	equal(t, "stable read", c, ok)
	equal(t, "what was not in time counts after all", at, 6)
}

// Metadata names all replicas, those in sync, and those on brokers that are gone.
func TestMetadataShowsReplicas(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	dead := r.followers(0)[1]
	r.c.Node(dead).Crash()
	r.w.RunFor(6 * time.Second)
	q := kmsg.NewPtrMetadataRequest()
	q.Version = 9
	mt := kmsg.NewMetadataRequestTopic()
	mt.Topic = kmsg.StringPtr("out")
	q.Topics = append(q.Topics, mt)
	for _, m := range ask1[*kmsg.MetadataResponse](r, int32(r.c.Leader("out", 0)), q).Topics[0].Partitions {
		equal(t, "replicas", len(m.Replicas), 3)
		equal(t, "in sync", len(m.ISR), 2)
		equal(t, "offline", len(m.OfflineReplicas), 1)
		equal(t, "offline", m.OfflineReplicas[0], int32(dead))
		equal(t, "leader", int(m.Leader), r.c.Leader("out", m.Partition))
		equal(t, "epoch", m.LeaderEpoch, r.c.mustFind("out", m.Partition).leaderEpoch)
	}
}
