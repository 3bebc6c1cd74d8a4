package sink

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/token"
)

// Facts of the pool.
type (
	// PoolStarted begins; carried tokens are undecided ones of older generations.
	PoolStarted struct{ Carried []token.Token }
	// IDReady tells that an id was initialised and its lane read.
	IDReady struct {
		Number   int32
		Identity kafka.Identity
		Lane     token.Lane
		LaneAtMs int64
	}
	// Wanted tells that a record waits for a transaction.
	Wanted struct{ NowMs int64 }
	// BarrierReached ends an epoch.
	BarrierReached struct {
		Checkpoint id.Checkpoint
		NowMs      int64
	}
	// EpochSealed tells that marker and flush of a slot are done.
	EpochSealed struct {
		Number int32
		Ranges []token.Range
	}
	// CommitAsked asks for the commit of a token.
	CommitAsked struct{ Token token.Token }
	// CommitEnded tells what EndTxn answered in the end.
	CommitEnded struct{ Result operator.CommitResult }
	// CheckpointFreed tells that a checkpoint is confirmed.
	CheckpointFreed struct{ Checkpoint id.Checkpoint }
	// PoolBroken tells that a record, a marker or an initialisation failed for good.
	PoolBroken struct{ Reason string }
)

// Effects of the pool.
type (
	// PrepareID reads the lane, seeds it where its value is missing or old, and initialises the id.
	PrepareID struct {
		Number    int32
		ID        string
		Partition int32
	}
	// BeginTransaction makes a producer for the slot's identity. It is local.
	BeginTransaction struct {
		Number   int32
		Identity kafka.Identity
	}
	// SealEpoch writes the marker, then flushes.
	SealEpoch struct {
		Number     int32
		Identity   kafka.Identity
		Checkpoint id.Checkpoint
		Partition  int32
		Metadata   string
	}
	// SnapshotTokens answers a barrier.
	SnapshotTokens struct {
		Checkpoint id.Checkpoint
		Tokens     []token.Token
	}
	// SendCommit sends EndTxn until its outcome is known.
	SendCommit struct{ Token token.Token }
	// ReportCommit reports what is known of a commit.
	ReportCommit struct{ Result operator.CommitResult }
	// ReachedInPool reaches a probe.
	ReachedInPool struct{ Probe probe.Probe }
	// FailTask fails the task.
	FailTask struct{ Reason string }
)
