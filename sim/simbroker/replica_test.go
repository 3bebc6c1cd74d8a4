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

// What all replicas in sync have survives the leader; the rest lives or dies, and the old leader forgets it.
func TestCleanElection(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	for part := range int32(3) {
		r.wait(r.send(-1, part, plain("kept")))
	}
	part := int32(0)
	old := r.c.Leader("out", part)
	f := r.followers(part)
	r.stall(part, f...)
	for _, v := range []string{"lost", "lost, too"} {
		a := r.send(1, part, plain(v))
		r.wait(a)
		equal(t, "acks=1", codeOf(a), ok)
	}
	waiting := r.send(-1, part, plain("unknown"))
	r.w.RunFor(10 * time.Millisecond)
	r.c.Node(old).Crash()
	r.resume(part, f...)
	r.wait(waiting)
	equal(t, "a dead leader does not answer", waiting.err != nil, true)
	r.w.RunFor(6 * time.Second)
	now := r.c.Leader("out", part)
	equal(t, "the first of those in sync leads", now, f[0])
	equal(t, "in sync", r.inSync(part), 2)
	sameStrings(t, "visible", r.committed(part), "kept")
	r.wait(r.send(-1, part, plain("new")))

	r.c.Node(old).Start()
	r.w.RunFor(3 * time.Second)
	for _, s := range r.c.Replicas("out", part) {
		equal(t, "diverges", s.Diverges, false)
		equal(t, "in sync", s.InSync, true)
		equal(t, "end", s.End, 2)
	}
	equal(t, "leadership stays", r.c.Leader("out", part), now)
	equal(t, "moves back", r.c.MoveLeader("out", part, old), true)
	r.w.RunFor(time.Second)
	sameStrings(t, "visible", r.committed(part), "kept", "new")
	equal(t, "nothing that was visible is gone", len(r.c.Truncations()), 0)
}

// A writer that waits when leadership moves is told 6, and its repeat is a duplicate or not, as the new leader has it.
func TestMoveWhileWritesWait(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	p := ask1[*kmsg.InitProducerIDResponse](r, 0, func() *kmsg.InitProducerIDRequest {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.Version = 4
		return q
	}())
	x := identity{"", p.ProducerID, p.ProducerEpoch}
	f := r.followers(0)
	r.stall(0, f...)
	q := produceReq(11, x, 0, batchOf(x, 0, false, "a"))
	q.TimeoutMillis = 10_000
	a := r.start(int32(r.c.Leader("out", 0)), q)
	r.w.RunFor(50 * time.Millisecond)
	equal(t, "moved", r.c.MoveLeader("out", 0, f[1]), true)
	r.resume(0, f...)
	r.wait(a)
	equal(t, "told", codeOf(a), notLeader)
	c, base := r.produce(11, x, 0, batchOf(x, 0, false, "a"))
	equal(t, "again", c, ok)
	equal(t, "offset", base, 0)
	sameStrings(t, "once", r.committed(0), "a")
}

// Guards die with the leader: a first batch that is being verified is refused, and verified anew.
func TestGuardsAreLostAtAnElection(t *testing.T) {
	r := newRig(t, 1, "k41", replicated)
	x := r.init("a")
	old := int32(r.c.Leader("out", 0))
	for r.coord("a") == old || int(r.coord("a")) == r.followers(0)[0] { // asking takes a while
		r.c.MoveCoordinator("a", int(r.coord("a")+1)%3)
		r.w.RunFor(200 * time.Millisecond)
	}
	a := r.start(old, produceReq(12, x, 0, batchOf(x, 0, true, "x")))
	p := r.c.mustFind("out", 0)
	r.w.RunUntil(func() bool { return len(p.log.guards) > 0 }, r.w.Now().Add(time.Second))
	r.c.MoveLeader("out", 0, r.followers(0)[0])
	r.c.MoveLeader("out", 0, int(old))
	r.wait(a)
	equal(t, "guard is gone", codeOf(a), invalidTxnState)
	c, _ := r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	equal(t, "again", c, ok)
}

// Without a replica in sync there is no leader, unless the topic allows one that is not.
func TestUncleanElectionIsAnOption(t *testing.T) {
	for _, unclean := range []bool{false, true} {
		r := newRig(t, 1, "k44", replicated, func(c *Config) { c.UncleanElection = unclean; c.MinISR = 1 })
		f, old := r.followers(0), r.c.Leader("out", 0)
		r.wait(r.send(-1, 0, plain("kept")))
		r.stall(0, f...)
		r.w.RunFor(50 * time.Millisecond)
		r.c.ShrinkISR("out", 0, f[0])
		r.c.ShrinkISR("out", 0, f[1])
		a := r.send(-1, 0, plain("acknowledged"))
		r.wait(a)
		equal(t, "acknowledged by one", codeOf(a), ok)
		r.c.Node(old).Crash()
		r.resume(0, f...)
		r.w.RunFor(6 * time.Second)
		if !unclean {
			equal(t, "no leader", r.c.Leader("out", 0), -1)
			r.c.Node(old).Start()
			r.settle()
			sameStrings(t, "nothing is lost", r.committed(0), "kept", "acknowledged")
			continue
		}
		equal(t, "leader", r.c.Leader("out", 0), f[0])
		sameStrings(t, "acknowledged and lost", r.committed(0), "kept")
		equal(t, "truncations", len(r.c.Truncations()), 1)
		r.wait(r.send(-1, 0, plain("other")))
		r.c.Node(old).Start()
		r.w.RunFor(3 * time.Second)
		equal(t, "old leader moves back", r.c.MoveLeader("out", 0, old), true)
		r.settle()
		sameStrings(t, "old leader has truncated", r.committed(0), "kept", "other")
	}
}

// An election that loses a marker and keeps the records opens the transaction again, for ever; the next transaction of the
// producer decides it (H12).
func TestUncleanElectionLosesAMarker(t *testing.T) {
	r := newRig(t, 1, "k39", replicated, func(c *Config) { c.MinISR = 1 })
	x := r.init("a")
	equal(t, "add", r.add(x, 0), ok)
	c, _ := r.produce(11, x, 0, batchOf(x, 0, true, "aborted"))
	equal(t, "produce", c, ok)
	r.w.RunFor(time.Second)
	f := r.followers(0)
	r.stall(0, f...)
	r.c.ShrinkISR("out", 0, f[0])
	r.c.ShrinkISR("out", 0, f[1])
	equal(t, "abort", r.end(4, x, false).ErrorCode, ok)
	r.settle()
	equal(t, "unclean", r.c.ElectUnclean("out", 0, f[0]), true)
	r.resume(0, f...)
	r.w.RunFor(2 * time.Second)
	equal(t, "complete for the coordinator", r.state("a"), CompleteAbort)
	equal(t, "open for the partition", r.c.Bounds("out", 0), Bounds{0, 0, 1})
	equal(t, "add", r.add(x, 0), ok)
	c, _ = r.produce(11, x, 0, batchOf(x, 1, true, "committed"))
	equal(t, "next transaction", c, ok)
	equal(t, "commit", r.end(4, x, true).ErrorCode, ok)
	r.settle()
	sameStrings(t, "what was aborted is glued to what is committed", r.committed(0), "aborted", "committed")
}

// A new leader says "not available" to who asks for the end, until it knows what its replicas have.
func TestOffsetNotAvailableAfterAnElection(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	r.wait(r.send(-1, 0, plain("a")))
	r.w.RunFor(time.Second)
	f := r.followers(0)
	list := func(version int16, at int64) (int16, int64) {
		q := kmsg.NewPtrListOffsetsRequest()
		q.Version, q.ReplicaID = version, -1
		lt := kmsg.NewListOffsetsRequestTopic()
		lt.Topic = "out"
		lp := kmsg.NewListOffsetsRequestTopicPartition()
		lp.Timestamp = at
		lt.Partitions = append(lt.Partitions, lp)
		q.Topics = append(q.Topics, lt)
		p := ask1[*kmsg.ListOffsetsResponse](r, int32(r.c.Leader("out", 0)), q).Topics[0].Partitions[0]
		return p.ErrorCode, p.Offset
	}
	c, at := list(5, -1)
	equal(t, "end", c, ok)
	equal(t, "end", at, 1)
	r.c.StallReplicas(0)
	r.c.StallReplicas(1)
	r.c.StallReplicas(2)
	a := r.send(-1, 0, plain("b"))
	r.w.RunFor(20 * time.Millisecond)
	r.c.ResumeReplicas(f[0])
	r.w.RunFor(20 * time.Millisecond) // f[0] has b, and the leader cannot commit it
	r.c.StallReplicas(f[0])
	r.c.MoveLeader("out", 0, f[0])
	r.wait(a)
	c, _ = list(5, -1)
	equal(t, "end", c, offsetNotAvailable)
	c, _ = list(4, -1)
	equal(t, "end, as older clients are told", c, leaderNotAvailable)
	c, at = list(5, -2)
	equal(t, "start", c, ok)
	equal(t, "start", at, 0)
	for i := range 3 {
		r.c.ResumeReplicas(i)
	}
	r.w.RunFor(2 * time.Second)
	c, at = list(5, -1)
	equal(t, "end", c, ok)
	equal(t, "what was unknown lives", at, 2)
}

// The end of a term tells a reader that what it has read was truncated.
func TestOffsetForLeaderEpoch(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	end := func(epoch, current int32) (int16, int32, int64) {
		q := kmsg.NewPtrOffsetForLeaderEpochRequest()
		q.Version, q.ReplicaID = 4, -1
		et := kmsg.NewOffsetForLeaderEpochRequestTopic()
		et.Topic = "out"
		ep := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		ep.LeaderEpoch, ep.CurrentLeaderEpoch = epoch, current
		et.Partitions = append(et.Partitions, ep)
		q.Topics = append(q.Topics, et)
		p := ask1[*kmsg.OffsetForLeaderEpochResponse](r, int32(r.c.Leader("out", 0)), q).Topics[0].Partitions[0]
		return p.ErrorCode, p.LeaderEpoch, p.EndOffset
	}
	r.wait(r.send(-1, 0, plain("a", "b")))
	r.c.MoveLeader("out", 0, r.followers(0)[0])
	r.wait(r.send(-1, 0, plain("c")))
	r.c.MoveLeader("out", 0, r.followers(0)[1])
	r.w.RunFor(time.Second)
	for _, want := range []struct {
		epoch int32
		known int32
		end   int64
	}{{0, 0, 2}, {1, 1, 3}, {2, 2, 3}, {9, 2, 3}} {
		c, known, at := end(want.epoch, -1)
		equal(t, "code", c, ok)
		equal(t, "epoch", known, want.known)
		equal(t, "end", at, want.end)
	}
	c, _, _ := end(0, 1)
	equal(t, "older", c, fencedLeaderEpoch)
	c, _, _ = end(0, 3)
	equal(t, "newer", c, unknownLeaderEpoch)
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

// All brokers die at once: the first one that is back leads alone, below the minimum, and what it has is committed as soon as
// enough replicas are in sync again, though nobody writes any more.
func TestAllReplicasDie(t *testing.T) {
	for seed := range uint64(20) {
		r := newRig(t, seed, "k44", replicated)
		r.wait(r.send(-1, 0, plain("a")))
		r.c.Append("out", 1, []Record{{Value: []byte("b")}})
		r.stall(0, r.followers(0)...)
		r.wait(r.send(1, 0, plain("unknown")))
		r.resume(0, r.followers(0)...)
		for i := range 3 {
			r.c.Node(i).Crash()
		}
		r.w.RunFor(time.Duration(seed) * 500 * time.Millisecond)
		for i := range 3 {
			r.c.Node(i).Start()
		}
		r.settle()
		r.w.RunFor(3 * time.Second)
		for part := range int32(3) {
			p := r.c.mustFind("out", part)
			equal(t, "high watermark", p.log.hw, p.log.leo)
			equal(t, "in sync", r.inSync(part), 3)
		}
		equal(t, "acknowledged", r.committed(0)[0], "a")
		sameStrings(t, "of a generator", r.committed(1), "b")
	}
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
