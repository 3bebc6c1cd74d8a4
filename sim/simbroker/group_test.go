package simbroker

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (r *rig) commitOffset(group string, generation int32, version int16) int16 {
	r.t.Helper()
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group, q.Generation = version, group, generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "out"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = 7
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return ask1[*kmsg.OffsetCommitResponse](r, r.c.groupPartition(group).leader, q).Topics[0].Partitions[0].ErrorCode
}

func (r *rig) commitInTxn(x identity, group string, version int16) int16 {
	r.t.Helper()
	q := kmsg.NewPtrTxnOffsetCommitRequest()
	q.Version, q.TransactionalID, q.Group, q.ProducerID, q.ProducerEpoch, q.Generation = version, x.id, group, x.pid, x.epoch, -1
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = "out"
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = 9
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	return ask1[*kmsg.TxnOffsetCommitResponse](r, r.c.groupPartition(group).leader, q).Topics[0].Partitions[0].ErrorCode
}

// committedOffset is what a group has for the first partition; -1: nothing.
func (r *rig) committedOffset(group string) int64 {
	r.t.Helper()
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Version, q.Group = 7, group
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = "out", []int32{0}
	q.Topics = append(q.Topics, t)
	return ask1[*kmsg.OffsetFetchResponse](r, r.c.groupPartition(group).leader, q).Topics[0].Partitions[0].Offset
}

func (r *rig) groupState(group string, version int16) (state string, code int16) {
	r.t.Helper()
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Version, q.Groups = version, []string{group}
	g := ask1[*kmsg.DescribeGroupsResponse](r, r.c.groupPartition(group).leader, q).Groups[0]
	return g.State, g.ErrorCode
}

// Who names a generation of a group without members is refused: by the group's absence in the words of the version, or as
// an unknown member.
func TestGenerationsOfSimpleGroups(t *testing.T) {
	r := newRig(t, 1, "k44")
	equal(t, "absent, old", r.commitOffset("g", 3, 8), illegalGeneration)
	equal(t, "absent, new", r.commitOffset("g", 3, 9), groupIDNotFound)
	equal(t, "anonymous", r.commitOffset("g", -1, 9), ok)
	equal(t, "exists", r.commitOffset("g", 3, 9), unknownMember)
}

func TestGroupsAreDescribedAndListed(t *testing.T) {
	r := newRig(t, 1, "k44")
	state, code := r.groupState("g", 5)
	equal(t, "absent", state, "Dead")
	equal(t, "absent, old", code, ok)
	_, code = r.groupState("g", 6)
	equal(t, "absent, new", code, groupIDNotFound)
	r.commitOffset("g", -1, 9)
	state, code = r.groupState("g", 6)
	equal(t, "state", state, "Empty")
	equal(t, "code", code, ok)
	list := func(states, types []string) int {
		q := kmsg.NewPtrListGroupsRequest()
		q.Version, q.StatesFilter, q.TypesFilter = 5, states, types
		return len(ask1[*kmsg.ListGroupsResponse](r, r.c.groupPartition("g").leader, q).Groups)
	}
	equal(t, "all", list(nil, nil), 1)
	equal(t, "empty ones", list([]string{"Empty"}, []string{"classic"}), 1)
	equal(t, "stable ones", list([]string{"Stable"}, nil), 0)
	equal(t, "of another type", list(nil, []string{"consumer"}), 0)
}

// Offsets expire by the time of the request, also those that became visible much later; not while something is pending.
func TestOffsetsExpire(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.OffsetsRetention, c.OffsetsScan = 10*time.Second, 500*time.Millisecond })
	r.commitOffset("plain", -1, 9)
	x := r.init("a")
	equal(t, "pending", r.commitInTxn(x, "held", 5), ok)
	r.w.RunFor(8 * time.Second)
	equal(t, "young", r.committedOffset("plain"), 7)
	r.w.RunFor(4 * time.Second)
	equal(t, "old", r.committedOffset("plain"), -1)
	state, _ := r.groupState("plain", 5)
	equal(t, "its group is gone", state, "Dead")
	state, _ = r.groupState("held", 5)
	equal(t, "a group with something pending stays", state, "Empty")
	equal(t, "commit", r.end(5, x, true).ErrorCode, ok)
	r.w.RunFor(100 * time.Millisecond)
	equal(t, "visible", r.committedOffset("held"), 9)
	r.w.RunFor(2 * time.Second)
	equal(t, "expired soon after", r.committedOffset("held"), -1)
}

// KAFKA-19163: 4.0.0 deletes a group that has only pending offsets, and what is committed then is not found.
func TestGroupWithOnlyPendingOffsets(t *testing.T) {
	for _, c := range []struct {
		profile string
		offset  int64
	}{{"k400", -1}, {"k401", 9}} {
		r := newRig(t, 1, c.profile)
		x := r.init("a")
		equal(t, c.profile+" pending", r.commitInTxn(x, "g", 5), ok)
		r.c.ExpireOffsets()
		equal(t, c.profile+" commit", r.end(5, x, true).ErrorCode, ok)
		r.settle()
		equal(t, c.profile, r.committedOffset("g"), c.offset)
		if c.offset < 0 {
			r.commitOffset("g", -1, 9)
			equal(t, c.profile+" after another commit", r.committedOffset("g"), 7)
		}
	}
}
