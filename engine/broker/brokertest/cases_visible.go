package brokertest

import (
	"slices"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

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
