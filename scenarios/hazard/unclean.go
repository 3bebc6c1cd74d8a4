package hazard

import (
	"slices"
	"strconv"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// lagging is a committed transaction whose marker the follower of its partition does not have.
type lagging struct {
	tp               id.TopicPartition
	who, next        kafka.Identity
	leader, follower int32
}

// lag commits while the follower of a partition is held and no longer in sync, so that only the leader has the marker, and kills
// the leader. Neither of them coordinates the transaction. unclean: the topic allows unclean elections.
func (t *Scene) lag(unclean bool) (x lagging) {
	x.who = t.Writer()
	elections := kafka.ConfigEntry{Name: "unclean.leader.election.enable", Value: strconv.FormatBool(unclean)}
	x.tp, x.follower = pairOf(t, t.Find(stage.TxnCoordinator(x.who.TransactionalID)), 1, elections)
	x.leader = t.Find(stage.Leader(x.tp))
	t.Write(x.tp, x.who, 0, "a")
	pause(t, x.follower)
	t.Wait("the ISR to shrink", func() bool { return slices.Equal(isr(t, x.tp), []int32{x.leader}) })
	t.Say("broker %d is held, has fallen behind, and out of the ISR", x.follower)
	var code kafka.Code
	x.next, code = t.EndThrough(x.who, true)
	t.Check(code == kafka.OK, "end: %v", code)
	t.Closed(x.who, x.tp)
	t.Check(slices.Equal(t.Committed(x.tp), []string{"a"}), "read %v", t.Committed(x.tp))
	t.Say("a reader has seen the transaction; broker %d, which leads, dies, and broker %d goes on", x.leader, x.follower)
	kill(t, x.leader)
	resume(t, x.follower)
	return x
}

// markerTruncated has the follower elected although it is not in sync.
func markerTruncated(t *Scene) (bool, string) {
	x := t.lag(true)
	t.Wait("an unclean election", func() bool { return leader(t, x.tp) == x.follower })
	t.Say("broker %d leads, without the marker", x.follower)
	start(t, x.leader)
	t.Visible(x.tp.Topic, pairs)
	open := t.OpenFrom(x.tp, x.who) >= 0 && t.Stable(x.tp) == 0 && t.State(x.who.TransactionalID) == kafka.TxnCompleteCommit
	next := x.next
	if !t.TV2() {
		next = t.Again(x.who)
	}
	t.Write(x.tp, next, 0, "b")
	t.Finish(next, false, x.tp)
	return open && len(t.Committed(x.tp)) == 0, "CompleteCommit, and open again; the next abort of the id took the committed record with it"
}

// markerOutlives allows clean elections only.
func markerOutlives(t *Scene) string {
	x := t.lag(false)
	leaderless(t, x.tp)
	t.Check(!t.Within(wedged, func() bool { return leader(t, x.tp) >= 0 }), "broker %d leads", leader(t, x.tp))
	t.Say("nobody leads: only a replica in sync can")
	start(t, x.leader)
	t.Visible(x.tp.Topic, pairs)
	t.Check(t.OpenFrom(x.tp, x.who) < 0 && slices.Equal(t.Committed(x.tp), []string{"a"}), "read %v", t.Committed(x.tp))
	return "the partition waited for the broker that has the marker"
}
