package brokertest

import (
	"fmt"
	"slices"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

func markerTakesOffset(t *stage.T) {
	name := t.Topic(2)
	one, other := stage.Part(name, 0), stage.Part(name, 1)
	who := t.Writer()
	t.Write(one, who, 0, "a", "b")
	who = t.Finish(who, true, one)
	sequence := int32(2)
	if who.Protocol >= 5 {
		sequence = 0
	}
	t.Write(one, who, sequence, "c")
	t.Finish(who, false, one)
	t.Holds(one, "0:a 1:b 2:COMMIT 3:c 4:ABORT")
	t.Check(t.Offset(other, kafka.Latest, kafka.ReadUncommitted) == 0, "an untouched partition got a marker")
}

func lastStable(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	a, b, plain := t.Writer(), t.Writer(), t.Plain()
	stable := func() int64 { return t.Offset(tp, kafka.Latest, kafka.ReadCommitted) }
	t.Write(tp, plain, 0, "x") // 0
	t.Write(tp, a, 0, "a")     // 1
	t.Write(tp, b, 0, "b")     // 2
	t.Write(tp, plain, 1, "y") // 3
	t.Check(stable() == 1 && t.Offset(tp, kafka.Latest, kafka.ReadUncommitted) == 4, "stable %d", stable())
	f, code := t.Fetch(tp, 0, kafka.ReadCommitted, 1<<20)
	t.Check(code == kafka.OK && f.LastStable == 1 && f.HighWatermark == 4, "fetch %v %+v", code, f)
	f, code = t.Fetch(tp, 1, kafka.ReadCommitted, 1<<20)
	t.Check(code == kafka.OK && len(t.Lines(f.Records)) == 0, "at the last stable offset: %v %v", code, t.Lines(f.Records))
	t.Finish(b, true, tp) // 4
	t.Check(stable() == 1, "the younger one ended, stable %d", stable())
	t.Finish(a, true, tp) // 5
	t.Check(stable() == 6, "both ended, stable %d", stable())
}

func abortedListed(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	a, b := t.Writer(), t.Writer()
	t.Write(tp, a, 0, "a") // 0
	t.Write(tp, b, 0, "b") // 1
	t.Write(tp, a, 1, "c") // 2
	t.Finish(a, false, tp) // 3
	t.Finish(b, true, tp)  // 4
	f, code := t.Fetch(tp, 0, kafka.ReadCommitted, 1<<20)
	t.Check(code == kafka.OK && slices.Equal(f.Aborted, []kafka.AbortedTxn{{ProducerID: a.ProducerID, First: 0}}), "from 0: %v %+v", code, f.Aborted)
	f, _ = t.Fetch(tp, 2, kafka.ReadCommitted, 1<<20)
	t.Check(slices.Equal(f.Aborted, []kafka.AbortedTxn{{ProducerID: a.ProducerID, First: 0}}), "from the middle: %+v", f.Aborted)
	f, _ = t.Fetch(tp, 4, kafka.ReadCommitted, 1<<20)
	t.Check(len(f.Aborted) == 0, "behind the marker: %+v", f.Aborted)
}

func onlyAByte(t *stage.T) {
	name := t.Topic(1)
	tp := stage.Part(name, 0)
	who := t.Writer()
	t.Write(tp, who, 0, "a")
	t.Finish(who, false, tp)
	f, code := t.Fetch(tp, 0, kafka.ReadCommitted, 1)
	t.Check(code == kafka.OK && f.LastStable > 0 && slices.Equal(f.Aborted, []kafka.AbortedTxn{{ProducerID: who.ProducerID, First: 0}}),
		"%v, last stable %d, aborted %+v", code, f.LastStable, f.Aborted)
}

func interleaved(t *stage.T) {
	tp := stage.Part(t.Topic(1), 0)
	var want []string
	writers := []kafka.Identity{t.Writer(), t.Writer(), t.Writer()}
	for round := range 4 {
		for i, who := range writers {
			for j := range int32(2) {
				v := fmt.Sprintf("%d.%d.%d", round, i, j)
				sequence := j
				if who.Protocol < 5 {
					sequence += int32(round) * 2
				}
				at := t.Write(tp, who, sequence, v)
				if (round+i)%2 == 0 {
					want = append(want, fmt.Sprintf("%d:%s", at, v))
				}
			}
		}
		for i := range writers {
			writers[i] = t.Finish(writers[i], (round+i)%2 == 0, tp)
		}
	}
	got := t.Drain(tp, 0, t.Offset(tp, kafka.Latest, kafka.ReadCommitted))
	t.Check(slices.Equal(got, want), "read %v, want %v", got, want)
}
