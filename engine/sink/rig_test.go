package sink_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// rig is a world with a cluster, one machine for the JobManager and one for the subtasks. It plays the job: what it
// appends to the log, and when, is what the engine's JobManager does.
type rig struct {
	t           testing.TB
	w           *sim.World
	c           *simbroker.Cluster
	jm, tm      *sim.Node
	log         *memoryLog
	kafka       sink.Kafka
	rules       *sink.Rules
	confirm     *sink.Committer
	next        id.Checkpoint
	limit       time.Duration // of a confirm
	accept      bool
	parallelism int32

	wrote  []string // records handed to Write, in order
	lastID int
}

func newRig(t testing.TB, seed uint64, profile string, change ...func(*simbroker.Config)) *rig {
	t.Helper()
	p, known := simbroker.ProfileOf(profile)
	if !known {
		t.Fatalf("no profile %s", profile)
	}
	cfg := simbroker.Config{Profile: p, ScanInterval: 500 * time.Millisecond, Encode: true}
	for _, fn := range change {
		fn(&cfg)
	}
	w := sim.New(sim.Options{Seed: seed, Checks: true, KeepTrace: true})
	r := &rig{t: t, w: w, c: simbroker.New(w, cfg), rules: sink.DefaultRules()}
	w.BrokerPort = r.c.Requests
	r.jm, r.tm = w.NewNode("jm1", nil), w.NewNode("tm1", nil)
	r.jm.Start()
	r.tm.Start()
	r.run(500 * time.Millisecond)
	r.c.CreateTopic(simbroker.TopicSpec{Name: "out", Partitions: 3})
	r.kafka = sink.Kafka{Topic: "out", TransactionTimeout: 20 * time.Second}
	r.log = &memoryLog{state: joblog.State{Job: "j"}}
	r.next = 1
	return r
}

func (r *rig) alive() {
	r.t.Helper()
	if f := r.w.Failure(); f != nil {
		r.t.Fatalf("world failed: %v\n%s", f, f.Stack)
	}
}

func (r *rig) run(d time.Duration) {
	r.t.Helper()
	r.w.RunFor(d)
	r.alive()
}

// until runs the world until a condition holds.
func (r *rig) until(what string, cond func() bool) {
	r.t.Helper()
	ok := r.w.RunUntil(cond, r.w.Now().Add(5*time.Minute))
	r.alive()
	if !ok {
		r.t.Fatalf("%s: not within five minutes", what)
	}
}

// memoryLog is a job log in memory: joblog.Log is tested on its own.
type memoryLog struct {
	state   joblog.State
	entries []joblog.Entry
}

func (l *memoryLog) add(e joblog.Entry) error {
	e.Position = id.Position(len(l.entries) + 1)
	if e.Kind == joblog.Claimed {
		e.Generation = id.Generation(e.Position)
	} else {
		e.Generation = l.state.Generation
	}
	s, err := l.state.Fold(e)
	if err != nil {
		return err
	}
	l.state, l.entries = s, append(l.entries, e)
	return nil
}

// appender appends as one generation.
type appender struct {
	l    *memoryLog
	gen  id.Generation
	post func(func())
}

func (a appender) Append(e joblog.Entry, done func(joblog.State, error)) {
	a.post(func() {
		if a.l.state.Generation != a.gen {
			done(a.l.state, joblog.ErrSuperseded)
			return
		}
		err := a.l.add(e)
		done(a.l.state, err)
	})
}

func (r *rig) claim() id.Generation {
	r.t.Helper()
	if err := r.log.add(joblog.Entry{Kind: joblog.Claimed}); err != nil {
		r.t.Fatal(err)
	}
	return r.log.state.Generation
}

// restore claims and runs the restore order.
func (r *rig) restore() operator.RestoreOutcome {
	r.t.Helper()
	out, done := r.startRestore(r.claim())
	r.until("restore", done)
	return *out
}

// started restores and opens subtask 0 of the new generation.
func (r *rig) started() *subtask {
	r.t.Helper()
	r.restore()
	return r.open(r.log.state.Generation, 0)
}

// completedOne starts subtask 0, writes that many records and completes checkpoint 1, whose tokens it returns.
func (r *rig) completedOne(records int) (*subtask, []token.Token) {
	r.t.Helper()
	st := r.started()
	st.write(records)
	tokens := r.barrier(1, st)
	r.complete(1, tokens)
	return st, tokens
}

func (r *rig) startRestore(gen id.Generation) (*operator.RestoreOutcome, func() bool) {
	var out operator.RestoreOutcome
	finished := false
	loop := r.jm.NewLoop("jm")
	p := r.jm.Process()
	loop.Post(func() {
		r.confirm = sink.NewCommitter(sink.CommitterConfig{
			Process: p, Loop: loop, Job: "j", Generation: gen, Sinks: []sink.Spec{r.kafka.Spec("s", max(2, r.parallelism))}, Rules: r.rules,
			ConfirmTimeout: r.limit,
		}).(*sink.Committer)
		in := operator.RestoreInput{Generation: gen, State: r.log.state, AcceptLoss: r.accept}
		r.confirm.Restore(in, appender{r.log, gen, loop.Post}, func(o operator.RestoreOutcome) { out, finished = o, true })
	})
	return &out, func() bool { return finished }
}

// subtask is one writer on a loop of its own.
type subtask struct {
	r    *rig
	s    operator.Sink
	loop *sim.Loop
	fail error
}

func (r *rig) open(gen id.Generation, index int32) *subtask {
	r.t.Helper()
	k := r.kafka
	k.Rules = r.rules
	st := &subtask{r: r, s: k.New(), loop: r.tm.NewLoop(fmt.Sprintf("task%d", index))}
	opened := false
	var err error
	ctx := operator.Context{
		Process: r.tm.Process(), Loop: st.loop, Job: "j", Operator: "s", Generation: gen, Subtask: id.Subtask{Vertex: 1, Index: index},
		Parallelism: 2, Guarantee: operator.ExactlyOnce, Fail: func(e error) { st.fail = e }, Wake: func() {},
	}
	st.loop.Post(func() { st.s.Open(ctx, nil, func(e error) { opened, err = true, e }) })
	r.until("open", func() bool { return opened })
	if err != nil {
		r.t.Fatalf("open: %v", err)
	}
	return st
}

// write writes n records whose keys nobody has used before.
func (st *subtask) write(n int) {
	st.r.t.Helper()
	for range n {
		st.r.lastID++
		key := fmt.Sprintf("r%d", st.r.lastID)
		st.r.until("ready", func() bool {
			ready := false
			st.do(func() { ready = st.s.Ready() })
			return ready
		})
		st.do(func() {
			rec := operator.Record{Key: []byte(key), Value: []byte("v" + key), Timestamp: st.r.tm.Process().Wall().UnixMilli(), Partition: -1}
			if err := st.s.Write(&rec); err != nil {
				st.r.t.Fatalf("write: %v", err)
			}
		})
		st.r.wrote = append(st.r.wrote, key)
	}
}

// do runs fn on the subtask's loop and waits for it.
func (st *subtask) do(fn func()) {
	done := false
	st.loop.Post(func() { fn(); done = true })
	st.r.w.RunUntil(func() bool { return done }, st.r.w.Now().Add(time.Minute))
	st.r.alive()
}

// barrier takes a checkpoint's tokens of some subtasks.
func (r *rig) barrier(n id.Checkpoint, tasks ...*subtask) []token.Token {
	r.t.Helper()
	var tokens []token.Token
	missing := len(tasks)
	for _, st := range tasks {
		st.do(func() {
			st.s.Barrier(n, func(t []token.Token) { tokens = append(tokens, t...); missing-- })
		})
	}
	r.until("barrier", func() bool { return missing == 0 })
	return tokens
}

func (r *rig) complete(n id.Checkpoint, tokens []token.Token) {
	r.t.Helper()
	ref := joblog.CheckpointRef{Checkpoint: n, Generation: r.log.state.Generation}
	if err := r.log.add(joblog.Entry{Kind: joblog.Completed, Checkpoint: n, Ref: &ref, Tokens: tokens}); err != nil {
		r.t.Fatal(err)
	}
}

// commit sends the commits and returns the results.
func (r *rig) commit(tokens []token.Token, tasks ...*subtask) []operator.CommitResult {
	r.t.Helper()
	var results []operator.CommitResult
	for _, tok := range tokens {
		st := tasks[int(tok.Subtask)%len(tasks)]
		st.do(func() { st.s.Commit(tok, func(res operator.CommitResult) { results = append(results, res) }) })
	}
	r.until("commit", func() bool { return len(results) == len(tokens) })
	return results
}

func (r *rig) startConfirm(n id.Checkpoint, tokens []token.Token) (*operator.ConfirmOutcome, func() bool) {
	var out operator.ConfirmOutcome
	finished := false
	r.confirm.Confirm(n, tokens, func(o operator.ConfirmOutcome) { out, finished = o, true })
	return &out, func() bool { return finished }
}

// confirmed confirms, appends and frees.
func (r *rig) confirmed(n id.Checkpoint, tokens []token.Token, tasks ...*subtask) {
	r.t.Helper()
	out, done := r.startConfirm(n, tokens)
	r.until("confirm", done)
	if out.Resolve || out.Err != nil {
		r.t.Fatalf("confirm %d: %+v", n, *out)
	}
	if err := r.log.add(joblog.Entry{Kind: joblog.Confirmed, Checkpoint: n}); err != nil {
		r.t.Fatal(err)
	}
	for _, st := range tasks {
		st.do(func() { st.s.Freed(n) })
	}
}

// visible is what a read_committed reader sees, sorted.
func (r *rig) visible() []string {
	var keys []string
	for p := range int32(3) {
		for _, l := range r.c.ReadCommitted("out", p) {
			keys = append(keys, string(l.Record.Key))
		}
	}
	sort.Strings(keys)
	return keys
}

// expectOnce checks that exactly the keys given are visible, each once.
func (r *rig) expectOnce(keys []string) {
	r.t.Helper()
	want := append([]string(nil), keys...)
	sort.Strings(want)
	if got := r.visible(); strings.Join(got, " ") != strings.Join(want, " ") {
		r.t.Fatalf("visible:\n%v\nwant:\n%v\n%s", got, want, r.trace())
	}
}

// expectClosed checks that no output partition has an open transaction.
func (r *rig) expectClosed() {
	r.t.Helper()
	if open := r.c.OpenTransactions(); len(open) > 0 {
		r.t.Fatalf("open: %+v", open)
	}
}

func (r *rig) expectReached(p probe.Probe) {
	r.t.Helper()
	for _, i := range r.w.Reached() {
		if i == p.Index() {
			return
		}
	}
	r.t.Fatalf("probe %q was not reached", p.Name())
}

func (r *rig) entries() string {
	var s []string
	for _, e := range r.log.entries {
		s = append(s, string(e.Kind))
	}
	return strings.Join(s, " ")
}

// trace is what the committer and the writers said.
func (r *rig) trace() string {
	var b strings.Builder
	if err := r.w.WriteTrace(&b, false); err != nil {
		return err.Error()
	}
	var lines []string
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.Contains(l, " accept ") && !strings.Contains(l, " close ") {
			lines = append(lines, l)
		}
	}
	return "log: " + r.entries() + "\n" + strings.Join(lines[max(0, len(lines)-250):], "\n")
}

// onHook runs fn at the first pass of a point.
func (r *rig) onHook(p hook.Point, fn func()) {
	done := false
	r.w.OnHook(func(_ string, e hook.Event) {
		if e.Point == p && !done {
			done = true
			fn()
		}
	})
}

// crashTasks ends the process of the subtasks and starts another one.
func (r *rig) crashTasks() {
	r.tm.Crash()
	r.tm.Start()
	r.run(10 * time.Millisecond)
}

// forgetConfirmed takes the confirms of the log back: what a log looks like whose owner died just before them.
func (r *rig) forgetConfirmed() {
	entries := r.log.entries
	*r.log = memoryLog{state: joblog.State{Job: "j"}}
	for _, e := range entries {
		if e.Kind == joblog.Confirmed || e.Kind == joblog.Fenced {
			e = joblog.Entry{Kind: joblog.Fenced} // keeps the positions
		}
		if err := r.log.add(e); err != nil {
			r.t.Fatal(err)
		}
	}
}

// seedLane does what a zombie of a generation does when it opens.
func (r *rig) seedLane(gen id.Generation, partition int32) {
	loop := r.jm.NewLoop("zombie")
	client := kafka.New(kafka.Config{Process: r.jm.Process(), Loop: loop})
	done := false
	o := kafka.Offset{Topic: sink.MarkerTopic("j"), Partition: partition, Metadata: fmt.Sprintf("j seed g%d at=1", gen)}
	loop.Post(func() {
		client.OffsetCommit(sink.Group("j", "s"), []kafka.Offset{o}, func(code kafka.Code, err error) {
			if code != kafka.OK || err != nil {
				r.t.Errorf("seed: %v %v", code, err)
			}
			done = true
		})
	})
	r.until("seed", func() bool { return done })
}
