package jobmanager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/exchange"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/taskmanager"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simblob"
)

// bench is a simulated world with JobManagers and TaskManagers, whose tasks are fakes: each reads one split without end, or
// up to a stop, and prepares one transaction per checkpoint.
type bench struct {
	t     *testing.T
	w     *sim.World
	store *simblob.Store
	job   *graph.Job
	width int32
	stop  int64 // positions end here; -1: unbounded

	config  func(c *jobmanager.Config) // may be nil
	events  []told
	commits []token.Token            // that reached the fake Kafka
	mute    bool                     // tasks do not ack
	deaf    bool                     // tasks do not react to a cancel
	failing bool                     // tasks fail soon after they run
	lag     time.Duration            // tasks take so long to end
	refuse  int                      // so many commits are refused
	deleted *operator.ConfirmOutcome // what the next confirm finds; nil: nothing
	fatal   []error
	starts  []task.Spec

	tasks []*fakeTask
}

type told struct {
	node string
	jobmanager.Event
}

func newBench(t *testing.T, seed uint64) *bench {
	b := &bench{t: t, width: 2, stop: -1}
	b.w = sim.New(sim.Options{Seed: seed, Checks: true})
	b.store = simblob.New(b.w)
	t.Cleanup(b.w.Close)
	b.job = fakeJob(b, "source", "out")
	return b
}

func fakeJob(b *bench, source, sink id.Operator) *graph.Job {
	j := graph.NewJob("fake")
	j.Add(graph.Operator{UID: source, Kind: graph.Source, Source: fakeSource{b}})
	j.Add(graph.Operator{UID: sink, Kind: graph.Sink, Ports: 1, Sink: fakeSink{}})
	j.Connect(graph.Edge{From: 0, To: 1, Shipping: graph.Forward})
	return j
}

type fakeSource struct{ b *bench }

func (s fakeSource) New() operator.Source            { panic("tasks are fakes") }
func (s fakeSource) Enumerator() operator.Enumerator { return s }
func (s fakeSource) Discover(loop env.Loop, _ *proc.Process, known []operator.Split, done func([]operator.Split, error)) {
	splits := slices.Clone(known)
	for p := int32(len(known)); p < 3; p++ {
		splits = append(splits, operator.Split{Topic: "in", Partition: p, Stop: s.b.stop})
	}
	loop.After(time.Millisecond, func() { done(splits, nil) })
}

type fakeSink struct{}

func (fakeSink) New() operator.Sink { panic("tasks are fakes") }

// jm adds a JobManager.
func (b *bench) jm(name string, standby bool) *sim.Node {
	return b.w.NewNode(name, func(p *proc.Process) { jobmanager.New(p, b.jmConfig(name, standby)) })
}

func (b *bench) jmConfig(name string, standby bool) jobmanager.Config {
	c := jobmanager.Config{
		Job: b.job, Parallelism: graph.Parallelism{Default: b.width}, Standby: standby, Check: true,
		NewCommitter: func(c jobmanager.CommitterContext) operator.Committer { return &fakeCommitter{b: b, loop: c.Loop} },
		Checkpoint:   checkpoint.Config{Interval: time.Second, Timeout: 3 * time.Second, Retain: 2},
		OnEvent:      func(e jobmanager.Event) { b.events = append(b.events, told{name, e}) },
	}
	if b.config != nil {
		b.config(&c)
	}
	return c
}

// tm adds a TaskManager that registers with these JobManagers.
func (b *bench) tm(name string, jms ...env.Addr) *sim.Node {
	return b.w.NewNode(name, func(p *proc.Process) {
		taskmanager.New(p, taskmanager.Config{
			Job: b.job, Parallelism: graph.Parallelism{Default: b.width}, JobManagers: jms, Slots: 1,
			Start: b.start, CancelTimeout: 10 * time.Second,
			Fatal: func(op id.Operator, err error) { b.fatal = append(b.fatal, fmt.Errorf("%s: %w", op, err)) },
		})
	})
}

// simple is one JobManager and two TaskManagers, started.
func (b *bench) simple() (jm, tm1, tm2 *sim.Node) {
	jm = b.jm("jm1", false)
	tm1, tm2 = b.tm("tm1", "jm1"), b.tm("tm2", "jm1")
	jm.Start()
	tm1.Start()
	tm2.Start()
	return jm, tm1, tm2
}

// until runs the world until an event of this kind, the n-th, has been told.
func (b *bench) until(kind jobmanager.EventKind, n int) told {
	b.t.Helper()
	var found told
	if !b.w.RunUntil(func() bool {
		count := 0
		for _, e := range b.events {
			if e.Kind == kind {
				if count++; count == n {
					found = e
					return true
				}
			}
		}
		return false
	}, b.w.Now().Add(5*time.Minute)) {
		b.t.Fatalf("%v does not come %d times\n%s", kind, n, b)
	}
	return found
}

func (b *bench) run(d time.Duration) { b.w.RunFor(d) }

func (b *bench) count(kind jobmanager.EventKind) int {
	n := 0
	for _, e := range b.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (b *bench) String() string {
	var s strings.Builder
	for _, e := range b.events {
		fmt.Fprintf(&s, "%8dms %s %v\n", e.At/1e6, e.node, e.Event)
	}
	if f := b.w.Failure(); f != nil {
		fmt.Fprintf(&s, "%v\n%s\n", f, f.Stack)
	}
	return s.String()
}

// log is the whole job log, oldest first, each entry proven to follow the one before.
func (b *bench) log() []joblog.Entry {
	b.t.Helper()
	var all []joblog.Entry
	for _, k := range b.store.Keys(joblog.Prefix) {
		object, _ := b.store.Peek(k)
		p, _ := joblog.ParseKey(k)
		e, err := joblog.Decode(p, object)
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// sound checks what must hold whatever happened: no failure of the world, a commit only of what the log completed before,
// confirmed only what was committed.
func (b *bench) sound() {
	b.t.Helper()
	if f := b.w.Failure(); f != nil {
		b.t.Fatalf("%v\n%s\n%s", f, f.Stack, b)
	}
	var listed []token.Token
	completed := id.Checkpoint(0)
	for _, e := range b.log() {
		switch e.Kind {
		case joblog.Completed:
			if e.Ref.Checkpoint <= completed {
				b.t.Fatalf("checkpoint %d completed after %d", e.Ref.Checkpoint, completed)
			}
			completed = e.Ref.Checkpoint
			for _, k := range e.Tokens {
				if same(listed, k) {
					b.t.Fatalf("token listed twice: %v", k)
				}
				listed = append(listed, k)
			}
		case joblog.Confirmed:
			for _, k := range listed {
				if k.Checkpoint <= e.Checkpoint && !same(b.commits, k) {
					b.t.Fatalf("confirmed %d without a commit of %v", e.Checkpoint, k)
				}
			}
		}
	}
	for _, k := range b.commits {
		if !same(listed, k) {
			b.t.Fatalf("committed and never completed: %v", k)
		}
	}
}

func same(list []token.Token, k token.Token) bool {
	return slices.ContainsFunc(list, func(o token.Token) bool {
		return o.TransactionalID == k.TransactionalID && o.Checkpoint == k.Checkpoint
	})
}

// fakeTask reads ten positions a checkpoint.
type fakeTask struct {
	b         *bench
	loop      env.Loop
	spec      task.Spec
	host      task.Host
	positions []checkpoint.Position
	tokens    []token.Token

	node                 env.Addr
	startedAt, stoppedAt env.Instant
	stopped              bool
}

func (b *bench) start(p *proc.Process, spec task.Spec, _ *exchange.Exchange, host task.Host) taskmanager.Hosted {
	f := &fakeTask{b: b, loop: p.NewLoop("task"), spec: spec, host: host, node: p.Name, startedAt: p.Now()}
	for _, s := range spec.Splits {
		f.positions = append(f.positions, checkpoint.Position(s))
	}
	b.starts = append(b.starts, spec)
	b.tasks = append(b.tasks, f)
	f.loop.After(5*time.Millisecond, func() {
		host.Running(spec.Subtask)
		if b.failing {
			f.loop.After(50*time.Millisecond, f.fail)
		}
		if b.stop >= 0 {
			f.loop.After(1500*time.Millisecond, func() { host.InputEnded(spec.Subtask) })
		}
	})
	return f
}

func (f *fakeTask) Trigger(n id.Checkpoint, _ task.BarrierKind) {
	f.loop.Post(func() {
		if f.b.mute {
			return
		}
		if f.b.failing {
			f.fail()
			return
		}
		for i := range f.positions {
			f.positions[i].Position += 10
		}
		f.tokens = append(f.tokens, token.Token{
			Sink: "out", Subtask: f.spec.Subtask.Index, Checkpoint: n, Generation: f.spec.Generation,
			TransactionalID: fmt.Sprintf("g%d.%d.%d", f.spec.Generation, f.spec.Subtask.Index, n),
		})
		state := checkpoint.SubtaskState{Tokens: slices.Clone(f.tokens), Operators: []checkpoint.OperatorState{
			{Operator: "source", Positions: slices.Clone(f.positions)}, {Operator: "out", Plain: []byte{byte(n)}},
		}}
		f.loop.After(20*time.Millisecond, func() { f.host.Acked(f.spec.Subtask, n, state) })
	})
}

func (f *fakeTask) Commit(n id.Checkpoint, tokens []token.Token) {
	f.loop.After(10*time.Millisecond, func() {
		var results []operator.CommitResult
		for _, k := range tokens {
			if f.b.refuse > 0 {
				f.b.refuse--
				results = append(results, operator.CommitResult{Token: k, State: operator.Refused, Reason: "fenced"})
				continue
			}
			f.b.commits = append(f.b.commits, k)
			results = append(results, operator.CommitResult{Token: k})
		}
		f.host.Committed(f.spec.Subtask, n, results)
	})
}

func (f *fakeTask) Freed(n id.Checkpoint) {
	f.loop.Post(func() {
		f.tokens = slices.DeleteFunc(f.tokens, func(k token.Token) bool { return k.Checkpoint <= n })
	})
}

func (f *fakeTask) Completed(id.Checkpoint) {}

func (f *fakeTask) Cancel() {
	f.loop.After(f.b.lag+time.Millisecond, func() {
		if !f.b.deaf {
			f.end()
			f.host.Stopped(f.spec.Subtask)
		}
	})
}

func (f *fakeTask) end() {
	f.stopped, f.stoppedAt = true, f.b.w.Now()
	f.loop.Close()
}

func (f *fakeTask) fail() {
	f.end()
	f.host.Failed(f.spec.Subtask, "out", task.Origin{Source: "source", Partition: 1, Offset: 42}, "boom")
}

// fakeCommitter commits everything undecided.
type fakeCommitter struct {
	b    *bench
	loop env.Loop
}

func (c *fakeCommitter) Restore(in operator.RestoreInput, log joblog.Appender, done func(operator.RestoreOutcome)) {
	c.b.commits = append(c.b.commits, in.State.Undecided...)
	s := in.State
	if s.Completed == nil {
		c.loop.Post(func() { done(operator.RestoreOutcome{}) })
		return
	}
	n := s.Completed.Checkpoint
	if n == s.Confirmed {
		c.loop.Post(func() { done(operator.RestoreOutcome{From: n}) })
		return
	}
	log.Append(joblog.Entry{Kind: joblog.Confirmed, Checkpoint: n}, func(_ joblog.State, err error) {
		done(operator.RestoreOutcome{From: n, Err: err})
	})
}

func (c *fakeCommitter) Confirm(_ id.Checkpoint, _ []token.Token, done func(operator.ConfirmOutcome)) {
	var o operator.ConfirmOutcome
	if c.b.deleted != nil {
		o, c.b.deleted = *c.b.deleted, nil
	}
	c.loop.After(3*time.Millisecond, func() { done(o) })
}

func (c *fakeCommitter) Close() {}

// blobFaults makes one in four operations on the store fail, half of them after their effect.
func (b *bench) blobFaults() {
	b.store.FaultBlob(sim.BlobFault{Effect: sim.BlobFailAfter, OneIn: 4})
	b.store.FaultBlob(sim.BlobFault{Effect: sim.BlobFailBefore, OneIn: 8})
}
