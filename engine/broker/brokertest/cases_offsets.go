package brokertest

import (
	"strings"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// laneAndWriter is a seeded lane and a writer for one case.
func (t *T) laneAndWriter() (group string, lane id.TopicPartition, data id.TopicPartition, who kafka.Identity) {
	name := t.topic(3)
	group, lane, data = t.name("group"), part(name, 1), part(name, 0)
	t.seed(group, lane, 5, "seed")
	return group, lane, data, t.writer()
}

func markerDecided(t *T) {
	for _, commit := range []bool{true, false} {
		group, lane, data, who := t.laneAndWriter()
		t.write(data, who, 0, "a")
		t.mark(who, group, lane, 6, "meta")
		o, code := t.lane(group, lane, true)
		t.check(code == kafka.OK && o.Code == kafka.UnstableOffsetCommit, "pending: %v %+v", code, o)
		o, _ = t.lane(group, lane, false)
		t.check(o.Offset == 5 && o.Metadata == "seed", "a plain read: %+v", o)
		t.finish(who, commit, data)
		want := kafka.Offset{Topic: lane.Topic, Partition: lane.Partition, Offset: 5, Metadata: "seed"}
		if commit {
			want.Offset, want.Metadata = 6, "meta"
		}
		got := t.stableLane(group, lane)
		t.check(got == want, "commit %v: %+v", commit, got)
	}
}

func pendingPartition(t *T) {
	group, lane, _, who := t.laneAndWriter()
	other := part(lane.Topic, 2)
	t.seed(group, other, 9, "other")
	t.mark(who, group, lane, 6, "meta")
	o, code := t.lane(group, other, true)
	t.check(code == kafka.OK && o.Code == kafka.OK && o.Offset == 9, "the other partition: %v %+v", code, o)
	t.finish(who, false)
}

func laterPlainWins(t *T) {
	group, lane, data, who := t.laneAndWriter()
	t.write(data, who, 0, "a")
	t.mark(who, group, lane, 8, "meta")
	t.seed(group, lane, 7, "plain")
	t.finish(who, true, data)
	o := t.stableLane(group, lane)
	t.check(o.Offset == 7 && o.Metadata == "plain", "%+v", o)
}

func unknownGroup(t *T) {
	tp := part(t.topic(1), 0)
	o, code := t.lane(t.name("nobody"), tp, true)
	t.check(code == kafka.OK && o.Code == kafka.OK && o.Offset == -1, "%v %+v", code, o)
}

func metadataLimit(t *T) {
	group, lane, data, who := t.laneAndWriter()
	t.write(data, who, 0, "a")
	code := t.markCode(who, group, lane, 6, strings.Repeat("m", 4097))
	t.check(code == kafka.OffsetMetadataTooLarge, "4097 bytes: %v", code)
	code = t.markCode(who, group, lane, 6, strings.Repeat("m", 4096))
	t.check(code == kafka.OK, "4096 bytes: %v", code)
	t.finish(who, true, data)
}

// staleMark is a lane with a pending mark of a fresh epoch, and what a stale one's mark is answered.
func (t *T) staleMark() (group string, lane id.TopicPartition, fresh kafka.Identity, code kafka.Code) {
	group, lane, data, old := t.laneAndWriter()
	t.write(data, old, 0, "a")
	t.mark(old, group, lane, 6, "old")
	fresh = t.init(old.TransactionalID, t.Protocol)
	t.stableLane(group, lane)
	t.mark(fresh, group, lane, 7, "fresh") // the offsets partition knows the new epoch from here on
	code = t.settle("stale mark", func(done func(kafka.Code, error)) {
		t.TxnOffsetCommit(old, group, []kafka.Offset{{Topic: lane.Topic, Partition: lane.Partition, Offset: 8}}, done)
	})
	return group, lane, fresh, code
}

func staleEpochMark(t *T) {
	_, _, fresh, code := t.staleMark()
	t.check(code == kafka.InvalidProducerEpoch, "stale epoch: %v", code)
	t.finish(fresh, true)
}

func refusedMark(t *T) {
	group, lane, fresh, code := t.staleMark()
	t.check(code != kafka.OK, "a stale mark was taken")
	t.finish(fresh, true)
	o := t.stableLane(group, lane)
	t.check(o.Offset == 7 && o.Metadata == "fresh", "%+v", o)
}

func markerAlone(t *T) {
	group, lane, _, who := t.laneAndWriter()
	t.mark(who, group, lane, 6, "alone")
	t.finish(who, true)
	o := t.stableLane(group, lane)
	t.check(o.Offset == 6 && o.Metadata == "alone", "%+v", o)
}
