package sink

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// LaneValue is what a lane reads under RequireStable.
type LaneValue struct {
	Lane
	Unstable bool // a transaction is pending on it
	Value    int64
	Metadata string
}

// LaneSays is what a lane tells of a token.
type LaneSays uint8

// The answers of a lane.
const (
	LaneUnstable LaneSays = iota // undecided, or its marker is missing
	LaneCommitted
	LaneBefore // exactly the value and metadata stored before the transaction
	LaneOther  // its evidence is lost
)

var laneNames = [...]string{"unstable", "n", "before", "other"}

func (l LaneSays) String() string { return laneNames[l] }

// Salvaged is what the marker of a salvage says of the ranges of a token, beyond "n".
type Salvaged struct {
	Done Set // written again: the lane stands for them, although their first copies stay aborted
	Lost Set // aborted, and not to be read back: known to be missing
}

const (
	salvagedWord = " salvaged="
	lostWord     = " lost="
)

// Metadata is what a salvage writes on the lane of a token: the original marker's metadata with the sets. So an aborted
// transaction that was salvaged and a committed one whose ranges were torn by a failed repair never read the same, and a
// range that is lost stays known as lost when the restore that found it dies before it has said so.
func (s Salvaged) Metadata(t token.Token) string {
	return t.Metadata + salvagedWord + s.Done.String() + lostWord + s.Lost.String()
}

// ReadLane tells what a lane says of a token.
func ReadLane(t token.Token, v LaneValue) (LaneSays, Salvaged) {
	if v.Unstable {
		return LaneUnstable, Salvaged{}
	}
	if v.Value == int64(t.Checkpoint) {
		if v.Metadata == t.Metadata {
			return LaneCommitted, Salvaged{}
		}
		if rest, ok := strings.CutPrefix(v.Metadata, t.Metadata+salvagedWord); ok {
			done, lost, _ := strings.Cut(rest, lostWord)
			d, ok1 := parseSet(done)
			l, ok2 := parseSet(lost)
			if ok1 && ok2 {
				return LaneCommitted, Salvaged{d, l}
			}
		}
		return LaneOther, Salvaged{}
	}
	if v.Value == t.Lane.Value && v.Metadata == t.Lane.Metadata {
		return LaneBefore, Salvaged{}
	}
	return LaneOther, Salvaged{}
}

// Set is a set of ranges of a token, by index.
type Set struct{ words []uint64 }

// Add puts range i into the set.
func (s *Set) Add(i int) {
	for len(s.words) <= i/64 {
		s.words = append(s.words, 0)
	}
	s.words[i/64] |= 1 << (i % 64)
}

// Has reports whether range i is in the set.
func (s *Set) Has(i int) bool { return i/64 < len(s.words) && s.words[i/64]>>(i%64)&1 == 1 }

// Union is a new set with the elements of both.
func (s *Set) Union(o Set) Set {
	u := Set{slices.Clone(s.words)}
	for i, w := range o.words {
		if i < len(u.words) {
			u.words[i] |= w
		} else {
			u.words = append(u.words, w)
		}
	}
	return u
}

// String is the set in hexadecimal, range 0 the lowest bit of the first word; words are separated by dots.
func (s *Set) String() string {
	var b []byte
	for i, w := range s.words {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, w, 16)
	}
	if len(b) == 0 {
		return "0"
	}
	return string(b)
}

func parseSet(text string) (Set, bool) {
	var s Set
	if text == "0" {
		return s, true
	}
	for _, part := range strings.Split(text, ".") {
		w, err := strconv.ParseUint(part, 16, 64)
		if err != nil {
			return Set{}, false
		}
		s.words = append(s.words, w)
	}
	return s, s.String() == text
}

// Coordinated is what the transaction coordinator tells of a token.
type Coordinated uint8

// The answers of the coordinator.
const (
	Silent        Coordinated = iota // it knows nothing of this transaction any more
	OngoingOurs                      // open under the token's identity
	OngoingRepair                    // open under a later identity: half of a repair
	Preparing                        // decided, markers on their way
	CompletedCommit
	CompletedAbort
)

var coordinatedNames = [...]string{"silent", "ongoing", "ongoing-repair", "preparing", "complete-commit", "complete-abort"}

func (c Coordinated) String() string { return coordinatedNames[c] }

// ReadCoordinator tells what Describe says of a token. An id is in quarantine until its token is confirmed, so a later
// epoch of the same producer id belongs to a repair or an abort of this very transaction.
func ReadCoordinator(t token.Token, d kafka.Transaction) Coordinated {
	rotated := t.ProducerEpoch >= math.MaxInt16-1 && d.ProducerEpoch == 0
	if d.ProducerID != t.ProducerID && !rotated {
		return Silent
	}
	switch d.State {
	case kafka.TxnOngoing:
		if d.ProducerEpoch == t.ProducerEpoch {
			return OngoingOurs
		}
		return OngoingRepair
	case kafka.TxnPrepareCommit, kafka.TxnPrepareAbort:
		return Preparing
	case kafka.TxnCompleteCommit:
		return CompletedCommit
	case kafka.TxnCompleteAbort:
		return CompletedAbort
	}
	return Silent
}

// Witness is what a partition tells of a range: the second witness.
type Witness uint8

// The answers of the second witness.
const (
	WitnessUndecided Witness = iota // open, dropped, or behind an older open transaction of somebody else
	WitnessCommitted
	WitnessAborted
	WitnessLost // compaction or retention took the evidence
)

var witnessNames = [...]string{"undecided", "committed", "aborted", "lost"}

func (w Witness) String() string { return witnessNames[w] }

// WitnessAnswer is one read_committed fetch at the first offset f of a range.
type WitnessAnswer struct {
	LastStable int64
	LogStart   int64
	Listed     bool // (producer id, f) is in the aborted list
	RecordAt   bool // a record of the producer id lies at exactly f
	OutOfRange bool
	// Unreachable: no answer within the deadline; Gone: the topic or partition does not exist.
	Unreachable, Gone bool
}

// ReadWitness is the table of the second witness.
func ReadWitness(first int64, a WitnessAnswer) Witness {
	switch {
	case a.Gone:
		return WitnessLost
	case a.Unreachable:
		return WitnessUndecided
	case a.Listed:
		return WitnessAborted
	case a.OutOfRange:
		return WitnessLost
	case a.LastStable > first && a.RecordAt:
		return WitnessCommitted
	case a.LastStable > first:
		return WitnessLost
	}
	return WitnessUndecided
}

// Verdict is what is known of a token.
type Verdict uint8

// The verdicts.
const (
	Waiting   Verdict = iota // nothing can be said yet
	Pending                  // prepared and open: commit it
	Committed                // all of it, or it is being made so: confirm
	Aborted                  // nothing of it is visible: salvage
	Torn                     // some ranges are aborted, the rest is committed: salvage those
	Unknown                  // the evidence is lost
)

var verdictNames = [...]string{"waiting", "pending", "committed", "aborted", "torn", "unknown"}

func (v Verdict) String() string { return verdictNames[v] }

// Judgement is the verdict on a token, with the ranges that are aborted and not salvaged.
type Judgement struct {
	Verdict Verdict
	Aborted []int
	// Abort: what its partitions have not heard of yet is the verdict abort.
	Abort bool
	// ByWitness: the lane does not say so; a confirm must not wait for it.
	ByWitness bool
}

// Judge combines what lane, coordinator and second witness tell. ranges has one answer per range of the token.
func Judge(lane LaneSays, salvaged Salvaged, co Coordinated, ranges []Witness) Judgement {
	var aborted []int
	committed, undecided := 0, 0
	for i, w := range ranges {
		switch {
		case salvaged.Done.Has(i):
			committed++
		case salvaged.Lost.Has(i):
			aborted = append(aborted, i)
		case w == WitnessCommitted:
			committed++
		case w == WitnessAborted:
			aborted = append(aborted, i)
		case w == WitnessUndecided:
			undecided++
		}
	}
	asCommitted := func(byWitness bool) Judgement {
		if len(aborted) > 0 {
			return Judgement{Verdict: Torn, Aborted: aborted, ByWitness: byWitness}
		}
		return Judgement{Verdict: Committed, ByWitness: byWitness}
	}
	asAborted := func() Judgement {
		var gone []int
		for i, w := range ranges {
			if !salvaged.Done.Has(i) && w != WitnessCommitted {
				gone = append(gone, i)
			}
		}
		if committed > 0 {
			return Judgement{Verdict: Torn, Aborted: gone, Abort: true, ByWitness: true}
		}
		return Judgement{Verdict: Aborted, Aborted: gone, Abort: true}
	}
	switch lane {
	case LaneCommitted:
		return asCommitted(false)
	case LaneUnstable:
		switch co {
		case OngoingOurs:
			return Judgement{Verdict: Pending}
		case CompletedCommit:
			return asCommitted(false)
		case CompletedAbort:
			return asAborted()
		case OngoingRepair:
			// Half of a repair; its verdict was the transaction's own. Where every partition is still open no reader has seen
			// either verdict, and the checkpoint is completed: commit.
			if len(aborted) > 0 {
				return asAborted()
			}
			return asCommitted(false)
		}
		return Judgement{Verdict: Waiting}
	}
	// The lane is stable and does not say n: aborted if the witness agrees, else only the witness counts; the coordinator's
	// word decides what the witness cannot see.
	switch {
	case len(ranges) == 0 && lane == LaneBefore:
		return Judgement{Verdict: Aborted, Abort: true}
	case len(ranges) == 0:
		return Judgement{Verdict: Committed, ByWitness: true} // a marker without records: nothing can be lost
	case committed == len(ranges):
		return asCommitted(true)
	case len(aborted) == len(ranges):
		return asAborted()
	}
	switch co {
	case CompletedCommit:
		return asCommitted(true)
	case CompletedAbort:
		return asAborted()
	case OngoingRepair:
		if len(aborted) > 0 {
			return asAborted()
		}
		return asCommitted(true)
	case OngoingOurs:
		if undecided > 0 {
			return Judgement{Verdict: Pending, ByWitness: true}
		}
	case Preparing:
		return Judgement{Verdict: Waiting}
	}
	switch {
	case len(aborted) > 0:
		return asAborted()
	case committed > 0:
		return asCommitted(true)
	case undecided > 0:
		return Judgement{Verdict: Waiting}
	}
	return Judgement{Verdict: Unknown, ByWitness: true}
}
