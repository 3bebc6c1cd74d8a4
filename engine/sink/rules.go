package sink

import (
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Rules are the decisions and scripts that make the guarantee. DefaultRules has the sound ones; a negative control copies
// them, replaces one, and must be caught.
type Rules struct {
	// Name names the transactional id of a lane. Sound: it holds the generation.
	Name func(Name) string
	// Reusable tells when an id may be used again. Sound: when the checkpoint is confirmed (quarantine).
	Reusable func(endTxnAnswered, confirmed bool) bool
	// InTurn tells whether the commits of a subtask are sent one after the other, none behind a refused one. Sound: always.
	InTurn func() bool
	// Sealed tells whether nothing is written with an identity from its barrier on: until its end marker is on a partition a
	// record would join, and be visible with a checkpoint that does not hold its position. Sound: always.
	Sealed func() bool
	// RecordFailed tells whether the failure of a record or marker fails the task. Sound: always.
	RecordFailed func(error) bool

	// Lock initialises the salvage ids, before any evidence is read.
	Lock func(Ask, *Plan) ([]kafka.Identity, error)
	// Survey judges all undecided tokens without acting.
	Survey func(Ask, *Plan, []token.Token) ([]Finding, error)
	// Settle waits until transactions have ended at every partition and repairs dropped markers.
	Settle func(Ask, *Plan, []Item) (Settled, error)
	// Proven tells whether a transaction has ended only when its marker is on all replicas in sync. Sound: always.
	Proven func() bool
	// RepairDropped writes the missing end markers of one transaction, and reports whether it wrote anything.
	RepairDropped func(Ask, *Plan, Dropped) (bool, error)
	// Salvage writes aborted ranges of one sink again, in one transaction under the lock.
	Salvage func(Ask, *Plan, kafka.Identity, []Finding) error
	// Fence initialises the ids of older generations.
	Fence func(Ask, *Plan, FenceInput) error
	// Decide orders the completed checkpoints with their tokens for the decision. Sound: oldest first.
	Decide func([]Completion) []Completion
	// Confirm is the script behind operator.Committer.Confirm.
	Confirm func(Ask, *Plan, id.Checkpoint, []token.Token) operator.ConfirmOutcome
	// Restore is the script behind operator.Committer.Restore.
	Restore func(Ask, *Plan, operator.RestoreInput) operator.RestoreOutcome
}

// DefaultRules are the sound rules.
func DefaultRules() *Rules {
	return &Rules{
		Name:          Name.String,
		Reusable:      func(_, confirmed bool) bool { return confirmed },
		InTurn:        func() bool { return true },
		Sealed:        func() bool { return true },
		Proven:        func() bool { return true },
		RecordFailed:  func(error) bool { return true },
		Lock:          LockSalvage,
		Survey:        SurveyTokens,
		Settle:        SettleTransactions,
		RepairDropped: RepairMarkers,
		Salvage:       SalvageRanges,
		Fence:         FenceOlder,
		Decide:        func(g []Completion) []Completion { return g },
		Confirm:       ConfirmTokens,
		Restore:       RestoreOrder,
	}
}

// Plan is what the committer's scripts know without asking.
type Plan struct {
	Job          id.Job
	Generation   id.Generation
	Protocol     int16 // generation of the transaction protocol, as in a token
	MaxEpoch     int16 // at which the coordinator gives an id another producer id
	Sinks        []Spec
	ConfirmLimit time.Duration // how long to wait for one thing before giving up loudly
	RefenceAfter time.Duration
	AcceptLoss   bool
	Rules        *Rules

	// Locks are the identities of the salvage ids, in the order of Sinks, once they are taken.
	Locks []kafka.Identity
	// Protected are ids of older generations that hold undecided tokens: a fence leaves them alone.
	Protected []string
	// NoClusterRights is set once the cluster refused a hand-written marker: repairs use two frames from then on.
	NoClusterRights bool
}

// Completion is one completed, unconfirmed checkpoint with the tokens that it decides.
type Completion struct {
	Checkpoint id.Checkpoint
	Tokens     []token.Token
}

// Finding is what the survey found for one token.
type Finding struct {
	Token token.Token
	Judgement
	Salvaged Salvaged
	// Unsalvageable are the aborted ranges that cannot be read back in full, and those that were deleted while the
	// transaction was still open, with the reason.
	Unsalvageable []joblog.LostRange
}

// Item is one transaction that Settle waits for.
type Item struct {
	Token  token.Token
	Commit bool
	// NeedLane: the lane must read the token's value; an abort, and a commit that only the witness knows of, need it only
	// to be stable.
	NeedLane bool
	// Partitions to look at; nil means those of the token's ranges.
	Partitions []id.TopicPartition
}

// Settled is the outcome of Settle.
type Settled struct {
	// Repaired are the indices of items whose markers were written by a repair: ask the second witness again.
	Repaired []int
	// Contradicted are the indices of items that are not what they should be: resolve them.
	Contradicted []int
	// Deleted are parts of ranges that were deleted while their transaction was open.
	Deleted []joblog.LostRange
}

// Dropped is one transaction whose end marker some partitions never got.
type Dropped struct {
	Item       Item
	Now        kafka.Transaction // as Describe shows it
	Partitions []kafka.PartitionProducers
	Lane       bool // its lane's offsets partition
	// LastEpoch: what is open under a later epoch of the same producer id is another transaction.
	LastEpoch int16
}

// FenceInput says what to fence.
type FenceInput struct {
	Fenced id.Generation // ids up to here are fenced already; open ones are initialised all the same
	Check  bool          // afterwards no output partition may have an open transaction of these ids
}
