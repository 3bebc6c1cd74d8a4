package brokertest

import (
	"github.com/onefold/onefold/engine/broker/stage"
)

func protocolFour(t *stage.T) {
	name := t.Topic(2)
	tp, other := stage.Part(name, 0), stage.Part(name, 1)
	who := t.Init(t.Name("txn"), 4)
	t.Join(who, tp, other)
	t.Write(tp, who, 0, "a")
	t.Write(other, who, 0, "b")
	next := t.Finish(who, true, tp, other)
	t.Check(next == who, "%+v, then %+v", who, next)
	t.Write(tp, who, 1, "c")
	t.Finish(who, false, tp)
	t.Holds(tp, "0:a 1:COMMIT 2:c 3:ABORT")
	t.Holds(other, "0:b 1:COMMIT")
}
