package faults

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"
)

// fakeTarget records what is done to it.
type fakeTarget struct {
	now    time.Duration
	timers []fakeTimer
	busy   map[string]bool
	down   map[string]bool
	log    []string
	hits   []func()
}

type fakeTimer struct {
	at time.Duration
	fn func()
}

func newFake() *fakeTarget { return &fakeTarget{busy: map[string]bool{}, down: map[string]bool{}} }

func (t *fakeTarget) Now() time.Duration { return t.now }
func (t *fakeTarget) Nodes() []Node {
	return []Node{{"tm1", TaskManager}, {"tm2", TaskManager}, {"jm1", JobManager}, {"broker1", Broker}}
}
func (t *fakeTarget) InFlight(node string) bool { return t.busy[node] && !t.down[node] }
func (t *fakeTarget) After(d time.Duration, fn func()) {
	t.timers = append(t.timers, fakeTimer{t.now + d, fn})
}

func (t *fakeTarget) Do(a Action) bool {
	t.log = append(t.log, fmt.Sprintf("%s %s", t.now, a))
	if a.Hit != nil {
		t.hits = append(t.hits, a.Hit)
	}
	switch a.Op {
	case Crash:
		was := t.down[a.Node]
		t.down[a.Node] = true
		return !was
	case Restart:
		t.down[a.Node] = false
	}
	return true
}

func (t *fakeTarget) Locate(string) string { return "broker1" }

func (t *fakeTarget) advance(to time.Duration) {
	for {
		sort.SliceStable(t.timers, func(i, j int) bool { return t.timers[i].at < t.timers[j].at })
		if len(t.timers) == 0 || t.timers[0].at > to {
			t.now = to
			return
		}
		next := t.timers[0]
		t.timers = t.timers[1:]
		t.now = next.at
		next.fn()
	}
}

func arm(t *testing.T, target Target, lines ...string) *Nemesis {
	t.Helper()
	p := Plan{}
	for _, l := range lines {
		f, err := ParseFault(l)
		if err != nil {
			t.Fatal(err)
		}
		p.Faults = append(p.Faults, f)
	}
	n, err := NewNemesis(p, target)
	if err != nil {
		t.Fatal(err)
	}
	n.Arm()
	return n
}

func (t *fakeTarget) expect(tb testing.TB, want ...string) {
	tb.Helper()
	if got := strings.Join(t.log, "\n"); got != strings.Join(want, "\n") {
		tb.Errorf("done:\n%s\nwanted:\n%s", got, strings.Join(want, "\n"))
	}
}

// A crash that does not come back leaves a run that cannot settle, whatever the engine does.
func TestCrashAtATimeRestarts(t *testing.T) {
	w := newFake()
	w.busy["tm2"] = true
	n := arm(t, w, "at 12.4s crash tm2 for 3s")
	w.advance(20 * time.Second)
	w.expect(t, "12.4s crash tm2", "15.4s restart tm2")
	if o := n.Outcomes()[0]; !o.Fired || !o.Struck || o.Hook != NoHook || o.At != 12400*time.Millisecond {
		t.Errorf("outcome %+v", o)
	}
}

// Faults that hit an idle node prove nothing and must not count as coverage.
func TestStrikeOnIdleNodeHitsNothing(t *testing.T) {
	w := newFake()
	n := arm(t, w, "at 1s crash tm2 for 1s", "at 1s pause tm1 for 1s", "on k14 crash tm1 for 1s", "on k3 pause tm1 for 1s")
	w.advance(2 * time.Second)
	n.Passed(Passed{Node: "jm1", Hook: 0, Checkpoint: 1, Vertex: -1})
	n.Passed(Passed{Node: "jm1", Hook: 14, Checkpoint: 1, Vertex: -1})
	w.advance(9 * time.Second)
	c := Coverage{}
	p := Plan{Faults: []Fault{{Kind: CrashFault}, {Kind: PauseFault}, {Kind: CrashFault}, {Kind: PauseFault}}}
	c.Add(p, n.Outcomes())
	if c.Nothing(CrashFault) != 2 || c.Nothing(PauseFault) != 1 || c.Unfired(PauseFault) != 1 || c.Struck(CrashFault, 14) != 0 {
		t.Errorf("coverage %+v", c)
	}
	if len(c.Never()) != 2 {
		t.Errorf("never struck: %v", c.Never())
	}
}

// A hook trigger strikes in mid-callback, at the checkpoint, subtask and occurrence that it names and at no other.
func TestHookTriggerMatchesOnlyItsConditions(t *testing.T) {
	w := newFake()
	n := arm(t, w, "on k5 checkpoint=3 subtask=v1/0 nth=2 crash self for 1s")
	pass := func(node string, ckpt uint64, vertex, subtask int32) {
		n.Passed(Passed{Node: node, Hook: 5, Checkpoint: ckpt, Vertex: vertex, Subtask: subtask})
	}
	n.Passed(Passed{Node: "tm1", Hook: 0, Checkpoint: 3, Vertex: 0})
	pass("tm1", 2, 1, 0)
	pass("tm1", 3, 1, 1)
	pass("tm1", 3, 1, 0)
	if len(w.log) != 0 {
		t.Fatalf("struck early: %v", w.log)
	}
	pass("tm2", 3, 1, 0)
	pass("tm1", 3, 1, 0)
	w.expect(t, "0s crash tm2")
	if o := n.Outcomes()[0]; !o.Struck || o.Hook != 5 {
		t.Errorf("outcome %+v", o)
	}
}

// Two faults that hold one node down must not let each other's end bring it back early.
func TestOverlappingHoldsEndWithTheLast(t *testing.T) {
	w := newFake()
	arm(t, w, "at 1s crash tm1 for 5s", "at 2s crash tm1 for 1s")
	w.advance(10 * time.Second)
	w.expect(t, "1s crash tm1", "2s crash tm1", "6s restart tm1")
}

// The burn ends: everything that is held is let go once, and nothing strikes any more.
func TestHealUndoesAndDisarms(t *testing.T) {
	w := newFake()
	n := arm(t, w, "at 1s partition tm1 all for 1m", "at 30s crash tm1 for 1s", "on k3 crash self for 1s")
	w.advance(2 * time.Second)
	w.log = nil
	n.Heal()
	n.Passed(Passed{Node: "tm1", Hook: 3, Checkpoint: 1})
	w.advance(2 * time.Minute)
	w.expect(t, "2s join tm1 -> tm2", "2s join tm2 -> tm1", "2s join tm1 -> jm1", "2s join jm1 -> tm1",
		"2s join tm1 -> broker1", "2s join broker1 -> tm1", "2s calm")
}

// A commit held back beyond the transaction timeout must not be let go by the end of the burn, or nothing ever times out.
func TestBurnWaitsForTransactionTimeout(t *testing.T) {
	w := newFake()
	n := arm(t, w, "on k7 transaction-timeout all for 62s", "at 55s crash tm1 for 9s")
	w.advance(10 * time.Second)
	if n.BurnUntil(time.Minute) != time.Minute {
		t.Error("waits for nothing")
	}
	n.Passed(Passed{Node: "jm1", Hook: 7, Checkpoint: 1})
	w.advance(time.Minute)
	if got := n.BurnUntil(time.Minute); got != 87*time.Second {
		t.Errorf("burns until %s", got)
	}
}

// A leader that moves while nothing is in flight strikes what begins right afterwards; one after the end strikes nothing.
func TestStrikesThatLastAreWatched(t *testing.T) {
	w := newFake()
	n := arm(t, w, "at 1s move-leader totals/0", "at 5s move-leader totals/1", "at 9s pause tm1 for 100ms")
	w.advance(1100 * time.Millisecond)
	w.busy["tm2"] = true
	w.advance(4 * time.Second)
	w.busy["tm2"] = false
	w.advance(9120 * time.Millisecond)
	w.busy["tm1"] = true // when the pause is over
	w.advance(20 * time.Second)
	for i, want := range []bool{true, false, false} {
		if o := n.Outcomes()[i]; !o.Fired || o.Struck != want {
			t.Errorf("fault %d: %+v", i, o)
		}
	}
}

// A request fault struck when the request came, not when it was armed; heartbeats lost in a partition are no strike.
func TestHitsCountWhenTheyComeAndMatter(t *testing.T) {
	w := newFake()
	n := arm(t, w, "on k9 lose-reply EndTxn tm1 for 1", "at 1s partition-one-way tm1 jm1 for 9s")
	n.Passed(Passed{Node: "tm1", Hook: 9, Checkpoint: 1})
	w.expect(t, "0s lose-reply tm1 EndTxn for 1")
	if n.Outcomes()[0].Struck {
		t.Error("counts as struck before the request came")
	}
	w.hits[0]()
	if o := n.Outcomes()[0]; !o.Struck || o.Hook != 9 || o.Hits != 1 {
		t.Errorf("outcome %+v", o)
	}
	w.advance(2 * time.Second)
	w.hits[1]()
	if o := n.Outcomes()[1]; o.Struck || o.Hits != 1 || o.Hook != 9 {
		t.Errorf("a heartbeat counts: %+v", o)
	}
	w.busy["tm1"] = true
	w.hits[1]()
	if o := n.Outcomes()[1]; !o.Struck {
		t.Errorf("a message of a busy node does not count: %+v", o)
	}
}

// Every kind must reach the target, or a swarm draws faults that do nothing.
func TestEveryKindActs(t *testing.T) {
	for _, l := range []struct{ fault, want string }{
		{"crash all for 1s", "crash tm1, crash tm2, crash jm1, crash broker1"},
		{"pause jm1 for 1s", "pause jm1"},
		{"crash process1 for 1s", "crash jm1, crash tm1, crash tm2"},
		{"crash leader for 1s", "crash broker1"},
		{"pause coordinator for 1s", "pause broker1"},
		{"partition-one-way processes brokers for 1s", "cut tm1 -> broker1, cut tm2 -> broker1, cut jm1 -> broker1"},
		{"partition-one-way process1 leader for 1s", "cut jm1 -> broker1, cut tm1 -> broker1, cut tm2 -> broker1"},
		{"partition tm1 jm1 for 1s", "cut tm1 -> jm1, cut jm1 -> tm1"},
		{"partition-one-way tm1 jm1 for 1s", "cut tm1 -> jm1"},
		{"lose-request Produce tm1 for 2", "lose-request tm1 Produce for 2"},
		{"lose-reply EndTxn all for 1", "lose-reply tm1 EndTxn for 1, lose-reply tm2 EndTxn for 1, lose-reply jm1 EndTxn for 1"},
		{"late EndTxn tm1 by 2s for 1", "late-reply tm1 EndTxn by 2s for 1"},
		{"repeat EndTxn tm1 for 1", "repeat-request tm1 EndTxn for 1"},
		{"transaction-timeout all for 70s", "pause tm1, pause tm2, pause jm1"},
		{"blob-slow jm1 by 1s for 3", "blob-slow jm1 by 1s for 3"},
		{"blob-fail-before jm1 for 1s", "blob-fail-before jm1"},
		{"blob-fail-after jm1 for 2", "blob-fail-after jm1 for 2"},
		{"clock-jump tm1 by -1h", "jump-clock tm1 by -1h0m0s"},
		{"move-coordinator all", "move-coordinator"},
		{"move-coordinator broker1", "move-coordinator broker1"},
		{"move-leader totals/1", "move-leader totals/1"},
		{"no-leader totals/1 for 1s", "drop-leader totals/1"},
		{"slow-operator tm1 by 8 for 1s", "slow-node tm1 by 8"},
		{"slow-link tm1 jm1 by 200ms for 1s", "slow-link tm1 -> jm1 by 200ms, slow-link jm1 -> tm1 by 200ms"},
	} {
		w := newFake()
		arm(t, w, "at 0s "+l.fault)
		w.advance(0)
		got := strings.ReplaceAll(strings.Join(w.log, ", "), "0s ", "")
		if got != l.want {
			t.Errorf("%s: %s; want %s", l.fault, got, l.want)
		}
	}
}

// A plan for another world must be refused, not half carried out.
func TestPlanForOtherNodesIsRefused(t *testing.T) {
	for _, l := range []string{"at 1s crash tm9 for 1s", "at 1s partition tm1 tm9 for 1s", "at 1s move-coordinator tm1", "at 1s crash self for 1s", "at 1s crash process2 for 1s", "at 1s move-coordinator brokers"} {
		f, err := ParseFault(l)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewNemesis(Plan{Faults: []Fault{f}}, newFake()); err == nil {
			t.Errorf("%s: accepted", l)
		}
	}
}

// What of the TaskManagers runs in which process must be the same in both worlds, and none may be left out.
func TestShareCoversAllTaskManagers(t *testing.T) {
	for _, c := range []struct {
		taskManagers, processes int
		want                    string
	}{{4, 2, "[0 2][2 2]"}, {5, 2, "[0 3][3 2]"}, {3, 1, "[0 3]"}, {1, 2, "[0 1][1 0]"}} {
		got := ""
		for i := range c.processes {
			first, count := Share(c.taskManagers, c.processes, i+1)
			got += fmt.Sprint([]int{first, count})
		}
		if got != c.want {
			t.Errorf("%d TaskManagers in %d processes: %s, want %s", c.taskManagers, c.processes, got, c.want)
		}
	}
}
