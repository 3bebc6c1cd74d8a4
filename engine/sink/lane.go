package sink

import (
	"strings"

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
