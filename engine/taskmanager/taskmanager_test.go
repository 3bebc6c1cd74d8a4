package taskmanager

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
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/token"
	"github.com/onefold/onefold/engine/wire"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simblob"
)

// bench is one TaskManager and two JobManagers that say what the test lets them say.
type bench struct {
	t     *testing.T
	w     *sim.World
	job   *graph.Job
	conns map[string]env.Conn
	heard map[string][]wire.Message // without heartbeats
	beats map[string]wire.Message   // what is said every second; nil: silence
	tasks []*fake
}

type nothing struct{}

func (nothing) New() operator.Source            { return nil }
func (nothing) Enumerator() operator.Enumerator { return nil }

type nowhere struct{}

func (nowhere) New() operator.Sink { return nil }

func newBench(t *testing.T) *bench {
	b := &bench{t: t, w: sim.New(sim.Options{Seed: 1}), conns: map[string]env.Conn{}, heard: map[string][]wire.Message{}, beats: map[string]wire.Message{}}
	t.Cleanup(b.w.Close)
	simblob.New(b.w)
	b.job = graph.NewJob("fake")
	b.job.Add(graph.Operator{UID: "in", Kind: graph.Source, Source: nothing{}})
	b.job.Add(graph.Operator{UID: "out", Kind: graph.Sink, Ports: 1, Sink: nowhere{}})
	b.job.Connect(graph.Edge{From: 0, To: 1, Shipping: graph.Forward})
	for _, name := range []string{"jm1", "jm2"} {
		b.w.NewNode(name, func(p *proc.Process) {
			loop := p.NewLoop("scripted")
			p.Transport(loop).Listen(func(c env.Conn) env.Handler {
				b.conns[name] = c
				return &scripted{b, name}
			})
			var tick func()
			tick = func() {
				if m := b.beats[name]; m != nil {
					b.say(name, m)
				}
				loop.After(time.Second, tick)
			}
			loop.Post(tick)
		}).Start()
	}
	b.w.NewNode("tm1", func(p *proc.Process) {
		New(p, Config{Job: b.job, Parallelism: graph.Parallelism{Default: 1}, JobManagers: []env.Addr{"jm1", "jm2"}, Slots: 3, Start: b.start})
	}).Start()
	b.w.RunFor(300 * time.Millisecond)
	return b
}

type scripted struct {
	b    *bench
	name string
}

func (s *scripted) OnMessage(_ env.Conn, frame []byte) {
	m, err := wire.Decode(frame)
	if err != nil {
		s.b.t.Error(err)
	}
	if _, pulse := m.(*wire.Pulse); !pulse {
		s.b.heard[s.name] = append(s.b.heard[s.name], m)
	}
}

func (s *scripted) OnClose(env.Conn, error) { s.b.conns[s.name] = nil }

func (b *bench) say(jm string, m wire.Message) {
	if c := b.conns[jm]; c != nil {
		c.Send(wire.Encode(m))
	}
}

// tell says it and lets it arrive.
func (b *bench) tell(jm string, m wire.Message) {
	b.say(jm, m)
	b.w.RunFor(100 * time.Millisecond)
}

// took is what a JobManager has heard since it was asked last, one word each.
func (b *bench) took(jm string) string {
	var words []string
	for _, m := range b.heard[jm] {
		words = append(words, strings.TrimPrefix(fmt.Sprintf("%T", m), "*wire."))
	}
	b.heard[jm] = nil
	return strings.Join(words, " ")
}

func (b *bench) want(jm, want string) {
	b.t.Helper()
	if got := b.took(jm); got != want {
		b.t.Errorf("%s heard %q, not %q", jm, got, want)
	}
}

func (b *bench) deploy(g id.Generation) wire.Message {
	return &wire.Deploy{
		Generation: g, Job: "fake-1", Parallelism: []int32{1}, Graph: b.job.Fingerprint(), Places: []env.Addr{"tm1"},
		Subtasks: []wire.Assignment{{Subtask: id.Subtask{}, Splits: []operator.Split{{Topic: "t", Position: 7}}}},
		States:   []checkpoint.SubtaskState{{Operators: []checkpoint.OperatorState{{Operator: "out", Plain: []byte{1}}, {Operator: "other", Plain: []byte{2}}}}},
	}
}

// fake is a task that notes what it is told.
type fake struct {
	spec task.Spec
	host task.Host
	told []string
	slow bool // ends only when the test says so
	loop env.Loop
}

func (b *bench) start(p *proc.Process, spec task.Spec, _ *exchange.Exchange, host task.Host) Hosted {
	f := &fake{spec: spec, host: host, loop: p.NewLoop("task")}
	b.tasks = append(b.tasks, f)
	f.loop.Post(func() { host.Running(spec.Subtask) })
	return f
}

func (f *fake) note(format string, args ...any) {
	f.told = append(f.told, fmt.Sprintf(format, args...))
}

func (f *fake) Trigger(n id.Checkpoint, k task.BarrierKind) { f.note("trigger %d %v", n, k) }
func (f *fake) Commit(n id.Checkpoint, tokens []token.Token) {
	f.note("commit %d of %d", n, len(tokens))
}
func (f *fake) Freed(n id.Checkpoint)     { f.note("freed %d", n) }
func (f *fake) Completed(n id.Checkpoint) { f.note("completed %d", n) }
func (f *fake) Cancel() {
	f.note("cancel")
	if !f.slow {
		f.loop.Post(func() { f.host.Stopped(f.spec.Subtask) })
	}
}

// A TaskManager registers everywhere, and its tasks are told what concerns them.
func TestTasksAreTold(t *testing.T) {
	b := newBench(t)
	b.want("jm1", "Register")
	b.want("jm2", "Register")
	b.tell("jm1", b.deploy(5))
	b.want("jm1", "Running")
	b.want("jm2", "")
	b.tell("jm1", b.deploy(5)) // once is enough
	f := b.tasks[0]
	if len(b.tasks) != 1 || len(f.spec.Restored) != 1 || len(f.spec.Restored[0].Operators) != 1 || f.spec.Splits[0].Position != 7 {
		t.Fatalf("%d tasks, the first with %+v", len(b.tasks), f.spec)
	}
	b.tell("jm1", &wire.Trigger{Generation: 5, Checkpoint: 1, Kind: checkpoint.Stop})
	b.tell("jm1", &wire.Notice{Generation: 5, Checkpoint: 1, Tokens: []token.Token{{Sink: "out"}, {Sink: "out", Subtask: 1}, {Sink: "elsewhere"}}})
	b.tell("jm1", &wire.Freed{Generation: 5, Checkpoint: 1})
	want := []string{"trigger 1 savepoint", "completed 1", "commit 1 of 1", "freed 1"}
	if !slices.Equal(f.told, want) {
		t.Errorf("told %q", f.told)
	}
	f.host.Acked(id.Subtask{}, 1, checkpoint.SubtaskState{})
	f.host.Declined(id.Subtask{}, 1, "no")
	f.host.InputEnded(id.Subtask{})
	f.host.Committed(id.Subtask{}, 1, nil)
	b.w.RunFor(10 * time.Millisecond)
	b.want("jm1", "Ack Decline InputEnded Committed")
}

// What belongs to an older generation is refused, and nothing of it is started or told.
func TestOlderGenerationIsRefused(t *testing.T) {
	b := newBench(t)
	b.took("jm2")
	b.tell("jm1", b.deploy(5))
	b.took("jm1")
	for _, m := range []wire.Message{
		b.deploy(4), &wire.Beat{Generation: 4, Active: true}, &wire.Trigger{Generation: 4, Checkpoint: 9},
		&wire.Notice{Generation: 4, Checkpoint: 9}, &wire.Freed{Generation: 4, Checkpoint: 9}, &wire.Cancel{Generation: 4},
	} {
		b.tell("jm2", m)
		b.want("jm2", "Outdated")
	}
	b.tell("jm2", &wire.Beat{Generation: 9}) // not active: it owns nothing
	b.want("jm2", "")
	if len(b.tasks) != 1 || len(b.tasks[0].told) != 0 {
		t.Errorf("%d tasks, told %v", len(b.tasks), b.tasks[0].told)
	}
}

// A newer generation ends the tasks of the older one, and its own start after the last of them has ended. What the old
// ones still say goes to nobody.
func TestNewerGenerationTakesOver(t *testing.T) {
	b := newBench(t)
	b.tell("jm1", b.deploy(5))
	b.took("jm1")
	b.took("jm2")
	old := b.tasks[0]
	old.slow = true
	b.tell("jm2", b.deploy(8))
	if len(b.tasks) != 1 || !slices.Equal(old.told, []string{"cancel"}) {
		t.Fatalf("%d tasks, the old one was told %v", len(b.tasks), old.told)
	}
	old.host.Acked(id.Subtask{}, 3, checkpoint.SubtaskState{})
	b.w.RunFor(10 * time.Millisecond)
	old.host.Stopped(id.Subtask{})
	b.w.RunFor(10 * time.Millisecond)
	if len(b.tasks) != 2 || b.tasks[1].spec.Generation != 8 {
		t.Fatalf("%d tasks", len(b.tasks))
	}
	b.want("jm2", "Running")
	b.want("jm1", "")
}

// When no active JobManager is heard for the heartbeat timeout, tasks are cancelled; one that is merely connected does not
// count.
func TestSilentJobManagerCancelsTasks(t *testing.T) {
	b := newBench(t)
	b.tell("jm1", b.deploy(5))
	b.beats["jm1"], b.beats["jm2"] = &wire.Beat{Generation: 5, Active: true}, &wire.Beat{}
	b.w.RunFor(20 * time.Second)
	if len(b.tasks[0].told) != 0 {
		t.Fatalf("told %v", b.tasks[0].told)
	}
	b.beats["jm1"] = &wire.Beat{Generation: 5}
	b.w.RunFor(8 * time.Second)
	if !slices.Equal(b.tasks[0].told, []string{"cancel"}) {
		t.Errorf("told %v", b.tasks[0].told)
	}
	if got := b.took("jm1"); !strings.HasSuffix(got, "Cancelled") {
		t.Errorf("jm1 heard %q", got)
	}
}

// A deployment for another job or parallelism fails in words.
func TestUnfitDeployment(t *testing.T) {
	b := newBench(t)
	d := b.deploy(5).(*wire.Deploy)
	d.Graph = "another"
	b.took("jm1")
	b.tell("jm1", d)
	f, ok := b.heard["jm1"][0].(*wire.Failed)
	if !ok || !strings.Contains(f.Reason, "job graph") {
		t.Errorf("heard %+v", b.heard["jm1"])
	}
	d.Generation, d.Graph, d.Parallelism = 6, b.job.Fingerprint(), []int32{2}
	b.heard["jm1"] = nil
	b.tell("jm1", d)
	if f, ok := b.heard["jm1"][0].(*wire.Failed); !ok || !strings.Contains(f.Reason, "parallelism") {
		t.Errorf("heard %+v", b.heard["jm1"])
	}
}

// A broken connection is made again, and bytes that are no message end one.
func TestBrokenConnectionIsMadeAgain(t *testing.T) {
	b := newBench(t)
	b.took("jm1")
	b.conns["jm1"].Send([]byte("not a message"))
	b.w.RunFor(500 * time.Millisecond)
	b.want("jm1", "Register")
	b.w.Node("jm1").Restart()
	b.w.RunFor(3 * time.Second)
	if got := b.took("jm1"); !strings.HasSuffix(got, "Register") {
		t.Errorf("heard %q after its restart", got)
	}
}
