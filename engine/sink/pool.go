package sink

import (
	"fmt"
	"slices"
	"strings"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// PoolConfig is what a pool knows of its place.
type PoolConfig struct {
	Job        id.Job
	Sink       id.Operator
	Generation id.Generation
	Subtask    int32
	Initial    int32 // ids to start with
	Max        int32 // and what it may grow to
	ReseedMs   int64 // age at which an idle lane is seeded anew
	Rules      *Rules
}

// SlotState is where one transactional id of a subtask stands.
type SlotState uint8

// The states, in the order of one use. Freed leads from Committed back to Initialising.
const (
	SlotInitialising SlotState = iota
	SlotFree
	SlotOpen
	SlotSealing  // barrier passed; marker and flush under way
	SlotPrepared // frozen, undecided
	SlotCommitting
	SlotCommitted // not yet confirmed: quarantine
)

var slotNames = [...]string{"initialising", "free", "open", "sealing", "prepared", "committing", "committed"}

func (s SlotState) String() string { return slotNames[s] }

type slot struct {
	state    SlotState
	identity kafka.Identity
	lane     token.Lane
	laneAtMs int64
	openedMs int64
	token    token.Token // from SlotSealing on
}

type barrier struct {
	checkpoint id.Checkpoint
	sealing    int32 // number of the slot that must be sealed; -1: none
}

// Pool is the core of a transactional writer: which id does what, which tokens belong into a snapshot, which commit is sent
// next. It has no port and no clock.
//
// Invariants: at most one slot is open; nothing is begun on a slot that holds an undecided token; slots are never
// initialised between their barrier and Freed.
type Pool struct {
	cfg       PoolConfig
	slots     []slot
	open      int32         // number of the open slot; -1: none
	carried   []token.Token // of older generations, undecided
	barriers  []barrier     // not yet answered, oldest first
	queue     []token.Token // commits asked for, oldest first; the first one is under way when sending
	sending   bool
	refused   *token.Token // a commit that was refused: none behind it is sent any more
	confirmed id.Checkpoint
	failed    bool
}

// NewPool makes a pool. Its first fact is PoolStarted.
func NewPool(cfg PoolConfig) *Pool {
	invariant.Check(cfg.Max <= LanesPerSubtask && cfg.Initial <= cfg.Max, "sink %s/%d: %d ids for %d lanes", cfg.Sink, cfg.Subtask, cfg.Max, LanesPerSubtask)
	return &Pool{cfg: cfg, open: -1}
}

// Open reports whether a transaction is open.
func (p *Pool) Open() bool { return p.open >= 0 }

// Available reports whether a transaction can be begun at once.
func (p *Pool) Available() bool { return p.find(SlotFree) >= 0 }

// Step folds one fact.
func (p *Pool) Step(fact any) []any {
	if p.failed {
		return nil
	}
	switch f := fact.(type) {
	case PoolStarted:
		p.carried = slices.Clone(f.Carried)
		var out []any
		for range p.cfg.Initial {
			out = append(out, p.grow())
		}
		return out
	case IDReady:
		return p.ready(f)
	case Wanted:
		return p.want(f.NowMs)
	case BarrierReached:
		return p.barrier(f)
	case EpochSealed:
		return p.sealed(f)
	case CommitAsked:
		return p.commitAsked(f.Token)
	case CommitEnded:
		return p.commitEnded(f.Result)
	case CheckpointFreed:
		return p.freed(f.Checkpoint)
	case PoolBroken:
		return p.fail(f.Reason)
	}
	panic(fmt.Sprintf("unknown fact %T", fact))
}

func (p *Pool) find(s SlotState) int32 {
	for i := range p.slots {
		if p.slots[i].state == s {
			return int32(i)
		}
	}
	return -1
}

func (p *Pool) grow() any {
	p.slots = append(p.slots, slot{state: SlotInitialising})
	return p.prepare(int32(len(p.slots) - 1))
}

// prepare starts the one path by which an id becomes usable, for every version and every use.
func (p *Pool) prepare(number int32) any {
	s := &p.slots[number]
	s.state, s.token, s.identity = SlotInitialising, token.Token{}, kafka.Identity{}
	name := Name{Job: p.cfg.Job, Sink: p.cfg.Sink, Generation: p.cfg.Generation, Subtask: p.cfg.Subtask, Number: number}
	return PrepareID{number, p.cfg.Rules.Name(name), LanePartition(p.cfg.Subtask, number)}
}

func (p *Pool) ready(f IDReady) []any {
	s := &p.slots[f.Number]
	invariant.Check(s.state == SlotInitialising, "sink %s/%d: id %d is ready while %v", p.cfg.Sink, p.cfg.Subtask, f.Number, s.state)
	s.state, s.identity, s.lane, s.laneAtMs = SlotFree, f.Identity, f.Lane, f.LaneAtMs
	return nil
}

func (p *Pool) want(nowMs int64) []any {
	if p.open >= 0 {
		return nil
	}
	n := p.find(SlotFree)
	if n < 0 {
		switch {
		case p.find(SlotInitialising) >= 0:
			return nil
		case int32(len(p.slots)) < p.cfg.Max:
			return []any{ReachedInPool{PoolGrew}, p.grow()}
		}
		return append([]any{ReachedInPool{PoolDry}}, p.fail(p.dry())...)
	}
	s := &p.slots[n]
	s.state, s.openedMs, p.open = SlotOpen, nowMs, n
	out := []any{BeginTransaction{n, s.identity}}
	// The id of the next epoch is made ready off the record path.
	if p.find(SlotFree) < 0 && p.find(SlotInitialising) < 0 && int32(len(p.slots)) < p.cfg.Max {
		out = append(out, ReachedInPool{PoolGrew}, p.grow())
	}
	return out
}

// dry says what keeps the ids.
func (p *Pool) dry() string {
	var oldest *token.Token
	for i := range p.slots {
		if t := &p.slots[i].token; t.Checkpoint > 0 && (oldest == nil || t.Checkpoint < oldest.Checkpoint) {
			oldest = t
		}
	}
	if oldest == nil {
		return fmt.Sprintf("all %d transactional ids are in use", len(p.slots))
	}
	var parts []string
	for _, r := range oldest.Ranges {
		parts = append(parts, fmt.Sprintf("%s/%d", r.Topic, r.Partition))
	}
	return fmt.Sprintf("all %d transactional ids wait for a confirm; the oldest, of checkpoint %d, for its partitions %s and lane %d", len(p.slots), oldest.Checkpoint, strings.Join(parts, " "), oldest.Lane.Partition)
}

func (p *Pool) barrier(f BarrierReached) []any {
	b := barrier{f.Checkpoint, -1}
	var out []any
	if p.open >= 0 {
		s := &p.slots[p.open]
		b.sealing = p.open
		s.state = SlotSealing
		s.token = token.Token{
			Sink: p.cfg.Sink, Subtask: p.cfg.Subtask, Checkpoint: f.Checkpoint, Generation: p.cfg.Generation,
			TransactionalID: s.identity.TransactionalID, ProducerID: s.identity.ProducerID, ProducerEpoch: s.identity.ProducerEpoch,
			EndTxnVersion: s.identity.Protocol, Number: p.open, Lane: s.lane, OpenedUnixMs: s.openedMs,
			Metadata: markerMetadata(p.cfg.Job, s.identity, f.NowMs),
		}
		out = append(out, SealEpoch{p.open, s.identity, f.Checkpoint, s.lane.Partition, s.token.Metadata})
		p.open = -1
	}
	p.barriers = append(p.barriers, b)
	out = append(out, p.answer()...)
	return append(out, p.reseed(f.NowMs)...)
}

// reseed takes free ids whose lane would expire through the path of initialisation once more.
func (p *Pool) reseed(nowMs int64) []any {
	var out []any
	for i := range p.slots {
		if s := &p.slots[i]; s.state == SlotFree && p.cfg.ReseedMs > 0 && nowMs-s.laneAtMs > p.cfg.ReseedMs {
			out = append(out, p.prepare(int32(i)))
		}
	}
	return out
}

func (p *Pool) sealed(f EpochSealed) []any {
	s := &p.slots[f.Number]
	invariant.Check(s.state == SlotSealing, "sink %s/%d: id %d is sealed while %v", p.cfg.Sink, p.cfg.Subtask, f.Number, s.state)
	s.state, s.token.Ranges = SlotPrepared, f.Ranges
	return p.answer()
}

// answer answers the barriers whose own and older epochs are sealed, in order.
func (p *Pool) answer() []any {
	var out []any
	for len(p.barriers) > 0 {
		b := p.barriers[0]
		if b.sealing >= 0 && p.slots[b.sealing].state == SlotSealing && p.slots[b.sealing].token.Checkpoint == b.checkpoint {
			break
		}
		p.barriers = p.barriers[1:]
		out = append(out, SnapshotTokens{b.checkpoint, p.undecided(b.checkpoint)})
	}
	return out
}

// undecided are the tokens up to a checkpoint whose commit nobody has asked for, oldest first.
func (p *Pool) undecided(n id.Checkpoint) []token.Token {
	list := slices.Clone(p.carried)
	for i := range p.slots {
		if s := &p.slots[i]; s.state == SlotPrepared && s.token.Checkpoint <= n && !p.asked(s.token) {
			list = append(list, s.token)
		}
	}
	slices.SortStableFunc(list, OldestFirst)
	return list
}
