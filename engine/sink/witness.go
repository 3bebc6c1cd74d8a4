package sink

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
