// Package operator is what a task hosts at the two ends of a job: sources and sinks, and their halves that live in the
// JobManager (split enumeration, committing). Everything between them is chained user functions.
//
// All calls are made on the task's (or the JobManager's) own loop and return at once; done functions run later on that
// loop.
package operator

import (
	"errors"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/token"
)

// Guarantee is what a job promises about its output.
type Guarantee uint8

// The guarantees that a user can choose, and the one that exists as a negative control only.
const (
	ExactlyOnce Guarantee = iota
	AtLeastOnce
	AtMostOnce
	None // no flush at the barrier, no transaction: never offered to users
)

// Record is one record at the edge to Kafka. Its bytes are valid during the call only; nil Key or Value is null.
type Record struct {
	Key, Value []byte
	Headers    []byte // as they lie in the batch: varint count, then headers; nil for none
	Timestamp  int64  // Unix milliseconds; event time
	Topic      string
	Partition  int32
	Offset     int64
}

// Context is what an operator is told about its place.
type Context struct {
	Process     *proc.Process
	Loop        env.Loop // the task's own; closed when the task ends
	Job         id.Job
	Operator    id.Operator
	Generation  id.Generation
	Subtask     id.Subtask
	Parallelism int32
	Guarantee   Guarantee
	// Fail fails the task. It may be called at any time on the loop; the first call counts.
	Fail func(error)
	// Wake asks the task to call again: a source that was Waiting has records, a sink that was not Ready has room.
	Wake func()
}

// Status is a source's answer to Poll.
type Status uint8

// The answers.
const (
	More    Status = iota // poll again whenever the outputs have room
	Waiting               // nothing now; Wake follows
	Ended                 // bounded input is used up; positions stand at the stops
)

// Split is one partition with the position to read next. Positions, not record offsets: control records occupy offsets.
type Split struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Position  int64  `json:"position"`
	Stop      int64  `json:"stop"` // first position not to be read; -1: unbounded
}

// Source reads splits. A source is opened with its splits and then polled.
type Source interface {
	Open(ctx Context, splits []Split, opened func(error))
	// Poll hands at most budget records to emit, in order within each split. An error of emit is returned at once, and
	// the position has not moved past that record.
	Poll(budget int, emit func(*Record) error) (Status, error)
	// Snapshot returns all splits at their present positions, for barrier n, sorted by topic and partition.
	Snapshot(n id.Checkpoint) []Split
	// Completed tells that checkpoint n is durable.
	Completed(n id.Checkpoint)
	Close()
}

// Enumerator is the half of a source that lives in the JobManager.
type Enumerator interface {
	// Discover returns every split of the source: known ones at the positions given, new ones at a resolved start (never
	// a symbolic one), with their stops when bounded. A known split whose partition is missing is an error.
	Discover(loop env.Loop, p *proc.Process, known []Split, done func([]Split, error))
}

// Sink writes records to the world outside.
type Sink interface {
	// Open is called once, after the restore order is done. opened runs when the sink can write.
	Open(ctx Context, carried []token.Token, opened func(error))
	// Ready reports whether Write may be called; Wake follows a false one.
	Ready() bool
	// Write copies the record. Partition -1 lets the sink choose by hash of the key.
	Write(r *Record) error
	// Barrier ends the epoch of checkpoint n. done gets the tokens that belong into the snapshot, older undecided ones
	// first, once every record of the epoch is acknowledged. Records of the next epoch may be written meanwhile, whenever
	// Ready. A failed record fails the task; it never merely declines a checkpoint.
	Barrier(n id.Checkpoint, done func([]token.Token))
	// Commit sends the commit of a token of a completed checkpoint and reports what is known.
	Commit(t token.Token, done func(CommitResult))
	// Freed tells that checkpoint n is confirmed: its transactional ids may be used again.
	Freed(n id.Checkpoint)
	// Close stops the sink. A clean stop aborts the open transaction; prepared ones are left alone always.
	Close(clean bool)
}

// CommitResult is what a sink learnt of a commit. Everything but Committed and Refused is retried by the sink itself.
type CommitResult struct {
	Token  token.Token
	State  CommitState
	Reason string // Kafka's error, in words
}

// CommitState is the state of a commit.
type CommitState uint8

// The states of a commit.
const (
	Committed    CommitState = iota // EndTxn answered with success: to be confirmed
	Refused                         // fenced, invalid state, invalid mapping, abortable: to be resolved in a restore
	Unauthorized                    // stop with the reason
)

// Committer is the half of all transactional sinks of a job that lives in the JobManager: it decides tokens during a
// restore and confirms commits while the job runs.
type Committer interface {
	// Restore runs the restore order from the salvage ids to the fencing of older generations and appends to the log what
	// it decides.
	Restore(in RestoreInput, log joblog.Appender, done func(RestoreOutcome))
	// Confirm asks whether every token of checkpoint n has ended: no partition shows an open transaction of it and its lane
	// reads n. It repairs dropped markers. The JobManager appends Confirmed afterwards.
	Confirm(n id.Checkpoint, tokens []token.Token, done func(ConfirmOutcome))
	Close()
}

// RestoreInput is what a restore starts from. State is the folded job log after the claim.
type RestoreInput struct {
	Generation id.Generation
	State      joblog.State
	AcceptLoss bool
}

// RestoreOutcome tells how to go on.
type RestoreOutcome struct {
	// From is the checkpoint to restore; 0 is an empty job.
	From id.Checkpoint
	// Lost, when not nil, is the loss that stops the job (or that was accepted).
	Lost *joblog.Loss
	// Stop: the job must not start; Err says why.
	Stop bool
	Err  error
}

// ErrPermanent marks an error of Discover that no restart mends: a topic that does not exist, a start out of range.
var ErrPermanent = errors.New("no restart mends this")

// ConfirmOutcome is the answer to Confirm.
type ConfirmOutcome struct {
	// Resolve: a token is not what it should be (aborted, torn, lost evidence): the job restarts and resolves it.
	Resolve bool
	// Err stops the job loudly, with the tokens kept: a partition without leader past the deadline, a deleted topic.
	Err error
	// Lost, when not nil, is to be appended to the log: retention deleted records while their transaction was open. Err is
	// set too unless the loss is accepted.
	Lost *joblog.Loss
}
