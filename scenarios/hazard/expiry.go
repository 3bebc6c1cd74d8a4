package hazard

import (
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// expiry are the hazards of what a cluster forgets or uses up.
var expiry = []Hazard{
	{
		Number: 17, Title: "producer state expired",
		Story:    "A partition forgets a producer that was idle, or whose records have old event times. A batch repeated after that is not known again, and is appended a second time.",
		Where:    everywhere,
		ClosedBy: "transactions: an open one is not forgotten, and a repeat behind its end is refused; LogAppendTime",
		Show:     producerForgotten,
		Cure:     appendTimeRemembers,
		Engine: []Trial{
			{
				Plan: "hazards/H17-forgotten", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, reached("simbroker: producer forgotten by a partition"), lateAnswer("Produce", kafka.InvalidProducerEpoch)},
			},
			refused,
		},
		Control: "no-guarantee",
		Needs:   Needs{Alone: true, Settings: []Setting{{"producer.id.expiration.check.interval.ms", "500"}}},
		Real:    Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 18, Title: "transactional id expired",
		Story:    "An id was idle for seven days, and its last commit is in an old savepoint: EndTxn is answered 49, and no coordinator knows what became of it.",
		Where:    everywhere,
		ClosedBy: "the marker inside the transaction, and the log itself: both outlive the id",
		Show:     idExpired,
		Cure:     laneRemembers,
		Engine: []Trial{
			{
				Plan: "hazards/H18-expired", Profiles: []string{"k37", "k39", "k400", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, undecided, rotated, reached("sink: resolve said committed")},
			},
			refused,
		},
		NoControl: "every engine here reads the lane",
		Needs: Needs{Alone: true, Settings: []Setting{
			{"transactional.id.expiration.ms", "2000"}, {"transaction.remove.expired.transaction.cleanup.interval.ms", "500"},
		}},
		Real: Real{Feasible: true, Note: "one broker"},
	},
	{
		Number: 19, Title: "epochs are used up",
		Story:    "The commit at epoch 32766 moves to a new producer id. Its answer is lost, the coordinator moves, and the repeat is answered 49 although it is committed.",
		Where:    Places{{From: "k400", To: "k42", TV: []int16{2}}},
		ClosedBy: "4.3 keeps the previous producer id; after the next transition it is 49 everywhere: lane and log decide",
		Show:     epochsUsedUp,
		Engine: []Trial{
			{
				Plan: "hazards/H19-rotation", Profiles: []string{"k39", "k400", "k401", "k41", "k42", "k43", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, rotated, reached("sink: EndTxn repeated after a lost reply")},
			},
			refused,
		},
		NoControl: "every engine here reads the lane",
		Needs:     Needs{MaxEpoch: 5},
		Real:      Real{Feasible: true, Note: "one broker, restarted after 32,766 initialisations of the id: a minute"},
	},
	{
		Number: 27, Title: "first batches out of order",
		Story:    "Two batches are under way to a partition that knows nothing of their producer, and the second arrives first: it is taken, and the first one can never be written.",
		Where:    Places{{TV: []int16{0, 1}}, {From: "k400", To: "k401", TV: []int16{2}}},
		ClosedBy: "4.1 at TV2 (KAFKA-18202), 4.5 for all (KAFKA-15591); one batch under way per partition",
		Show:     firstOutOfOrder,
		Cure:     oneUnderWay,
		Engine: []Trial{
			{
				Plan: "hazards/H27-first-late", Profiles: []string{"k37", "k39", "k400", "k401", "k41", "k44-tv1", "k44"}, Verdict: checker.Clean,
				Evidence: []Evidence{struck, lateAnswer("Produce", kafka.OutOfOrderSequence)},
			},
			refused,
		},
		NoControl: "the client has one batch under way per partition",
		Real:      Real{Feasible: true, Note: "one broker"},
	},
}

func idExpired(t *Scene) (bool, string) {
	_, _, who, next := t.idle()
	_, code := t.Another().End(who, true)
	_, described := t.Transaction(next.TransactionalID)
	return code == kafka.InvalidProducerIDMapping && described == kafka.TransactionalIDNotFound,
		fmt.Sprintf("the commit is answered %v, Describe %v", code, described)
}

// idle is a committed transaction with a marker whose id is forgotten.
func (t *Scene) idle() (group string, lane id.TopicPartition, who, next kafka.Identity) {
	group, lane, data, who := t.LaneAndWriter()
	t.Write(data, who, 0, "a")
	t.T.Mark(who, group, lane, 7, "seven")
	next = t.Finish(who, true, data)
	t.Say("nobody uses the id for as long as the cluster remembers it")
	t.Wait("the expiry", func() bool {
		_, code := t.Transaction(who.TransactionalID)
		return code == kafka.TransactionalIDNotFound
	})
	return group, lane, who, next
}

func laneRemembers(t *Scene) string {
	group, lane, _, _ := t.idle()
	got := t.StableLane(group, lane)
	t.Check(got.Offset == 7 && got.Metadata == "seven", "the lane reads %d %q", got.Offset, got.Metadata)
	return "the marker inside the transaction reads 7: committed"
}

func epochsUsedUp(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	last := t.MaxEpoch() - 1
	for who.ProducerEpoch < last {
		who = t.Again(who)
	}
	t.Write(tp, who, 0, "last")
	next := t.Finish(who, true, tp)
	if next.ProducerID == who.ProducerID {
		return false, "an end moves no epoch here, and no producer id"
	}
	t.Say("the answer, producer %d epoch %d, is lost, and the coordinator moves", next.ProducerID, next.ProducerEpoch)
	t.Settled(who.TransactionalID)
	_, code := t.Another().End(who, true)
	t.Check(code == kafka.OK, "repeated before the move: %v", code)
	t.MoveCoordinator(who.TransactionalID)
	_, code = t.Another().End(who, true)
	t.Check(slices.Contains(t.Committed(tp), "last"), "it is not committed")
	if code != kafka.OK {
		return true, "a committed transaction answers " + code.String() + " to its own commit"
	}
	return false, "the repeat is answered 0"
}

// MaxEpoch is the highest epoch of a producer id.
func (t *Scene) MaxEpoch() int16 {
	if s, ok := t.Backend.(simulated); ok {
		return s.Cluster.Profile().MaxEpoch
	}
	return 32767
}

func firstOutOfOrder(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Join(who, tp)
	_, second := t.Send(tp, who, 1, "second")
	_, first := t.Send(tp, who, 0, "first")
	if second != kafka.OK {
		t.Check(first == kafka.OK || first == kafka.OutOfOrderSequence, "first: %v", first)
		return false, "the second is refused with " + second.String()
	}
	return first == kafka.OutOfOrderSequence, "the second was taken as the first, which is refused with " + first.String()
}

func oneUnderWay(t *Scene) string {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "first")
	t.Write(tp, who, 1, "second")
	t.Finish(who, true, tp)
	t.Holds(tp, "0:first 1:second 2:COMMIT")
	return "one after the other both are there, in order"
}

func producerForgotten(t *Scene) (bool, string) {
	tp := stage.Part(t.Topic(1), 0)
	read := t.repeatedLater(tp)
	return slices.Equal(read, []string{"a", "b", "b"}), fmt.Sprintf("the reader sees %v", read)
}

// repeatedLater writes two records with old event times, waits for the scan, and repeats the second one.
func (t *Scene) repeatedLater(tp id.TopicPartition) []string {
	who := t.Plain()
	t.Write(tp, who, 0, "a")
	t.Write(tp, who, 1, "b")
	t.Sleep(3 * time.Second)
	t.Say("the broker has looked for producers to forget; the second batch is repeated")
	_, code := t.Another().Send(tp, who, 1, "b")
	t.Check(code == kafka.OK, "repeat: %v", code)
	return t.Committed(tp)
}

func appendTimeRemembers(t *Scene) string {
	tp := stage.Part(t.Topic(1, kafka.ConfigEntry{Name: "message.timestamp.type", Value: "LogAppendTime"}), 0)
	read := t.repeatedLater(tp)
	t.Check(slices.Equal(read, []string{"a", "b"}), "read %v", read)
	return "with LogAppendTime the producer is remembered, and the repeat is known again"
}
