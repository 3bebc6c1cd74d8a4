package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// KAFKA-20734: on 4.3 and 4.4 a marker for a partition without a leader is dropped, success is answered, and the id's next
// transaction decides the old records.
func TestDroppedMarker(t *testing.T) {
	for _, commit := range []bool{true, false} {
		r := newRig(t, 1, "k44")
		x := r.init("a")
		r.produce(12, x, 0, batchOf(x, 0, true, "x"))
		r.produce(12, x, 1, batchOf(x, 0, true, "x"))
		r.c.TakeLeader("out", 1)
		e := r.end(5, x, commit)
		equal(t, "end", e.ErrorCode, ok)
		r.ended("a")
		equal(t, "complete", r.state("a").Complete(), true)
		r.c.GiveLeader("out", 1)
		r.w.RunFor(time.Second)
		if q, why := r.c.Settled(); q {
			t.Errorf("settled: %s", why)
		}
		open := r.c.OpenTransactions()
		equal(t, "open", len(open), 1)
		equal(t, "epoch shown", open[0].Epoch, x.epoch)
		d := r.describeProducers(1)
		equal(t, "open start", d[0].CurrentTxnStartOffset, 0)
		equal(t, "coordinator epoch", d[0].CoordinatorEpoch, -1)
		equal(t, "repeat", r.end(5, x, commit).ErrorCode, ok)
		r.w.RunFor(time.Second)
		equal(t, "repeat changes nothing", len(r.c.OpenTransactions()), 1)
		// The next transaction decides it, with its own verdict.
		y := identity{"a", x.pid, e.ProducerEpoch}
		code, _ := r.produce(12, y, 1, batchOf(y, 0, true, "y"))
		equal(t, "next", code, ok)
		r.end(5, y, !commit)
		r.settle()
		if commit {
			sameStrings(t, "committed data lost", r.committed(1))
			sameStrings(t, "torn", r.committed(0), "x")
		} else {
			sameStrings(t, "aborted data published", r.committed(1), "x", "y")
		}
	}
}

func (r *rig) describeProducers(part int32) []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	r.t.Helper()
	q := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = "out", []int32{part}
	q.Topics = append(q.Topics, t)
	a := ask1[*kmsg.DescribeProducersResponse](r, int32(r.c.Leader("out", part)), q)
	equal(r.t, "describe producers", a.Topics[0].Partitions[0].ErrorCode, ok)
	return a.Topics[0].Partitions[0].ActiveProducers
}

func markersReq(x identity, part int32, commit bool, coord int32) *kmsg.WriteTxnMarkersRequest {
	q := kmsg.NewPtrWriteTxnMarkersRequest()
	q.Version = 1
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch = x.pid, x.epoch, commit, coord
	t := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	t.Topic, t.Partitions = "out", []int32{part}
	m.Topics = append(m.Topics, t)
	q.Markers = append(q.Markers, m)
	return q
}

// dropOne leaves partition 1 open although its transaction was committed.
func dropOne(t *testing.T, profile string) (*rig, identity) {
	r := newRig(t, 2, profile)
	x := r.init("a")
	r.produce(12, x, 0, batchOf(x, 0, true, "x"))
	r.produce(12, x, 1, batchOf(x, 0, true, "x"))
	r.c.TakeLeader("out", 1)
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	r.ended("a")
	r.c.GiveLeader("out", 1)
	r.w.RunFor(time.Second)
	return r, x
}

// Both repairs, and the hole in the second one.
func TestRepairOfDroppedMarker(t *testing.T) {
	mark := func(r *rig, q *kmsg.WriteTxnMarkersRequest) int16 {
		a := ask1[*kmsg.WriteTxnMarkersResponse](r, int32(r.c.Leader("out", 1)), q)
		return a.Markers[0].Topics[0].Partitions[0].ErrorCode
	}
	r, x := dropOne(t, "k44")
	equal(t, "marker by hand", mark(r, markersReq(x, 1, true, -1)), ok)
	r.settle()
	sameStrings(t, "visible", r.committed(1), "x")
	equal(t, "again", mark(r, markersReq(x, 1, true, -1)), ok)
	below := x
	below.epoch--
	equal(t, "epoch below", mark(r, markersReq(below, 1, true, -1)), invalidProducerEpoch)
	y := identity{"a", x.pid, x.epoch + 1}
	code, _ := r.produce(12, y, 1, batchOf(y, 0, true, "y"))
	equal(t, "the id goes on", code, ok)
	equal(t, "late marker meets the next transaction", mark(r, markersReq(x, 1, true, -1)), invalidProducerEpoch)
	equal(t, "end", r.end(5, y, true).ErrorCode, ok)
	r.settle()
	equal(t, "coordinator epoch below", mark(r, markersReq(identity{"a", x.pid, 2}, 1, true, 0)), coordinatorFenced)

	// A coordinator epoch that is too high closes the partition to the coordinator.
	r, x = dropOne(t, "k44")
	equal(t, "too high", mark(r, markersReq(x, 1, true, 50)), ok)
	y = identity{"a", x.pid, x.epoch + 1}
	r.produce(12, y, 1, batchOf(y, 0, true, "y"))
	equal(t, "end", r.end(5, y, true).ErrorCode, ok)
	r.w.RunFor(5 * time.Second)
	equal(t, "never complete", r.state("a"), PrepareCommit)

	// By ordinary rights, as two frames in one write.
	r, x = dropOne(t, "k44")
	y = identity{"a", x.pid, x.epoch + 1}
	var codes [2]int16
	done := false
	r.loop.Post(func() {
		r.port.SendBoth(r.coord("a"), addReq(y, 1), endReq(5, y, true), func(a, b kmsg.Response, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			codes[0] = a.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode
			codes[1] = b.(*kmsg.EndTxnResponse).ErrorCode
			done = true
		})
	})
	r.w.RunUntil(func() bool { return done }, r.w.Now().Add(5*time.Second))
	equal(t, "add", codes[0], ok)
	equal(t, "end", codes[1], ok)
	r.settle()
	sameStrings(t, "visible", r.committed(1), "x")

	// An initialisation between the two aborts what was committed.
	r, x = dropOne(t, "k44")
	y = identity{"a", x.pid, x.epoch + 1}
	equal(t, "add", r.add(y, 1), ok)
	r.init("a")
	r.settle()
	sameStrings(t, "gone", r.committed(1))
	sameStrings(t, "torn", r.committed(0), "x")
}

// An ordinary crash and restart of the broker that coordinates and leads is enough.
func TestRestartDropsMarkers(t *testing.T) {
	dropped := 0
	for seed := range uint64(30) {
		r := newRig(t, seed, "k44")
		x := r.init("a")
		b := r.c.Coordinator("a")
		for p := range int32(3) {
			r.c.MoveLeader("out", p, b)
			r.w.RunFor(time.Millisecond)
			r.produce(12, x, p, batchOf(x, 0, true, "x"))
		}
		equal(t, "end", r.end(5, x, true).ErrorCode, ok)
		r.c.Node(b).Restart()
		r.w.RunFor(10 * time.Second)
		equal(t, "complete", r.state("a"), CompleteCommit)
		if len(r.c.OpenTransactions()) > 0 {
			dropped++
		}
	}
	if dropped == 0 || dropped == 30 {
		t.Errorf("markers dropped in %d of 30 restarts", dropped)
	}
}

// The offsets partition has markers of its own to lose: 88 for ever, until a repair.
func TestDroppedMarkerOfOffsets(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.plainOffset("g", 0, 1, "seed")
	r.txnOffset(5, x, "g", 0, 7, "n")
	p := r.c.groupPartition("g")
	r.c.TakeLeader(offsetsTopic, p.num)
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	r.ended("a")
	equal(t, "complete", r.state("a"), CompleteCommit)
	r.c.GiveLeader(offsetsTopic, p.num)
	r.w.RunFor(time.Second)
	c, _, _ := r.offset("g", 0, true)
	equal(t, "unstable", c, unstableOffsetCommit)
	y := identity{"a", x.pid, x.epoch + 1}
	equal(t, "repair", r.addOffsets(y, "g"), ok)
	equal(t, "repair", r.end(5, y, true).ErrorCode, ok)
	r.settle()
	_, o, _ := r.offset("g", 0, true)
	equal(t, "repaired", o, 7)
}

// Before 4.3 the transaction waits for the partition.
func TestMarkerWaitsForLeader(t *testing.T) {
	r := newRig(t, 1, "k41")
	x := r.init("a")
	r.produce(12, x, 1, batchOf(x, 0, true, "x"))
	r.c.TakeLeader("out", 1)
	equal(t, "end", r.end(5, x, true).ErrorCode, ok)
	r.w.RunFor(3 * time.Second)
	equal(t, "waits", r.state("a"), PrepareCommit)
	equal(t, "repeat", r.end(5, x, true).ErrorCode, concurrentTransactions)
	r.c.GiveLeader("out", 1)
	r.settle()
	sameStrings(t, "visible", r.committed(1), "x")
}
