package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// endMarker are the hazards of control records: the markers that end a transaction in a partition.
var endMarker = []Hazard{
	{
		Number: 10, Title: "late marker ends the next transaction",
		Story:    "A marker is written again after its answer was lost, and arrives when the next transaction has written to the partition: a part of that is committed early.",
		Where:    Places{{TV: []int16{0, 1}}, {From: "k400", To: "k41", TV: []int16{2}}},
		ClosedBy: "4.2 at TV2: a marker's epoch must be above the stored one (KIP-1228); an id is initialised between two uses",
		Show:     lateMarker,
		Engine: []Trial{
			{
				Plan: "hazards/H10-late-marker", Profiles: []string{"k37", "k39", "k400", "k401", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, lateAnswer("WriteTxnMarkers", kafka.InvalidProducerEpoch)},
			},
			refused,
		},
		Control: "epoch-kept",
		Real:    Real{Feasible: true, Note: "one broker; the marker is written by hand as the coordinator writes it"},
	},
	{
		Number: 12, Title: "unclean election takes a marker away",
		Story:    "A replica that is not in sync is elected and has the records of a committed transaction without its marker: they are open for ever, or are decided with the next one.",
		Where:    everywhere,
		ClosedBy: "unclean.leader.election.enable=false (KAFKA-20716): the engine's audit refuses topics that have it on",
		Show:     markerTruncated,
		Cure:     markerOutlives,
		Engine: []Trial{
			{
				Plan: "hazards/H12-unclean-gap", Verdict: checker.Gap, Note: "behind the back of the audit, which refuses such topics",
				Evidence: []Evidence{struck, reached("simbroker: unclean election"), truncated},
			},
			refused,
		},
		NoControl: "what was acknowledged is gone: no engine can know",
		Needs:     Needs{Brokers: 3},
		Real:      Real{Feasible: true, Note: "three brokers, one held, one killed"},
	},
	{
		Number: 13, Title: "marker dropped without a leader",
		Story:    "A partition has no leader when its marker is due. The transaction completes without it: the partition stays open for ever, and the next transaction of the id decides its records.",
		Where:    Places{{From: "k43"}},
		ClosedBy: "open (KAFKA-20734): a commit is confirmed at every partition, and a missing marker is written before the id is used again",
		Show:     markerDropped,
		Cure:     markerWrittenByHand,
		Engine: []Trial{
			{
				Plan: "dropped-marker-k44", Profiles: []string{"k43", "k43-tv1", "k44-tv0", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, reached("simbroker: marker dropped"), reached("sink: repair of a dropped marker")},
			},
			{
				Plan: "dropped-marker-then-crash", Profiles: []string{"k43", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, reached("simbroker: marker dropped"), reached("sink: repair of a dropped marker")},
			},
		},
		Control: "no-confirm",
		Real:    Real{Feasible: true, Note: "three brokers, a topic with one replica, whose broker is killed"},
		Needs:   Needs{Brokers: 3},
	},
	{
		Number: 23, Title: "offset gaps",
		Story:    "Each marker takes an offset, so do aborted records: the last record's offset + 1 is not the end, and records are fewer than offsets.",
		Where:    everywhere,
		ClosedBy: "positions move over control records; records are counted, never subtracted",
		Show:     offsetGaps,
		Cure:     positionsOverMarkers,
		Engine: []Trial{
			{
				Plan: "zombie-taskmanager-with-commits", Profiles: []string{"k37", "k39", "k400", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, gaps},
			},
			refused,
		},
		NoControl: "sources of every engine here take positions from the fetch",
		Real:      Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 24, Title: "coordinator gives up after 52",
		Story:    "A partition has seen a higher coordinator epoch, from a marker written by hand. The real coordinator's marker is refused: the id answers 51 until its coordinator moves.",
		Where:    everywhere,
		ClosedBy: "markers by hand carry exactly what DescribeProducers shows; the coordinator is moved",
		Show:     coordinatorGivesUp,
		Cure:     coordinatorMoves,
		Engine: []Trial{
			{
				Plan: "hazards/H24-foreign-marker", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, decidedFor(time.Second), reached("simbroker: decided transaction driven again by another coordinator")},
			},
			refused,
		},
		Control: "marker-epoch-guessed",
		Real:    Real{Feasible: true, Note: "three brokers, or a restart of one"},
		Needs:   Needs{Brokers: 3},
	},
}

// markAs writes one marker by hand, with everything as given.
func (t *Scene) markAs(tp id.TopicPartition, pid int64, epoch int16, commit bool, coordinator int32) kafka.Code {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = min(2, t.Features.Max(27))
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch = pid, epoch, commit, coordinator
	if req.Version >= 2 {
		m.TransactionVersion = int8(t.Features.TransactionVersion)
	}
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = tp.Topic, []int32{tp.Partition}
	m.Topics = append(m.Topics, topic)
	req.Markers = append(req.Markers, m)
	r, err := t.RawAt(stage.Leader(tp), req)
	t.Check(err == nil, "write marker: %v", err)
	return kafka.Code(r.(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[0].ErrorCode)
}

func lateMarker(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "first")
	next := t.Finish(who, true, tp)
	p, _ := t.Producer(tp, who.ProducerID)
	t.Write(tp, next, t.Next(1), "half")
	t.Say("the marker of the first transaction arrives once more, exactly as the coordinator wrote it")
	code := t.markAs(tp, p.ProducerID, int16(p.ProducerEpoch), true, p.CoordinatorEpoch)
	if code != kafka.OK {
		t.Check(t.OpenFrom(tp, next) >= 0, "refused, and closed")
		return false, "refused with " + code.String()
	}
	return slices.Contains(t.Committed(tp), "half"), "half of a transaction that nobody has ended is committed"
}

// dropped is a committed transaction over two partitions, of which the second had no leader.
func (t *Scene) dropped() (one, two id.TopicPartition, who, next kafka.Identity) {
	who = t.Writer()
	two, _ = lonely(t, who) // its broker will be killed, and the coordinator must answer
	one = stage.Part(t.Topic(1), 0)
	t.Write(one, who, 0, "a")
	t.Write(two, who, 0, "b")
	t.Without(two, func() {
		var code kafka.Code
		next, code = t.EndThrough(who, true)
		t.Check(code == kafka.OK, "end: %v", code)
		t.Sleep(4 * time.Second)
		t.Say("the coordinator says %s", t.State(who.TransactionalID))
	})
	return one, two, who, next
}

func markerDropped(t *Scene) (bool, string) {
	one, two, who, next := t.dropped()
	if closed := t.Within(5*time.Second, func() bool { return t.OpenFrom(two, who) < 0 }); closed {
		t.Closed(who, one, two)
		return false, "the transaction waited for the partition, and both are committed"
	}
	state := t.State(who.TransactionalID)
	t.Check(state == kafka.TxnCompleteCommit, "open, and %s", state)
	if !t.TV2() {
		next = t.Again(who)
	}
	t.Say("the id's next transaction writes to that partition, and is aborted")
	t.Write(two, next, 0, "c")
	t.Finish(next, false, two)
	return len(t.Committed(one)) == 1 && len(t.Committed(two)) == 0, "CompleteCommit, the partition open; the next transaction's abort took the committed record with it"
}

func markerWrittenByHand(t *Scene) string {
	_, two, who, _ := t.dropped()
	t.Sleep(time.Second)
	if p, known := t.Producer(two, who.ProducerID); known && p.OpenFrom >= 0 {
		code := t.markAs(two, p.ProducerID, int16(p.ProducerEpoch), true, p.CoordinatorEpoch)
		if code == kafka.InvalidProducerEpoch { // a marker of version 2 needs the next epoch
			code = t.T.WriteMarker(two, p, true)
		}
		t.Check(code == kafka.OK, "marker by hand: %v", code)
	}
	t.Closed(who, two)
	t.Check(slices.Equal(t.Committed(two), []string{"b"}), "read %v", t.Committed(two))
	return "closed in every partition: by the coordinator, or by the marker written by hand"
}

func offsetGaps(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	t.threeEnds(tp)
	end, read := t.HighWatermark(tp), t.Committed(tp)
	return int64(len(read)) < end, fmt.Sprintf("%d records visible, the end is at %d; the last record is at 4", len(read), end)
}

// threeEnds writes a committed, an aborted and a committed record.
func (t *Scene) threeEnds(tp id.TopicPartition) {
	who := t.Writer()
	for i, commit := range []bool{true, false, true} {
		t.Write(tp, who, t.Next(int32(i)), fmt.Sprint("record ", i))
		who = t.Finish(who, commit, tp)
	}
}

func positionsOverMarkers(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	t.threeEnds(tp)
	read := t.Drain(tp, 0, 6) // fails unless the position ends at 6
	t.Check(slices.Equal(read, []string{"0:record 0", "4:record 2"}), "read %v", read)
	return "the reader's position ends behind the last marker"
}

// wedged is an id whose commit the coordinator cannot finish.
func (t *Scene) wedged() (tp id.TopicPartition, who kafka.Identity) {
	tp = stage.Part(t.Topic(1), 0)
	first := t.Writer()
	t.Write(tp, first, 0, "first")
	who = t.Finish(first, true, tp)
	p, _ := t.Producer(tp, who.ProducerID)
	t.Say("somebody writes a marker by hand, with a coordinator epoch that is too high by one")
	code := t.markAs(tp, p.ProducerID, int16(p.ProducerEpoch), true, p.CoordinatorEpoch+1)
	t.Check(code == kafka.OK, "marker by hand: %v", code)
	t.Write(tp, who, t.Next(1), "second")
	_, code = t.EndThrough(who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	return tp, who
}

func coordinatorGivesUp(t *Scene) (bool, string) {
	tp, who := t.wedged()
	t.Sleep(5 * time.Second)
	code := t.initAs(kafka.Identity{TransactionalID: who.TransactionalID, ProducerID: -1}, -1)
	return code == kafka.ConcurrentTransactions && t.OpenFrom(tp, who) >= 0,
		fmt.Sprintf("five seconds after EndTxn was answered 0 the partition is open, and InitProducerId is answered %v", code)
}

func coordinatorMoves(t *Scene) string {
	tp, who := t.wedged()
	t.Sleep(time.Second)
	t.MoveCoordinator(who.TransactionalID)
	t.Closed(who, tp)
	t.Check(slices.Equal(t.Committed(tp), []string{"first", "second"}), "read %v", t.Committed(tp))
	return "the coordinator was moved, and finished"
}
