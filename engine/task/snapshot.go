package task

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/token"
)

// snapshot is a checkpoint of this subtask on its way: it is acked when nothing is missing any more.
type snapshot struct {
	t       *Task
	n       id.Checkpoint
	ops     []checkpoint.OperatorState
	tokens  [][]token.Token // per sink
	missing int
	over    bool // acked or declined
}

// trigger injects a barrier into a source.
func (t *Task) trigger(m stream.Mark) {
	defer t.recoverUser()
	switch {
	case t.phase == starting:
		t.decline(m.Checkpoint, "the task is not running yet")
	case t.phase != running || t.source == nil || m.Checkpoint <= t.newest:
	default:
		t.barriers = append(t.barriers, m)
		t.takeBarriers()
	}
}

// takeBarriers snapshots for barriers that have arrived. A barrier waits while a sink has not taken all records before it;
// nothing is processed meanwhile. It reports whether none is left.
func (t *Task) takeBarriers() bool {
	for len(t.barriers) > 0 && t.phase == running {
		if !t.drainSinks() {
			return false
		}
		m := t.barriers[0]
		t.barriers = t.barriers[1:]
		if m.Checkpoint > t.newest {
			t.newest = m.Checkpoint
			t.snapshot(m)
		}
	}
	return t.phase == running
}

// snapshot is what a subtask does at a barrier, in one go: what comes after it is of the next epoch.
func (t *Task) snapshot(m stream.Mark) {
	n := m.Checkpoint
	s := &snapshot{t: t, n: n, tokens: make([][]token.Token, len(t.sinks)), missing: 1}
	var positions []checkpoint.Position
	if t.source != nil {
		t.hook(hook.K0BarrierInjected, n)
		for _, p := range t.source.src.Snapshot(n) {
			positions = append(positions, checkpoint.Position{Topic: p.Topic, Partition: p.Partition, Position: p.Position, Stop: p.Stop})
		}
		t.hook(hook.K1PositionsSnapshotted, n)
	}
	s.missing += len(t.sinks)
	for i, k := range t.sinks {
		k.ready = false
		k.sink.Barrier(n, func(tokens []token.Token) {
			s.tokens[i] = tokens
			s.done()
		})
	}
	for _, o := range t.outputs {
		o.barrier(m)
	}
	frozen := make([]state.Frozen, len(t.chain.State))
	entries := 0
	for op, b := range t.chain.State {
		if b != nil {
			frozen[op] = b.Freeze()
			entries += frozen[op].Entries()
		}
	}
	t.entry(entrySnapshot, uint64(n), uint64(entries))
	t.hook(hook.K2StateSnapshotted, n)
	for _, op := range t.spec.Plan.Vertices[t.spec.Subtask.Vertex].Operators {
		o := checkpoint.OperatorState{Operator: t.uid(op)}
		if t.spec.Plan.Job.Operators[op].Kind == graph.Source {
			o.Positions = positions
		}
		s.ops = append(s.ops, o)
		if f := frozen[op]; f != nil && f.Entries() > 0 {
			s.missing++
			s.upload(len(s.ops)-1, f)
		}
	}
	t.loop.Post(s.done) // never within the call
}

// upload writes frozen state off the loop and stores it.
func (s *snapshot) upload(at int, f state.Frozen) {
	t := s.t
	var object []byte
	groups := t.chain.KeyGroups
	t.work.Offload(func() { object = state.Encode(f, groups) }, func() {
		key := StateKey(t.spec.Generation, s.n, t.spec.Subtask, s.ops[at].Operator)
		s.store(key, object, 1, func() {
			s.ops[at].Keyed = []checkpoint.Handle{{Key: key, Bytes: int64(len(object)), CRC: state.CRC(object)}}
			s.done()
		})
	})
}

// store creates an object. Nobody else creates this key, so an object that exists is ours: the reply was lost.
func (s *snapshot) store(key blob.Key, object []byte, try int, done func()) {
	t := s.t
	if t.phase != running || s.over {
		return
	}
	t.store.Create(key, object, func(err error) {
		switch {
		case err == nil || errors.Is(err, blob.ErrExists):
			done()
		case try >= t.spec.Options.Uploads:
			s.decline(fmt.Sprintf("upload of %s: %v", key, err))
		default:
			t.loop.After(backoff(try), func() { s.store(key, object, try+1, done) })
		}
	})
}

func backoff(try int) time.Duration { return min(50*time.Millisecond<<(try-1), 2*time.Second) }

func (s *snapshot) decline(reason string) {
	if s.over || s.t.phase != running {
		return
	}
	s.over = true
	s.t.decline(s.n, reason)
}

// done counts one part; the last one acks.
func (s *snapshot) done() {
	t := s.t
	if s.missing--; s.missing > 0 || s.over || t.phase != running {
		return
	}
	s.over = true
	tokens := slices.Concat(s.tokens...)
	t.entry(entryAcked, uint64(s.n), uint64(len(tokens)))
	t.host.Acked(t.spec.Subtask, s.n, checkpoint.SubtaskState{
		Vertex: t.spec.Subtask.Vertex, Index: t.spec.Subtask.Index, Operators: s.ops, Tokens: tokens,
	})
	t.hook(hook.K5AckSent, s.n)
}
