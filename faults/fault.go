package faults

import (
	"strconv"
	"strings"
	"time"
)

// Kind is a kind of fault, as it stands in a plan.
type Kind uint8

// The kinds.
const (
	CrashFault Kind = iota
	PauseFault
	PartitionFault
	OneWayFault
	LoseRequestFault
	LoseReplyFault
	LateFault
	RepeatFault
	TimeoutFault
	BlobSlowFault
	BlobFailBeforeFault
	BlobFailAfterFault
	ClockFault
	MoveCoordinatorFault
	MoveLeaderFault
	NoLeaderFault
	SlowOperatorFault
	SlowLinkFault
	StallReplicaFault
	TxnLogFault
	UpgradeFault
	FinalizeFault
	KindCount // how many there are
)

// drawn is how many of them a swarm draws; the others come last.
const drawn = FinalizeFault

// kinds says how each kind is written: the operands after its name, what may follow "by", and what may follow "for".
var kinds = [KindCount]struct {
	name     string
	operands string // n: node, all or self; b: broker or all; r: request name; p: topic/partition; u: release; v: level
	by       byte   // d: a duration, s: a signed duration, f: a factor, 0: nothing
	amount   string // d: a duration, c: a count; either where both are there; empty: none
}{
	{"crash", "n", 0, "d"},
	{"pause", "n", 0, "d"},
	{"partition", "nn", 0, "d"},
	{"partition-one-way", "nn", 0, "d"},
	{"lose-request", "rn", 0, "c"},
	{"lose-reply", "rn", 0, "c"},
	{"late", "rn", 'd', "c"},
	{"repeat", "rn", 0, "c"},
	{"transaction-timeout", "n", 0, "d"},
	{"blob-slow", "n", 'd', "dc"},
	{"blob-fail-before", "n", 0, "dc"},
	{"blob-fail-after", "n", 0, "dc"},
	{"clock-jump", "n", 's', ""},
	{"move-coordinator", "b", 0, ""},
	{"move-leader", "p", 0, ""},
	{"no-leader", "p", 0, "d"},
	{"slow-operator", "n", 'f', "d"},
	{"slow-link", "nn", 'd', "d"},
	{"stall-replica", "b", 0, "d"},
	{"txnlog-trouble", "b", 0, "d"},
	{"upgrade", "bu", 0, "d"},
	{"finalize", "v", 0, ""},
}

func (k Kind) String() string { return kinds[k].name }

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, bool) {
	for i := range kinds {
		if kinds[i].name == s {
			return Kind(i), true
		}
	}
	return 0, false
}

// Names of targets that stand for nodes chosen when the fault strikes.
const (
	All  = "all"  // every node; for broker operands every broker
	Self = "self" // the node that passed the hook
)

// Fault is one line of a plan.
type Fault struct {
	Trigger Trigger
	Kind    Kind
	Node    string // the node struck; All and Self too
	Peer    string // the other end of a partition or link
	Request string // lose-request, lose-reply, late, repeat
	// Topic and Partition are for move-leader and no-leader.
	Topic     string
	Partition int32
	By        time.Duration // late, blob-slow, slow-link: how much; clock-jump: how far, either way
	Factor    int           // slow-operator
	For       time.Duration // how long; 0 where Count says how often
	Count     int
	Profile   string // upgrade: the release that the broker starts with
	Level     int    // finalize: of the feature transaction.version
}

// feature is what finalize raises.
const feature = "transaction.version"

// Trigger says when a fault strikes: at a time, or when a hook has been passed for the Nth time with what is asked for.
// Invariant: a trigger at a time has no other field set.
type Trigger struct {
	OnHook     bool
	At         time.Duration
	Hook       Hook
	Checkpoint uint64 // 0: any
	Generation uint64 // 0: any
	Vertex     int32  // with Subtask, if HasSubtask
	Subtask    int32
	HasSubtask bool
	Nth        int // 0 and 1: the first
}

// Matches reports whether a hook passed counts for the trigger.
func (t Trigger) Matches(p Passed) bool {
	return t.OnHook && t.Hook == p.Hook &&
		(t.Checkpoint == 0 || t.Checkpoint == p.Checkpoint) &&
		(t.Generation == 0 || t.Generation == p.Generation) &&
		(!t.HasSubtask || t.Vertex == p.Vertex && t.Subtask == p.Subtask)
}

func (t Trigger) String() string {
	if !t.OnHook {
		return "at " + printDuration(t.At)
	}
	b := []byte("on " + t.Hook.String())
	if t.Checkpoint != 0 {
		b = strconv.AppendUint(append(b, " checkpoint="...), t.Checkpoint, 10)
	}
	if t.HasSubtask {
		b = strconv.AppendInt(append(b, " subtask=v"...), int64(t.Vertex), 10)
		b = strconv.AppendInt(append(b, '/'), int64(t.Subtask), 10)
	}
	if t.Generation != 0 {
		b = strconv.AppendUint(append(b, " generation="...), t.Generation, 10)
	}
	if t.Nth > 1 {
		b = strconv.AppendInt(append(b, " nth="...), int64(t.Nth), 10)
	}
	return string(b)
}

// String is the fault's line in a plan file.
func (f Fault) String() string {
	k := &kinds[f.Kind]
	b := append([]byte(f.Trigger.String()), ' ')
	b = append(b, k.name...)
	nodes := 0
	for i := range len(k.operands) {
		b = append(b, ' ')
		switch k.operands[i] {
		case 'r':
			b = append(b, f.Request...)
		case 'u':
			b = append(b, f.Profile...)
		case 'v':
			b = strconv.AppendInt(append(b, feature+"="...), int64(f.Level), 10)
		case 'p':
			b = strconv.AppendInt(append(append(b, f.Topic...), '/'), int64(f.Partition), 10)
		default:
			if nodes++; nodes == 2 {
				b = append(b, f.Peer...)
			} else {
				b = append(b, f.Node...)
			}
		}
	}
	switch k.by {
	case 'd', 's':
		b = append(append(b, " by "...), printDuration(f.By)...)
	case 'f':
		b = strconv.AppendInt(append(b, " by "...), int64(f.Factor), 10)
	}
	if k.amount != "" {
		b = append(b, " for "...)
		if f.Count != 0 {
			b = strconv.AppendInt(b, int64(f.Count), 10)
		} else {
			b = append(b, printDuration(f.For)...)
		}
	}
	return string(b)
}

// printDuration is Duration.String without the zeros at its end: 1m instead of 1m0s.
func printDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}
