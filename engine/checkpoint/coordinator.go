package checkpoint

import (
	"fmt"
	"slices"
	"sort"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/token"
)

// Place is what a coordinator is made for: one generation of a job.
type Place struct {
	Job         id.Job
	Generation  id.Generation
	Graph       string
	Parallelism []int32
	Subtasks    []id.Subtask           // all, sorted; each acks every checkpoint
	Sources     []id.Subtask           // those that read sources
	Highest     id.Checkpoint          // numbers start above it
	Confirmed   id.Checkpoint          // newest confirmed
	Retained    []joblog.CheckpointRef // completed, not released; oldest first
}

// Coordinator takes the checkpoints of one generation from their triggers to their confirmations. It is a pure core: no
// port, no clock; time comes with the facts.
//
// One checkpoint is pending at a time, from its trigger until Completed is in the job log. Completed ones wait for their
// confirmation in order: the tokens of n are committed only after n-1 is confirmed.
type Coordinator struct {
	cfg   Config
	rules Rules
	place Place

	running  bool
	over     bool          // a last checkpoint has completed, or the generation has failed: nothing is triggered any more
	newest   id.Checkpoint // newest triggered, or Place.Highest. Invariant: only rises
	pending  *pending      // nil: none
	waiting  []*completed  // all acks there, unconfirmed; oldest first. Invariant: ascending
	sealing  []joblog.CheckpointRef
	stopping id.Checkpoint // the savepoint with which the job stops; 0: none

	confirmed id.Checkpoint
	retained  []joblog.CheckpointRef
	ended     []id.Subtask  // source subtasks whose input has ended
	asked     []Kind        // savepoints asked for and not triggered, oldest first
	failures  int           // checkpoints dropped in a row
	carried   []token.Token // tokens of the newest completed manifest: they are listed in the log already
	due       env.Instant   // of the next periodic trigger
	epoch     env.Instant   // begin of the oldest epoch that no completed checkpoint holds
	alarm     env.Instant
	out       []Effect
}

type pending struct {
	number  id.Checkpoint
	kind    Kind
	begun   env.Instant // when it was triggered
	expiry  env.Instant
	acks    []Acked // as they came
	writing bool    // all acks are there: it does not expire any more
}

type completed struct {
	number   id.Checkpoint
	kind     Kind
	ref      joblog.CheckpointRef
	tokens   []token.Token
	open     []token.Token // not reported as committed
	logged   bool          // Completed is in the log
	notified bool
	asked    bool // Confirm was asked
}

// New makes the coordinator of a generation.
func New(cfg Config, rules Rules, place Place) *Coordinator {
	return &Coordinator{
		cfg: cfg, rules: rules, place: place, newest: place.Highest, confirmed: place.Confirmed,
		retained: slices.Clone(place.Retained),
	}
}

// Step takes one fact, which became known at an instant, and returns what is to be done. The result is valid until the
// next Step.
func (c *Coordinator) Step(at env.Instant, f Fact) []Effect {
	c.out = c.out[:0]
	switch f := f.(type) {
	case Started:
		c.running, c.due, c.epoch = true, at.Add(c.cfg.Interval), at
	case Woken:
		c.alarm = 0
	case Acked:
		c.acked(at, f)
	case Declined:
		if c.pending != nil && c.pending.number == f.Checkpoint && !c.pending.writing {
			c.drop(at, fmt.Sprintf("declined by %v: %s", f.Subtask, f.Reason))
		}
	case InputEnded:
		c.inputEnded(f.Subtask)
	case Persisted:
		c.persisted(f)
	case CompletedAppended:
		c.completedAppended(at, f.Checkpoint)
	case CommitsReported:
		c.reported(f)
	case CommitsConfirmed:
		c.out = append(c.out, AppendConfirmed(f))
	case ConfirmedAppended:
		c.confirmedAppended(f.Checkpoint)
	case SavepointAppended:
		c.out = append(c.out, Seal{c.sealing[0]})
	case Sealed:
		c.sealed(f.Checkpoint)
	case SavepointAsked:
		kind := Savepoint
		if f.Stop {
			kind = Stop
		}
		c.asked = append(c.asked, kind)
	}
	c.pursue(at)
	return c.out
}

func (c *Coordinator) do(e Effect) { c.out = append(c.out, e) }

// pursue does what is due, and sets the alarm for what comes next.
func (c *Coordinator) pursue(at env.Instant) {
	if p := c.pending; p != nil && !p.writing && at >= p.expiry {
		c.drop(at, fmt.Sprintf("expired after %v, missing %s", c.cfg.Timeout, c.missing()))
	}
	if c.running && !c.over && c.pending == nil {
		if kind, ok := c.wanted(at); ok {
			c.trigger(at, kind)
		}
	}
	next := env.Instant(0)
	switch {
	case c.over || !c.running:
	case c.pending == nil:
		next = c.next()
	case !c.pending.writing:
		next = c.pending.expiry
	}
	if next != 0 && next != c.alarm {
		c.alarm = next
		c.do(Alarm{next})
	}
}

// wanted is the kind of the checkpoint to be triggered now.
func (c *Coordinator) wanted(at env.Instant) (Kind, bool) {
	if len(c.asked) > 0 {
		return c.asked[0], true
	}
	if len(c.place.Sources) > 0 && len(c.ended) == len(c.place.Sources) {
		return Final, c.failures == 0 || at >= c.next()
	}
	return Periodic, at >= c.next()
}

// next is when a checkpoint is due: by interval and pause, or because an epoch grows old.
func (c *Coordinator) next() env.Instant {
	if c.cfg.Force > 0 {
		return min(c.due, c.epoch.Add(c.cfg.Force))
	}
	return c.due
}

func (c *Coordinator) trigger(at env.Instant, kind Kind) {
	if len(c.asked) > 0 {
		c.asked = c.asked[1:]
	}
	c.newest++
	c.pending = &pending{number: c.newest, kind: kind, begun: at, expiry: at.Add(c.cfg.Timeout)}
	c.due = at.Add(c.cfg.Interval)
	c.do(Trigger{c.newest, kind})
}

// rest keeps the minimum pause after the end of a checkpoint.
func (c *Coordinator) rest(at env.Instant) { c.due = max(c.due, at.Add(c.cfg.Pause)) }

// drop ends the pending checkpoint without completing it. Its prepared transactions stay: their tokens are in every later
// snapshot until one completes.
func (c *Coordinator) drop(at env.Instant, reason string) {
	p := c.pending
	c.pending = nil
	c.failures++
	c.rest(at)
	c.do(Dropped{p.number, reason})
	if p.kind == Savepoint || p.kind == Stop {
		c.asked = slices.Insert(c.asked, 0, p.kind)
	}
	if c.failures > c.cfg.Tolerated {
		c.fail(Restart{fmt.Sprintf("checkpoint %d: %s (%d in a row)", p.number, reason, c.failures)})
	}
}

func (c *Coordinator) fail(e Effect) {
	c.over, c.pending = true, nil
	c.do(e)
}

func (c *Coordinator) acked(at env.Instant, f Acked) {
	p := c.pending
	if p == nil || p.number != f.Checkpoint || p.writing || at >= p.expiry {
		return // of a checkpoint that was dropped; a later one subsumes it
	}
	if !slices.Contains(c.place.Subtasks, f.Subtask) {
		return
	}
	for _, a := range p.acks {
		if a.Subtask == f.Subtask {
			return
		}
	}
	p.acks = append(p.acks, f)
	if len(p.acks) < len(c.place.Subtasks) {
		return
	}
	p.writing = true
	m := c.manifest(p)
	tokens := c.fresh(m)
	c.carried = all(m)
	c.waiting = append(c.waiting, &completed{number: p.number, kind: p.kind, tokens: tokens, open: slices.Clone(tokens)})
	if c.rules.Early() {
		c.notify()
	}
	c.do(Persist{m})
}

func (c *Coordinator) manifest(p *pending) Manifest {
	m := Manifest{
		Job: c.place.Job, Checkpoint: p.number, Generation: c.place.Generation, Graph: c.place.Graph,
		Parallelism: c.place.Parallelism, Savepoint: p.kind == Savepoint || p.kind == Stop, Final: p.kind == Final,
	}
	sort.SliceStable(p.acks, func(i, j int) bool { return p.acks[i].Subtask.Less(p.acks[j].Subtask) })
	for _, a := range p.acks {
		s := a.State
		s.Vertex, s.Index = a.Subtask.Vertex, a.Subtask.Index
		m.Subtasks = append(m.Subtasks, s)
	}
	return m
}

func (c *Coordinator) inputEnded(s id.Subtask) {
	if slices.Contains(c.place.Sources, s) && !slices.Contains(c.ended, s) {
		c.ended = append(c.ended, s)
	}
}

func (c *Coordinator) persisted(f Persisted) {
	for _, w := range c.waiting {
		if w.number == f.Checkpoint {
			w.ref = f.Ref
			c.do(AppendCompleted{f.Ref, w.tokens})
		}
	}
}

func (c *Coordinator) completedAppended(at env.Instant, n id.Checkpoint) {
	w := c.of(n)
	w.logged = true
	c.failures = 0
	c.retained = append(c.retained, w.ref)
	if c.pending != nil {
		c.epoch = c.pending.begun
	}
	c.pending = nil
	c.rest(at)
	if w.kind == Stop || w.kind == Final {
		c.over = true
	}
	c.notify()
}

// missing names the subtasks whose ack is not there.
func (c *Coordinator) missing() string {
	s, more := "", 0
	for _, want := range c.place.Subtasks {
		if slices.ContainsFunc(c.pending.acks, func(a Acked) bool { return a.Subtask == want }) {
			continue
		}
		if len(s) > 60 {
			more++
			continue
		}
		if s != "" {
			s += ", "
		}
		s += want.String()
	}
	if more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// Open is how many transactions are prepared and unconfirmed, as far as the coordinator knows.
func (c *Coordinator) Open() int {
	n := 0
	for _, w := range c.waiting {
		n += len(w.tokens)
	}
	return n
}

// Pending says what the coordinator waits for, in one line; "" when nothing is under way.
func (c *Coordinator) Pending() string {
	switch {
	case c.pending != nil && c.pending.writing:
		return fmt.Sprintf("checkpoint %d is being made durable", c.pending.number)
	case c.pending != nil:
		return fmt.Sprintf("checkpoint %d misses %s", c.pending.number, c.missing())
	case len(c.waiting) > 0:
		return fmt.Sprintf("checkpoint %d waits for %d of %d commits and their confirmation", c.waiting[0].number, len(c.waiting[0].open), len(c.waiting[0].tokens))
	}
	return ""
}
