package checkpoint

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Whatever comes in whatever order, the promises of the protocol hold: one checkpoint pending, no commit before Completed,
// none of n+1 before Confirmed n, every token listed in exactly one Completed, none confirmed before it was committed,
// nothing released that a step back needs.
func TestPromisesHoldInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		actions := []func(*rapid.T){m.time, m.ack, m.ack, m.decline, m.answer, m.answer, m.report, m.report, m.ask, m.end, m.stray, m.round, m.round}
		for range 200 {
			rapid.SampledFrom(actions).Draw(t, "action")(t)
			m.c.Check()
		}
	})
}

// model is the world around a coordinator: a job log, a store and sinks that do what they are told, in any order.
type model struct {
	t        *rapid.T
	c        *Coordinator
	at       env.Instant
	subtasks []id.Subtask
	tokens   []token.Token // prepared in the sinks, not freed

	pending     id.Checkpoint
	acked       []id.Subtask
	waiting     []Fact // answers to effects under way
	notified    []token.Token
	completed   []id.Checkpoint
	confirmed   id.Checkpoint
	committed   []token.Token
	listed      []token.Token
	released    id.Checkpoint
	newest      id.Checkpoint
	over        bool
	retain      int
	alarm       env.Instant
	asked, end_ bool
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, retain: rapid.IntRange(1, 3).Draw(t, "retain")}
	for v := range id.Vertex(2) {
		for i := range int32(2) {
			m.subtasks = append(m.subtasks, id.Subtask{Vertex: v, Index: i})
		}
	}
	m.c = New(Config{
		Interval: time.Second, Timeout: 3 * time.Second, Tolerated: 2, Retain: m.retain,
		Pause: time.Duration(rapid.IntRange(0, 2).Draw(t, "pause")) * time.Second,
	}, Sound(),
		Place{Subtasks: m.subtasks, Sources: m.subtasks[:2], Generation: 1})
	m.step(Started{})
	return m
}

func (m *model) step(f Fact) {
	if m.over {
		return
	}
	prev := m.c.Snapshot()
	effects := slices.Clone(m.c.Step(m.at, f))
	m.c.Check()
	m.c.CheckDelta(prev)
	for _, e := range effects {
		m.execute(e)
	}
}

func (m *model) require(ok bool, format string, args ...any) {
	if !ok {
		m.t.Fatalf(format, args...)
	}
}

func (m *model) execute(e Effect) {
	switch e := e.(type) {
	case Alarm:
		m.alarm = e.At
	case Trigger:
		m.require(m.pending == 0, "%v while %d is pending", e, m.pending)
		m.require(e.Checkpoint > m.newest, "%v after %d", e, m.newest)
		m.pending, m.newest, m.acked = e.Checkpoint, e.Checkpoint, nil
	case Dropped:
		m.require(m.pending == e.Checkpoint, "%v while %d is pending", e, m.pending)
		m.pending = 0
	case Persist:
		m.require(len(m.acked) == len(m.subtasks), "%v with acks of %v", e, m.acked)
		n := e.Manifest.Checkpoint
		m.waiting = append(m.waiting, Persisted{n, joblog.CheckpointRef{Checkpoint: n}})
	case AppendCompleted:
		for _, k := range e.Tokens {
			m.require(find(m.listed, k) < 0, "%v lists %v again", e, k)
			m.listed = append(m.listed, k)
		}
		m.waiting = append(m.waiting, CompletedAppended{e.Ref.Checkpoint})
	case Notify:
		m.require(slices.Contains(m.completed, e.Checkpoint), "%v before it is completed", e)
		for _, n := range m.completed {
			m.require(n >= e.Checkpoint || n <= m.confirmed, "%v while %d is unconfirmed", e, n)
		}
		m.notified = append(m.notified, e.Tokens...)
	case Confirm:
		for _, k := range e.Tokens {
			m.require(find(m.committed, k) >= 0, "%v before %v is committed", e, k)
		}
		m.waiting = append(m.waiting, CommitsConfirmed{e.Checkpoint})
	case AppendConfirmed:
		m.waiting = append(m.waiting, ConfirmedAppended(e))
	case Freed:
		m.tokens = slices.DeleteFunc(slices.Clone(m.tokens), func(k token.Token) bool { return find(m.committed, k) >= 0 && k.Checkpoint <= e.Checkpoint })
	case AppendSavepoint:
		m.require(e.Checkpoint <= m.confirmed && e.Checkpoint > m.released, "%v: confirmed %d, released %d", e, m.confirmed, m.released)
		m.waiting = append(m.waiting, SavepointAppended(e))
	case Seal:
		m.require(e.Ref.Checkpoint > m.released, "%v after its release", e)
		m.waiting = append(m.waiting, Sealed{e.Ref.Checkpoint})
	case Release:
		m.require(e.Checkpoint < m.confirmed && e.Checkpoint > m.released, "%v: confirmed %d, released %d", e, m.confirmed, m.released)
		m.released = e.Checkpoint
	case Restart, Halt, Finish:
		m.over = true
	default:
		m.t.Fatalf("unknown effect %v", e)
	}
}

func (m *model) time(t *rapid.T) {
	m.at = m.at.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
	if m.alarm != 0 && m.at >= m.alarm {
		m.alarm = 0
		m.step(Woken{})
	}
}

// ack is a subtask's answer to the pending checkpoint: its own token and every older one that is not freed.
func (m *model) ack(t *rapid.T) {
	if m.over || m.pending == 0 || len(m.acked) == len(m.subtasks) {
		return
	}
	s := rapid.SampledFrom(m.subtasks).Draw(t, "subtask")
	if slices.Contains(m.acked, s) {
		return
	}
	f := Acked{Subtask: s, Checkpoint: m.pending}
	if s.Vertex == 1 {
		if rapid.IntRange(0, 3).Draw(t, "output") > 0 {
			m.tokens = append(m.tokens, token.Token{Sink: "out", Subtask: s.Index, Checkpoint: m.pending, TransactionalID: fmt.Sprint(s.Index, m.pending%4)})
		}
		for _, k := range m.tokens {
			if k.Subtask == s.Index {
				f.State.Tokens = append(f.State.Tokens, k)
			}
		}
	}
	expired := m.c.pending == nil || m.at >= m.c.pending.expiry
	if !expired {
		m.acked = append(m.acked, s)
	}
	m.step(f)
}

// round takes a checkpoint from its trigger to the log, so that several are unconfirmed at once; some answers stay out.
func (m *model) round(t *rapid.T) {
	if m.alarm != 0 && m.pending == 0 {
		m.at = max(m.at, m.alarm)
		m.alarm = 0
		m.step(Woken{})
	}
	for range 3 * len(m.subtasks) {
		m.ack(t)
	}
	for range rapid.IntRange(0, 4).Draw(t, "answers") {
		m.answer(t)
	}
}

func (m *model) decline(t *rapid.T) {
	if m.over || m.pending == 0 || rapid.IntRange(0, 8).Draw(t, "rarely") > 0 {
		return
	}
	m.step(Declined{rapid.SampledFrom(m.subtasks).Draw(t, "subtask"), m.pending, "no"})
}

// answer brings one of the outstanding answers, not always the oldest.
func (m *model) answer(t *rapid.T) {
	if m.over || len(m.waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.waiting)-1).Draw(t, "which")
	f := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	switch f := f.(type) {
	case CompletedAppended:
		m.completed = append(m.completed, f.Checkpoint)
		if m.pending == f.Checkpoint {
			m.pending = 0
		}
	case ConfirmedAppended:
		m.require(f.Checkpoint > m.confirmed, "confirmed %d after %d", f.Checkpoint, m.confirmed)
		m.confirmed = f.Checkpoint
	}
	m.step(f)
}

func (m *model) report(t *rapid.T) {
	if m.over || len(m.notified) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.notified)-1).Draw(t, "which")
	k := m.notified[i]
	m.notified = slices.Delete(m.notified, i, i+1)
	m.committed = append(m.committed, k)
	state := operator.Committed
	if rapid.IntRange(0, 200).Draw(t, "refused") == 0 {
		state = operator.Refused
	}
	m.step(CommitsReported{Results: []operator.CommitResult{{Token: k, State: state}}})
}

func (m *model) ask(t *rapid.T) {
	if m.over || m.asked || rapid.IntRange(0, 30).Draw(t, "rarely") > 0 {
		return
	}
	m.asked = true
	m.step(SavepointAsked{Stop: rapid.Bool().Draw(t, "stop")})
}

func (m *model) end(t *rapid.T) {
	if m.over || m.end_ || rapid.IntRange(0, 60).Draw(t, "rarely") > 0 {
		return
	}
	m.end_ = true
	m.step(InputEnded{m.subtasks[0]})
	m.step(InputEnded{m.subtasks[1]})
}

// stray is what comes late or twice.
func (m *model) stray(t *rapid.T) {
	if m.over {
		return
	}
	n := id.Checkpoint(rapid.IntRange(0, int(m.newest)).Draw(t, "number"))
	s := rapid.SampledFrom(m.subtasks).Draw(t, "subtask")
	if n == m.pending && !slices.Contains(m.acked, s) {
		return
	}
	m.step(Acked{Subtask: s, Checkpoint: n})
	if n != m.pending {
		m.step(Declined{s, n, "late"})
	}
}
