package scenarios

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/sim/simbroker"
)

// passage is a hook that was passed.
type passage struct {
	at   env.Instant
	node string
	e    hook.Event
}

// story tells a run with one crash from its evidence: the job log, what the brokers know in the end, the trace, the hooks
// and what a reader saw when. Nothing in it is known beforehand.
type story struct {
	w     *World
	lines []told
	b     strings.Builder
	zero  env.Instant   // T: one interval before the last barrier that was completed before the crash
	last  id.Checkpoint // that checkpoint
	crash env.Instant
	epoch map[producer]id.Checkpoint // of transactions, by the job log
	shown []showing
}

type producer struct {
	id    int64
	epoch int16
}

// told is one line of a story.
type told struct {
	at   env.Instant
	text string
}

// showing is what a reader saw at one moment.
type showing struct {
	at      env.Instant
	epoch   id.Checkpoint // 0: not in a transaction
	records int
}

// tellCrash is the story of a run whose plan is one crash.
func tellCrash(r *Result) string {
	s := &story{w: r.World}
	s.orient(r)
	if s.last == 0 {
		return "  no checkpoint was completed before a crash: there is no story\n"
	}
	s.before()
	s.checkpoint(s.last)
	s.disaster(r)
	s.restore()
	for n := s.last + 1; s.triggered(n) > 0 && n <= s.last+2; n++ {
		s.checkpoint(n)
	}
	s.readers()
	fmt.Fprintf(&s.b, "  T        is %v before the barrier of checkpoint %d\n", s.w.Shape.Interval, s.last)
	sort.SliceStable(s.lines, func(i, j int) bool { return s.lines[i].at < s.lines[j].at }) // keys may be equal: stable
	for _, l := range s.lines {
		fmt.Fprintf(&s.b, "  T+%-6s %s\n", clock(time.Duration(l.at-s.zero)), l.text)
	}
	s.money()
	return s.b.String()
}

// orient finds the crash, the checkpoint before it, and T.
func (s *story) orient(r *Result) {
	s.epoch = map[producer]id.Checkpoint{}
	for _, e := range s.w.entries {
		for _, t := range e.Tokens {
			if e.Position >= s.w.inherited {
				s.epoch[producer{t.ProducerID, t.ProducerEpoch}] = t.Checkpoint
			}
		}
	}
	for _, o := range r.Outcomes {
		if o.Fired && s.crash == 0 {
			s.crash = env.Instant(o.At)
		}
	}
	for _, e := range s.w.told {
		if e.Kind == jobmanager.CheckpointCompleted && e.At < s.crash {
			s.last = e.Checkpoint
		}
	}
	s.zero = s.triggered(s.last) - env.Instant(s.w.Shape.Interval)
}

// line adds one line to the story.
func (s *story) line(at env.Instant, format string, args ...any) {
	s.lines = append(s.lines, told{at, fmt.Sprintf(format, args...)})
}

// before tells where the job begins in this world, if that is near.
func (s *story) before() {
	for _, e := range s.w.told {
		if e.Kind == jobmanager.Restored && e.Checkpoint > 0 && e.At < s.triggered(s.last) && e.At >= s.zero-env.Instant(s.w.Shape.Interval) {
			s.line(max(e.At, s.zero), "the job goes on from checkpoint %d, with its sources at %s", e.Checkpoint, places(e.Positions))
		}
	}
}

// clock writes a time of the story in whole seconds. A quarter of one is added, so that what happens just before a second
// and what happens well after one do not change places with the milliseconds that a restore takes.
func clock(d time.Duration) string {
	return fmt.Sprintf("%d s", int64(d+250*time.Millisecond)/int64(time.Second))
}

// triggered is when the first barrier of a checkpoint was injected; 0: never.
func (s *story) triggered(n id.Checkpoint) env.Instant {
	for _, p := range s.w.passed {
		if p.e.Point == hook.K0BarrierInjected && p.e.Checkpoint == n {
			return p.at
		}
	}
	return 0
}

// checkpoint tells one checkpoint from its barrier to what its reader sees.
func (s *story) checkpoint(n id.Checkpoint) {
	e, ok := s.told(jobmanager.CheckpointCompleted, n)
	if !ok {
		return
	}
	s.line(s.triggered(n), "barrier %d enters the sources at %s", n, places(e.Positions))
	s.alignment(n)
	s.state(n)
	tokens, records := s.prepared(n)
	if tokens > 0 {
		s.line(s.hookTime(hook.K4TokenRecorded, n), "the sink has flushed epoch %d: %d transactions hold %s records, their tokens are in the snapshot", n, tokens, thousands(records))
	} else if at := s.hookTime(hook.K3WriterFlushed, n); at > 0 {
		s.line(at, "the sink has flushed epoch %d, without transactions", n)
	}
	s.line(e.At, "checkpoint %d is completed: in the job log at position %d", n, s.completedAt(n))
	if c, ok := s.told(jobmanager.CheckpointConfirmed, n); ok && tokens > 0 {
		s.line(c.At, "its %d transactions are committed, checkpoint %d is confirmed", tokens, n)
	}
}

func (s *story) told(kind jobmanager.EventKind, n id.Checkpoint) (jobmanager.Event, bool) {
	for _, e := range s.w.told {
		if e.Kind == kind && e.Checkpoint == n {
			return e, true
		}
	}
	return jobmanager.Event{}, false
}

// alignment tells at which operators a barrier met itself on several channels, from the trace.
func (s *story) alignment(n id.Checkpoint) {
	plan, err := s.w.Graph.Plan(s.w.parallelism())
	if err != nil {
		return
	}
	var last env.Instant
	var parts []string
	for v := range plan.Vertices {
		head := s.w.Graph.Operators[plan.Vertices[v].Operators[0]].UID
		subtasks, channels := 0, uint64(0)
		for _, e := range s.w.Sim.Trace() {
			if e.Kind.Name() == "task aligned" && e.A == uint64(v) && e.C == uint64(n) && e.D > 1 {
				subtasks, channels, last = subtasks+1, e.D, max(last, e.At)
			}
		}
		if subtasks > 0 {
			parts = append(parts, fmt.Sprintf("%s (%d subtasks) on %d channels each", head, subtasks, channels))
		}
	}
	if len(parts) > 0 {
		s.line(last, "barrier %d is aligned: %s", n, strings.Join(parts, ", "))
	}
}

// state tells how much keyed state a checkpoint froze, from the trace.
func (s *story) state(n id.Checkpoint) {
	entries, at := uint64(0), env.Instant(0)
	for _, e := range s.w.Sim.Trace() {
		if e.Kind.Name() == "task snapshot" && e.C == uint64(n) {
			entries, at = entries+e.D, max(at, e.At)
		}
	}
	if entries > 0 {
		s.line(at, "the keyed state is frozen and uploaded: %s entries", thousands(int64(entries)))
	}
}

// prepared is how many transactions a checkpoint decided to commit, and how many records they hold.
func (s *story) prepared(n id.Checkpoint) (tokens int, records int64) {
	for _, e := range s.w.entries {
		for _, t := range e.Tokens {
			if t.Checkpoint != n || e.Position < s.w.inherited {
				continue
			}
			tokens++
			for _, r := range t.Ranges {
				records += r.Count
			}
		}
	}
	return tokens, records
}

func (s *story) hookTime(p hook.Point, n id.Checkpoint) env.Instant {
	at := env.Instant(0)
	for _, x := range s.w.passed {
		if x.e.Point == p && x.e.Checkpoint == n {
			at = x.at
		}
	}
	return at
}

func (s *story) completedAt(n id.Checkpoint) id.Position {
	for _, e := range s.w.entries {
		if e.Kind == joblog.Completed && e.Ref.Checkpoint == n {
			return e.Position
		}
	}
	return 0
}

// disaster tells the crash and what it hit.
func (s *story) disaster(r *Result) {
	var nodes []string
	for i, f := range r.Plan.Faults {
		if r.Outcomes[i].Fired && f.Kind == faults.CrashFault && env.Instant(r.Outcomes[i].At) == s.crash {
			nodes = append(nodes, f.Node)
		}
	}
	s.line(s.crash, "%s dies, %s after barrier %d", strings.Join(nodes, ", "), seconds(time.Duration(s.crash-s.triggered(s.last))), s.last)
}

// restore tells the generation that follows the crash.
func (s *story) restore() {
	for _, e := range s.w.told {
		if e.At <= s.crash {
			continue
		}
		switch e.Kind {
		case jobmanager.Claimed:
			s.line(e.At, "generation %d is claimed", e.Generation)
			s.aborted()
		case jobmanager.Restored:
			s.line(e.At, "everything is restored from checkpoint %d, sources seek to %s", e.Checkpoint, places(e.Positions))
		case jobmanager.Running:
			what := "to replay"
			if s.w.guarantee == operator.AtMostOnce {
				what = "to read for the first time"
			}
			s.line(e.At, "all subtasks run; %s: %s", what, s.behind())
			return
		}
	}
}

// aborted tells which transactions the restore ended that were open at the crash, by the coordinators' records.
func (s *story) aborted() {
	transactions := map[producer]bool{}
	at := env.Instant(0)
	for _, e := range s.w.Cluster.History() {
		if e.At > s.crash && e.State == simbroker.CompleteAbort {
			at = e.At
		}
	}
	records := 0
	for i := range s.w.History.Records {
		r := &s.w.History.Records[i]
		if r.Outcome == checker.Aborted && s.w.History.Topics[r.Topic].Role == checker.Output {
			transactions[producer{r.ProducerID, r.ProducerEpoch}] = true
			records++
		}
	}
	if records > 0 {
		s.line(at, "%d open transactions are aborted: %s records of epoch %d that no reader ever sees", len(transactions), thousands(int64(records)), s.last+1)
	}
}

// behind tells what lies between the restored positions and what was in the input when the crash came.
func (s *story) behind() string {
	e, ok := s.told(jobmanager.CheckpointCompleted, s.last)
	if !ok {
		return "nothing"
	}
	begin := s.w.Sim.Wall().Add(-time.Duration(s.w.Sim.Now())) // the wall clock at instant 0
	total := int64(0)
	var parts []string
	for _, p := range sorted(e.Positions) {
		count := int64(0)
		for _, r := range s.w.Cluster.ReadCommitted(p.Topic, p.Partition) {
			if r.Offset >= p.Position && env.Instant(time.UnixMilli(r.Record.Time).Sub(begin)) <= s.crash {
				count++
			}
		}
		total += count
		parts = append(parts, thousands(count))
	}
	return fmt.Sprintf("%s = %s records, %s of input", strings.Join(parts, " + "), thousands(total), seconds(time.Duration(s.crash-s.triggered(s.last))))
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", (d+500*time.Millisecond)/time.Second)
}

func sorted(positions []checkpoint.Position) []checkpoint.Position {
	out := append([]checkpoint.Position(nil), positions...)
	sort.SliceStable(out, func(i, j int) bool {
		return out[i].Topic < out[j].Topic || out[i].Topic == out[j].Topic && out[i].Partition < out[j].Partition
	})
	return out
}

// places writes positions as p0:1,000,517.
func places(positions []checkpoint.Position) string {
	var parts []string
	for _, p := range sorted(positions) {
		parts = append(parts, fmt.Sprintf("p%d:%s", p.Partition, thousands(p.Position)))
	}
	return strings.Join(parts, " and ")
}

// thousands writes a number with commas.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
