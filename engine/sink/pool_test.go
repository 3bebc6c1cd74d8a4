package sink

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// poolWorld runs a pool by text commands; each prints the effects and the slots afterwards.
type poolWorld struct {
	pool   *Pool
	tokens map[id.Checkpoint]token.Token
	epochs map[int32]int16
	nowMs  int64
}

// Each file tells one story of a subtask's transactional ids: facts, and under each what the pool does. If one changed
// silently, an id could be taken for a transaction while its last one is undecided.
func TestPoolScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/pool", func(t *testing.T, path string) {
		w := &poolWorld{tokens: map[id.Checkpoint]token.Token{}, epochs: map[int32]int16{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.run(t, d) })
	})
}

func (w *poolWorld) run(t *testing.T, d *datadriven.TestData) string {
	var n, number, limit int64
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "ckpt":
			fmt.Sscan(a.Vals[0], &n)
		case "number":
			fmt.Sscan(a.Vals[0], &number)
		case "max":
			fmt.Sscan(a.Vals[0], &limit)
		case "now":
			fmt.Sscan(a.Vals[0], &w.nowMs)
		}
	}
	ckpt := id.Checkpoint(n)
	switch d.Cmd {
	case "start":
		w.pool = NewPool(PoolConfig{Job: "j", Sink: "out", Generation: 5, Subtask: 2, Initial: min(3, int32(limit)), Max: int32(limit), ReseedMs: 1000, Rules: DefaultRules()})
		var carried []token.Token
		if n > 0 {
			w.tokens[ckpt] = token.Token{Sink: "out", Subtask: 2, Checkpoint: ckpt, Generation: 4, TransactionalID: "onefold.j.out.g4.2.0", ProducerID: 77, ProducerEpoch: 1}
			carried = append(carried, w.tokens[ckpt])
		}
		return w.step(PoolStarted{carried})
	case "ready":
		k := int32(number)
		w.epochs[k]++
		name := Name{Job: "j", Sink: "out", Generation: 5, Subtask: 2, Number: k}.String()
		who := kafka.Identity{TransactionalID: name, ProducerID: 100 + number, ProducerEpoch: w.epochs[k], Protocol: 5}
		return w.step(IDReady{k, who, token.Lane{Partition: LanePartition(2, k), Metadata: "seed"}, w.nowMs})
	case "want":
		return w.step(Wanted{w.nowMs})
	case "barrier":
		return w.step(BarrierReached{ckpt, w.nowMs})
	case "sealed":
		return w.step(EpochSealed{int32(number), []token.Range{{Topic: "t", Partition: 0, First: 10 * number, Last: 10*number + 3, Count: 4}}})
	case "commit":
		return w.step(CommitAsked{w.tokens[ckpt]})
	case "committed":
		return w.step(CommitEnded{operator.CommitResult{Token: w.tokens[ckpt], State: operator.Committed}})
	case "refused":
		return w.step(CommitEnded{operator.CommitResult{Token: w.tokens[ckpt], State: operator.Refused, Reason: "fenced"}})
	case "freed":
		return w.step(CheckpointFreed{ckpt})
	case "broken":
		return w.step(PoolBroken{"a record failed"})
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

func (w *poolWorld) step(fact any) string {
	var b strings.Builder
	for _, e := range w.pool.Step(fact) {
		b.WriteString(w.text(e) + "\n")
	}
	b.WriteString("=")
	for i, s := range w.pool.slots {
		fmt.Fprintf(&b, " %d:%v", i, s.state)
		if s.token.Checkpoint > 0 {
			fmt.Fprintf(&b, "(%d)", s.token.Checkpoint)
		}
	}
	return b.String() + "\n"
}

func (w *poolWorld) text(e any) string {
	switch e := e.(type) {
	case PrepareID:
		return fmt.Sprintf("prepare %s lane=%d", e.ID, e.Partition)
	case BeginTransaction:
		return fmt.Sprintf("begin %s", who(e.Identity))
	case SealEpoch:
		return fmt.Sprintf("seal ckpt=%d %s lane=%d %q", e.Checkpoint, who(e.Identity), e.Partition, e.Metadata)
	case SnapshotTokens:
		s := fmt.Sprintf("snapshot ckpt=%d", e.Checkpoint)
		for _, t := range e.Tokens {
			w.tokens[t.Checkpoint] = t
			s += fmt.Sprintf(" [%v]", t)
		}
		return s
	case SendCommit:
		return fmt.Sprintf("end %v", e.Token)
	case ReportCommit:
		return fmt.Sprintf("report %v state=%d %s", e.Result.Token, e.Result.State, e.Result.Reason)
	case ReachedInPool:
		return "probe " + e.Probe.Name()
	case FailTask:
		return "fail " + e.Reason
	}
	return fmt.Sprintf("%+v", e)
}
