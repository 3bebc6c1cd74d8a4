package brokertest

import (
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

func markersByHand(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	if next.Protocol < 5 {
		t.Write(tp, next, 1, "b")
	} else {
		t.Write(tp, next, 0, "b")
	}
	p, _ := t.Producer(tp, who.ProducerID)
	code := t.WriteMarker(tp, p, true)
	t.Check(code == kafka.OK, "write marker: %v", code)
	t.Closed(next, tp)
	t.Holds(tp, "0:a 1:COMMIT 2:b 3:COMMIT")
	_, _ = t.End(next, false) // tidies up: the marker above has ended it on the partition
}

// repair repeats a repair of two frames while either is answered with "again"; in the end both must be answered with OK.
func repair(t *stage.T, call func(done func(added, ended kafka.Code, err error))) {
	var added, ended kafka.Code
	for range 100 {
		var err error
		t.Do(func(done func()) {
			call(func(a, e kafka.Code, x error) { added, ended, err = a, e, x; done() })
		})
		if err == nil && added.Class() != kafka.Retry && ended.Class() != kafka.Retry {
			break
		}
		t.Sleep(20 * time.Millisecond)
	}
	t.Check(added == kafka.OK && ended == kafka.OK, "added %v, ended %v", added, ended)
}

func bothAnswered(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	next := t.Finish(who, true, tp)
	t.Settled(who.TransactionalID)
	repair(t, func(done func(added, ended kafka.Code, err error)) {
		t.RepairPartitions(next, []id.TopicPartition{tp}, true, done)
	})
	t.Closed(next, tp)
	t.Settled(who.TransactionalID)
	t.Holds(tp, "0:a 1:COMMIT 2:COMMIT")
}

func offsetsRepaired(t *stage.T) {
	group, lane, _, who := t.LaneAndWriter()
	t.Mark(who, group, lane, 6, "meta")
	repair(t, func(done func(added, ended kafka.Code, err error)) { t.RepairOffsets(who, group, true, done) })
	o := t.StableLane(group, lane)
	t.Check(o.Offset == 6, "%+v", o)
}
