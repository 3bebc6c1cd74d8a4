package brokertest

import (
	"strings"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

func markerDecided(t *stage.T) {
	for _, commit := range []bool{true, false} {
		group, lane, data, who := t.LaneAndWriter()
		t.Write(data, who, 0, "a")
		t.Mark(who, group, lane, 6, "meta")
		o, code := t.Lane(group, lane, true)
		t.Check(code == kafka.OK && o.Code == kafka.UnstableOffsetCommit, "pending: %v %+v", code, o)
		o, _ = t.Lane(group, lane, false)
		t.Check(o.Offset == 5 && o.Metadata == "seed", "a plain read: %+v", o)
		t.Finish(who, commit, data)
		want := kafka.Offset{Topic: lane.Topic, Partition: lane.Partition, Offset: 5, Metadata: "seed"}
		if commit {
			want.Offset, want.Metadata = 6, "meta"
		}
		got := t.StableLane(group, lane)
		t.Check(got == want, "commit %v: %+v", commit, got)
	}
}

func pendingPartition(t *stage.T) {
	group, lane, _, who := t.LaneAndWriter()
	other := stage.Part(lane.Topic, 2)
	t.Seed(group, other, 9, "other")
	t.Mark(who, group, lane, 6, "meta")
	o, code := t.Lane(group, other, true)
	t.Check(code == kafka.OK && o.Code == kafka.OK && o.Offset == 9, "the other partition: %v %+v", code, o)
	t.Finish(who, false)
}

func laterPlainWins(t *stage.T) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	t.Mark(who, group, lane, 8, "meta")
	t.Seed(group, lane, 7, "plain")
	t.Finish(who, true, data)
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 7 && o.Metadata == "plain", "%+v", o)
}

func unknownGroup(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	o, code := t.Lane(t.Name("nobody"), tp, true)
	t.Check(code == kafka.OK && o.Code == kafka.OK && o.Offset == -1, "%v %+v", code, o)
}

func metadataLimit(t *stage.T) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	code := t.MarkCode(who, group, lane, 6, strings.Repeat("m", 4097))
	t.Check(code == kafka.OffsetMetadataTooLarge, "4097 bytes: %v", code)
	code = t.MarkCode(who, group, lane, 6, strings.Repeat("m", 4096))
	t.Check(code == kafka.OK, "4096 bytes: %v", code)
	t.Finish(who, true, data)
}

// staleMark is a lane with a pending mark of a fresh epoch, and what a stale one's mark is answered.
func staleMark(t *stage.T) (group string, lane id.TopicPartition, fresh kafka.Identity, code kafka.Code) {
	group, lane, data, old := t.LaneAndWriter()
	t.Write(data, old, 0, "a")
	t.Mark(old, group, lane, 6, "old")
	fresh = t.Init(old.TransactionalID, t.Protocol)
	t.StableLane(group, lane)
	t.Mark(fresh, group, lane, 7, "fresh") // the offsets partition knows the new epoch from here on
	code = t.Settle("stale mark", func(done func(kafka.Code, error)) {
		t.TxnOffsetCommit(old, group, []kafka.Offset{{Topic: lane.Topic, Partition: lane.Partition, Offset: 8}}, done)
	})
	return group, lane, fresh, code
}

func staleEpochMark(t *stage.T) {
	_, _, fresh, code := staleMark(t)
	t.Check(code == kafka.InvalidProducerEpoch, "stale epoch: %v", code)
	t.Finish(fresh, true)
}

func refusedMark(t *stage.T) {
	group, lane, fresh, code := staleMark(t)
	t.Check(code != kafka.OK, "a stale mark was taken")
	t.Finish(fresh, true)
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 7 && o.Metadata == "fresh", "%+v", o)
}

func markerAlone(t *stage.T) {
	group, lane, _, who := t.LaneAndWriter()
	t.Mark(who, group, lane, 6, "alone")
	t.Finish(who, true)
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 6 && o.Metadata == "alone", "%+v", o)
}
