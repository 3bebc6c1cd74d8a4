package simbroker

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func (r *rig) txnOffset(v int16, x identity, group string, part int32, offset int64, metadata string) int16 {
	r.t.Helper()
	q := kmsg.NewPtrTxnOffsetCommitRequest()
	q.Version, q.TransactionalID, q.Group, q.ProducerID, q.ProducerEpoch = v, x.id, group, x.pid, x.epoch
	q.Generation = -1
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = "out"
	if v >= 6 {
		t.TopicID = r.c.byName["out"].id
	}
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = part, offset, &metadata
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	a := ask1[*kmsg.TxnOffsetCommitResponse](r, int32(r.c.GroupCoordinator(group)), q)
	return a.Topics[0].Partitions[0].ErrorCode
}

func (r *rig) plainOffset(group string, part int32, offset int64, metadata string) int16 {
	r.t.Helper()
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Version, q.Group, q.Generation = 8, group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "out"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = part, offset, &metadata
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	a := ask1[*kmsg.OffsetCommitResponse](r, int32(r.c.GroupCoordinator(group)), q)
	return a.Topics[0].Partitions[0].ErrorCode
}

func (r *rig) offset(group string, part int32, stable bool) (code int16, offset int64, metadata string) {
	r.t.Helper()
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Version, q.RequireStable = 8, stable
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = "out", []int32{part}
	g.Topics = append(g.Topics, t)
	q.Groups = append(q.Groups, g)
	a := ask1[*kmsg.OffsetFetchResponse](r, int32(r.c.GroupCoordinator(group)), q).Groups[0]
	equal(r.t, "group code", a.ErrorCode, ok)
	p := a.Topics[0].Partitions[0]
	return p.ErrorCode, p.Offset, *p.Metadata
}

func (r *rig) addOffsets(x identity, group string) int16 {
	r.t.Helper()
	q := kmsg.NewPtrAddOffsetsToTxnRequest()
	q.Version, q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group = 3, x.id, x.pid, x.epoch, group
	return ask1[*kmsg.AddOffsetsToTxnResponse](r, r.coord(x.id), q).ErrorCode
}

// The lane of a sink rests on this: pending is told apart from committed, per partition, and only while it is pending.
func TestTransactionalOffsets(t *testing.T) {
	for _, profile := range []string{"k44", "k41", "k39"} {
		r := newRig(t, 1, profile)
		x := r.init("a")
		v, ev := int16(5), int16(5)
		if profile == "k39" {
			v, ev = 4, 4
			equal(t, "without add", r.txnOffset(v, x, "g", 0, 7, ""), transactionAbortable)
			equal(t, "add", r.addOffsets(x, "g"), ok)
		}
		expect := func(what string, part int32, stable bool, code int16, offset int64, metadata string) {
			t.Helper()
			c, o, m := r.offset("g", part, stable)
			equal(t, profile+" "+what+" code", c, code)
			equal(t, profile+" "+what+" offset", o, offset)
			equal(t, profile+" "+what+" metadata", m, metadata)
		}
		expect("unknown group", 0, true, ok, -1, "")
		equal(t, "seed", r.plainOffset("g", 0, 1, "seed"), ok)
		equal(t, "pending", r.txnOffset(v, x, "g", 0, 7, "first"), ok)
		equal(t, "last counts", r.txnOffset(v, x, "g", 0, 8, "n"), ok)
		expect("plain read while pending", 0, false, ok, 1, "seed")
		expect("stable read while pending", 0, true, unstableOffsetCommit, -1, "")
		expect("other partition", 1, true, ok, -1, "")
		s, _ := r.c.Transaction("a")
		equal(t, "partition listed", s.Partitions[0].Topic, offsetsTopic)
		e := r.end(ev, x, true)
		equal(t, "end", e.ErrorCode, ok)
		r.settle()
		expect("committed", 0, true, ok, 8, "n")
		if ev == 5 {
			x.epoch = e.ProducerEpoch
		} else {
			equal(t, "add", r.addOffsets(x, "g"), ok)
		}
		equal(t, "second", r.txnOffset(v, x, "g", 0, 9, "m"), ok)
		r.end(ev, x, false)
		r.settle()
		expect("aborted", 0, true, ok, 8, "n")
	}
}

// A plain commit while the marker is pending wins when the transaction commits.
func TestLaterPlainCommitWins(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.txnOffset(5, x, "g", 0, 7, "n")
	r.plainOffset("g", 0, 3, "plain")
	r.end(5, x, true)
	r.settle()
	_, o, m := r.offset("g", 0, true)
	equal(t, "offset", o, 3)
	equal(t, "metadata", m, "plain")
}

func TestOffsetRefusals(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	equal(t, "metadata", r.plainOffset("g", 0, 1, strings.Repeat("x", 4097)), offsetMetadataTooLarge)
	equal(t, "metadata that fits", r.plainOffset("g", 0, 1, strings.Repeat("x", 4096)), ok)
	equal(t, "missing partition", r.txnOffset(5, x, "g", 9, 1, ""), unknownTopicOrPartition)
	equal(t, "by topic id", r.txnOffset(6, x, "g", 0, 4, "id"), ok)
	old := x
	r.end(5, x, false)
	r.settle()
	equal(t, "stale epoch", r.txnOffset(5, old, "g", 0, 1, ""), invalidProducerEpoch)
	equal(t, "stale add", r.addOffsets(old, "g"), producerFenced)
	equal(t, "wrong coordinator", r.offsetAt(int32(r.c.GroupCoordinator("g")+1)%3), notCoordinator)
}

func (r *rig) offsetAt(node int32) int16 {
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Version = 8
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	q.Groups = append(q.Groups, g)
	return ask1[*kmsg.OffsetFetchResponse](r, node, q).Groups[0].ErrorCode
}

// Evidence can be deleted, and then a committed value reads like none.
func TestDeletedEvidence(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.txnOffset(5, x, "g", 0, 7, "n")
	q := kmsg.NewPtrDeleteGroupsRequest()
	q.Version, q.Groups = 2, []string{"g"}
	d := ask1[*kmsg.DeleteGroupsResponse](r, int32(r.c.GroupCoordinator("g")), q)
	equal(t, "delete while pending", d.Groups[0].ErrorCode, ok)
	equal(t, "commit", r.end(5, x, true).ErrorCode, ok)
	r.settle()
	_, o, _ := r.offset("g", 0, true)
	equal(t, "offset", o, -1)
}

// Offsets and their pending state follow from the log, so they survive a move; the group is not served meanwhile.
func TestOffsetsSurviveAMove(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.Load = Span{50 * time.Millisecond, 50 * time.Millisecond} })
	x := r.init("a")
	r.plainOffset("g", 0, 1, "seed")
	r.txnOffset(5, x, "g", 0, 7, "n")
	old := int32(r.c.GroupCoordinator("g"))
	r.c.MoveGroup("g", int(old+1)%3)
	equal(t, "old coordinator", r.offsetAt(old), notCoordinator)
	equal(t, "loading", r.offsetAt(int32(r.c.GroupCoordinator("g"))), coordinatorLoading)
	r.w.RunFor(100 * time.Millisecond)
	c, _, _ := r.offset("g", 0, true)
	equal(t, "still pending", c, unstableOffsetCommit)
	r.end(5, x, true)
	r.settle()
	_, o, _ := r.offset("g", 0, true)
	equal(t, "committed", o, 7)
}

// "All topics" does not list what is only pending: a reader must name the partitions.
func TestAllTopicsOmitsPending(t *testing.T) {
	r := newRig(t, 1, "k44")
	x := r.init("a")
	r.txnOffset(5, x, "g", 0, 7, "n")
	r.plainOffset("g", 1, 3, "")
	q := kmsg.NewPtrOffsetFetchRequest()
	q.Version, q.RequireStable = 8, true
	q.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
	a := ask1[*kmsg.OffsetFetchResponse](r, int32(r.c.GroupCoordinator("g")), q).Groups[0]
	equal(t, "topics", len(a.Topics), 1)
	equal(t, "partitions", len(a.Topics[0].Partitions), 1)
	equal(t, "partition", a.Topics[0].Partitions[0].Partition, 1)
}
