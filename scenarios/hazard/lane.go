package hazard

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
)

// lanes are the hazards of the marker inside the transaction.
var lanes = []Hazard{
	{
		Number: 32, Title: "plain commit wins over the marker",
		Story:    "Somebody commits an offset plainly for the marker's partition while the transaction's is pending: when that commits, the plain, lower value stays.",
		Where:    everywhere,
		ClosedBy: "nobody commits plainly on a lane after its seed; a lane that says neither value is asked about at the second witness",
		Show:     plainWins,
		Cure:     witnessOfPlain,
		Control:  "lane-believed",
		Engine: []Trial{
			{Plan: "hazards/H32-plain-commit", Profiles: []string{"k39", "k400", "k44-tv1", "k44"}, Evidence: []Evidence{said("commit-plainly", "NONE (0)"), said("a token must be resolved"), reached(witnessWasAsked)}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 33, Title: "marker evidence lost",
		Story:    "The group, its offset or the marker's topic is deleted, or the offset expires, counted from the request: the transaction commits and its lane reads -1, as after an abort.",
		Where:    everywhere,
		ClosedBy: "the token has the value before; anything else is evidence lost, and the second witness decides",
		Show:     evidenceLost,
		Cure:     witnessOfLost,
		Control:  "lane-believed",
		Engine: []Trial{
			{Plan: "hazards/H33-group-deleted", Profiles: []string{"k39", "k41", "k44"}, Evidence: []Evidence{said("delete-group", "NONE (0)"), reached(witnessWasAsked)}},
			{Plan: "hazards/H33-group-deleted-then-abort", Evidence: []Evidence{struck, said("delete-group", "NONE (0)"), reached(witnessWasAsked), reached("sink: salvage done")}},
			{Plan: "hazards/H33-offsets-deleted", Evidence: []Evidence{struck, said("delete-offsets", "NONE (0)"), reached(witnessWasAsked)}},
			{Plan: "hazards/H33-markers-deleted", Profiles: []string{"k39", "k44"}, Evidence: []Evidence{said("delete-markers", "true"), reached(witnessWasAsked)}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
		Forms: []Form{{
			Name:  "expired",
			Story: "A transaction is open for longer than offsets are kept, and commits: the time of its offset is that of the request, so it expires with the next look.",
			Needs: Needs{Alone: true, Settings: []Setting{{"offsets.retention.minutes", "1"}, {"offsets.retention.check.interval.ms", "500"}}},
			Show:  evidenceExpired,
		}},
	},
	{
		Number: 38, Title: "marker refused, transaction commits",
		Story:    "The marker is refused, for its metadata or since its partition is missing, and the commit that follows is answered 0: the records are visible without a marker.",
		Where:    everywhere,
		ClosedBy: "any error of a marker declines the checkpoint",
		Show:     markerRefused,
		Cure:     refusalAborts,
		Control:  "marker-error-ignored",
		Engine: []Trial{
			{Plan: "hazards/H38-marker-refused", Profiles: []string{"k39", "k44-tv1", "k44"}, Evidence: []Evidence{said("delete-markers", "true"), said("marker of checkpoint 3", "UNKNOWN_TOPIC_OR_PARTITION")}},
		},
		Real: Real{Feasible: true, Note: "one broker"},
	},
}

// plainWins commits an offset plainly while a transaction's is pending for the same partition.
func plainWins(t *Scene) (seen bool, what string) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	t.Mark(who, group, lane, 8, "marker")
	t.Seed(group, lane, 7, "plain")
	t.Finish(who, true, data)
	o := t.StableLane(group, lane)
	return o.Offset == 7, fmt.Sprintf("5 before, 8 pending, 7 committed plainly, then EndTxn 0: the lane reads %d %q", o.Offset, o.Metadata)
}

// evidenceLost takes a marker away while it is pending, each time in another way: the transaction commits, and its lane
// tells nothing.
func evidenceLost(t *Scene) (seen bool, what string) {
	seen = true
	var all []string
	for _, way := range []struct {
		name string
		take func(t *Scene, group string, lane id.TopicPartition) kafka.Code
	}{
		{"DeleteGroups", deleteGroup},
		{"OffsetDelete", deleteOffset},
		{"DeleteTopics", deleteTopic},
	} {
		group, lane, _, who := t.LaneAndWriter()
		data := stage.Part(t.Topic(1), 0)
		t.Write(data, who, 0, "a")
		t.Mark(who, group, lane, 6, "marker")
		code := way.take(t, group, lane)
		t.Finish(who, true, data)
		o := laneWithin(t, group, lane)
		all = append(all, fmt.Sprintf("%s while pending: %d, EndTxn 0, lane %d", way.name, int16(code), o.Offset))
		seen = seen && code == kafka.OK && o.Offset == -1
	}
	return seen, strings.Join(all, "; ")
}

// evidenceExpired commits a transaction that was open for longer than the group coordinator keeps offsets. It has no cure of
// its own: the second witness is asked here.
func evidenceExpired(t *Scene) (seen bool, what string) {
	data := stage.Part(t.Topic(1), 0)
	group, lane, _, _ := t.LaneAndWriter()
	who := t.WriterFor(5 * time.Minute)
	t.Write(data, who, 0, "a")
	t.Mark(who, group, lane, 6, "marker")
	t.Say("nobody ends the transaction for longer than offsets are kept")
	t.Sleep(65 * time.Second)
	pending, code := t.Lane(group, lane, true)
	t.Check(code == kafka.OK, "offset fetch: %v", code)
	t.Finish(who, true, data)
	lost := t.Within(stage.Patience, func() bool { return laneWithin(t, group, lane).Offset == -1 })
	return pending.Code == kafka.UnstableOffsetCommit && lost && t.witness(data, who.ProducerID, 0) == sink.WitnessCommitted,
		fmt.Sprintf("offsets are kept for 1m; 65s after TxnOffsetCommit: %v; then EndTxn 0, lane %d; the second witness says committed", pending.Code, laneWithin(t, group, lane).Offset)
}

// laneWithin reads a lane until it is stable. The topic may be gone.
func laneWithin(t *Scene, group string, lane id.TopicPartition) (o kafka.Offset) {
	t.Wait("the lane", func() bool {
		var code kafka.Code
		o, code = t.Lane(group, lane, true)
		return code == kafka.OK && o.Code != kafka.UnstableOffsetCommit
	})
	if o.Code != kafka.OK {
		o.Offset = -1
	}
	return o
}

func deleteGroup(t *Scene, group string, _ id.TopicPartition) kafka.Code {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Version, req.Groups = 2, []string{group}
	_, code := t.Answer(stage.GroupCoordinator(group), req, func(r kmsg.Response) kafka.Code {
		return kafka.Code(r.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
	})
	return code
}

func deleteOffset(t *Scene, group string, lane id.TopicPartition) kafka.Code {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	topic := kmsg.NewOffsetDeleteRequestTopic()
	topic.Topic = lane.Topic
	part := kmsg.NewOffsetDeleteRequestTopicPartition()
	part.Partition = lane.Partition
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	_, code := t.Answer(stage.GroupCoordinator(group), req, func(r kmsg.Response) kafka.Code {
		x := r.(*kmsg.OffsetDeleteResponse)
		if x.ErrorCode != 0 {
			return kafka.Code(x.ErrorCode)
		}
		return kafka.Code(x.Topics[0].Partitions[0].ErrorCode)
	})
	return code
}

// deleteTopic deletes the topic of the lane, and waits until the group's coordinator has forgotten what is pending for it.
func deleteTopic(t *Scene, group string, lane id.TopicPartition) (code kafka.Code) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis = 6, 10_000
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = kmsg.StringPtr(lane.Topic)
	req.Topics = append(req.Topics, topic)
	_, code = t.Answer(stage.Node(broker.Bootstrap), req, func(r kmsg.Response) kafka.Code {
		return kafka.Code(r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
	})
	t.Wait("the group to forget the topic", func() bool {
		o, code := t.Lane(group, lane, true)
		return code == kafka.OK && o.Code != kafka.UnstableOffsetCommit
	})
	return code
}

// markerRefused commits a transaction whose marker was refused: the records are visible, the lane is as before.
func markerRefused(t *Scene) (seen bool, what string) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	long := t.MarkCode(who, group, lane, 6, strings.Repeat("m", 4097))
	missing := kafka.OK
	if who.Protocol < 5 {
		missing, _ = once(t, func(done func(kafka.Code, error)) {
			t.TxnOffsetCommit(who, group, []kafka.Offset{{Topic: lane.Topic, Partition: 99, Offset: 6}}, done)
		})
	}
	t.Finish(who, true, data)
	o := t.StableLane(group, lane)
	read := t.Committed(data)
	seen = long == kafka.OffsetMetadataTooLarge && o.Offset == 5 && len(read) == 1
	what = fmt.Sprintf("marker with 4097 bytes of metadata: %v", long)
	if who.Protocol < 5 {
		seen = seen && missing == kafka.UnknownTopicOrPartition
		what += fmt.Sprintf(", of a partition that is not there: %v", missing)
	}
	return seen, fmt.Sprintf("%s; EndTxn 0: %d record visible, lane %d", what, len(read), o.Offset)
}

// refusalAborts aborts a transaction whose marker was refused.
func refusalAborts(t *Scene) string {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	code := t.MarkCode(who, group, lane, 6, strings.Repeat("m", 4097))
	t.Check(code == kafka.OffsetMetadataTooLarge, "marker: %v", code)
	t.Finish(who, false, data)
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 5 && len(t.Committed(data)) == 0, "lane %d, read %v", o.Offset, t.Committed(data))
	return "aborted instead: lane and reader agree that nothing happened"
}

// witnessOfPlain asks the second witness where a plain commit has overwritten the marker.
func witnessOfPlain(t *Scene) string {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	t.Mark(who, group, lane, 8, "marker")
	t.Seed(group, lane, 7, "plain")
	t.Finish(who, true, data)
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 7, "lane %d", o.Offset)
	w := t.witness(data, who.ProducerID, 0)
	t.Check(w == sink.WitnessCommitted, "the second witness says %v", w)
	return "the lane says neither 5 nor 8, and the second witness says committed"
}

// witnessOfLost asks the second witness where the marker's group was deleted, after a commit and after an abort.
func witnessOfLost(t *Scene) string {
	for _, commit := range []bool{true, false} {
		group, lane, data, who := t.LaneAndWriter()
		t.Write(data, who, 0, "a")
		t.Mark(who, group, lane, 6, "marker")
		code := deleteGroup(t, group, lane)
		t.Check(code == kafka.OK, "delete the group: %v", code)
		t.Finish(who, commit, data)
		o := t.StableLane(group, lane)
		t.Check(o.Offset == -1, "lane %d", o.Offset)
		w, want := t.witness(data, who.ProducerID, 0), sink.WitnessAborted
		if commit {
			want = sink.WitnessCommitted
		}
		t.Check(w == want, "commit %v, and the second witness says %v", commit, w)
	}
	return "the lane reads -1 after a commit and after an abort, and the second witness tells them apart"
}
