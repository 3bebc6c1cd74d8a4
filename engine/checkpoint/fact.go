package checkpoint

import (
	"fmt"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Kind is what a checkpoint is for.
type Kind uint8

// The kinds.
const (
	Periodic  Kind = iota
	Savepoint      // owned by the user
	Stop           // a savepoint after whose barrier sources emit nothing
	Final          // all bounded input is used up: the last one
)

func (k Kind) String() string { return [...]string{"periodic", "savepoint", "stop", "final"}[k] }

// Facts of the coordinator.
type (
	// Started says that all subtasks run.
	Started struct{}
	// Woken says that the instant of the last Alarm has come.
	Woken struct{}
	// Acked is a subtask's part.
	Acked struct {
		Subtask    id.Subtask
		Checkpoint id.Checkpoint
		State      SubtaskState
	}
	// Declined says that a subtask cannot take part.
	Declined struct {
		Subtask    id.Subtask
		Checkpoint id.Checkpoint
		Reason     string
	}
	// InputEnded says that a source subtask has used up its bounded input.
	InputEnded struct{ Subtask id.Subtask }
	// Persisted says that the manifest is durable.
	Persisted struct {
		Checkpoint id.Checkpoint
		Ref        joblog.CheckpointRef
	}
	// CompletedAppended says that Completed is in the job log.
	CompletedAppended struct{ Checkpoint id.Checkpoint }
	// CommitsReported is what a sink subtask learnt of its commits.
	CommitsReported struct {
		Subtask id.Subtask
		Results []operator.CommitResult
	}
	// CommitsConfirmed says that every token of the checkpoint has ended.
	CommitsConfirmed struct{ Checkpoint id.Checkpoint }
	// ConfirmedAppended says that Confirmed is in the job log.
	ConfirmedAppended struct{ Checkpoint id.Checkpoint }
	// SavepointAppended says that Savepoint is in the job log.
	SavepointAppended struct{ Checkpoint id.Checkpoint }
	// Sealed says that the seal of the savepoint is durable.
	Sealed struct{ Checkpoint id.Checkpoint }
	// SavepointAsked asks for a savepoint at once; with Stop the job stops after it.
	SavepointAsked struct{ Stop bool }
)

// Effects of the coordinator, to be executed one by one in their order.
type (
	// Alarm asks for Woken at an instant; it replaces the one before.
	Alarm struct{ At env.Instant }
	// Trigger injects barrier n at the sources.
	Trigger struct {
		Checkpoint id.Checkpoint
		Kind       Kind
	}
	// Persist writes the manifest. All acks are there.
	Persist struct{ Manifest Manifest }
	// AppendCompleted makes the checkpoint durable.
	AppendCompleted struct {
		Ref    joblog.CheckpointRef
		Tokens []token.Token
	}
	// Notify tells every subtask that n is completed, and the sinks to commit these tokens.
	Notify struct {
		Checkpoint id.Checkpoint
		Tokens     []token.Token
	}
	// Confirm asks whether every token has ended.
	Confirm struct {
		Checkpoint id.Checkpoint
		Tokens     []token.Token
	}
	// AppendConfirmed says so in the job log.
	AppendConfirmed struct{ Checkpoint id.Checkpoint }
	// Freed tells the sinks that the ids of n may be used again.
	Freed struct{ Checkpoint id.Checkpoint }
	// AppendSavepoint gives the checkpoint to the user.
	AppendSavepoint struct{ Checkpoint id.Checkpoint }
	// Seal writes the seal of a savepoint.
	Seal struct{ Ref joblog.CheckpointRef }
	// Release appends Released and deletes the checkpoint's objects.
	Release struct{ Checkpoint id.Checkpoint }
	// Dropped reports a checkpoint that was declined or expired.
	Dropped struct {
		Checkpoint id.Checkpoint
		Reason     string
	}
	// Restart fails the generation.
	Restart struct{ Reason string }
	// Halt stops the job: no restart mends this.
	Halt struct{ Reason string }
	// Finish stops the job after its last checkpoint.
	Finish struct {
		Checkpoint id.Checkpoint
		Ended      bool // else stopped by the user
	}
)

// Fact is one of the facts above.
type Fact interface{ fact() }

// Effect is one of the effects above. It prints itself in one line.
type Effect interface{ String() string }

func (Started) fact()           {}
func (Woken) fact()             {}
func (Acked) fact()             {}
func (Declined) fact()          {}
func (InputEnded) fact()        {}
func (Persisted) fact()         {}
func (CompletedAppended) fact() {}
func (CommitsReported) fact()   {}
func (CommitsConfirmed) fact()  {}
func (ConfirmedAppended) fact() {}
func (SavepointAppended) fact() {}
func (Sealed) fact()            {}
func (SavepointAsked) fact()    {}

func (e Alarm) String() string   { return fmt.Sprintf("alarm at=%dms", e.At/1e6) }
func (e Trigger) String() string { return fmt.Sprintf("trigger ckpt=%d %v", e.Checkpoint, e.Kind) }
func (e Persist) String() string {
	return fmt.Sprintf("persist ckpt=%d subtasks=%d", e.Manifest.Checkpoint, len(e.Manifest.Subtasks))
}

func (e AppendCompleted) String() string {
	return fmt.Sprintf("append completed ckpt=%d tokens=%s", e.Ref.Checkpoint, names(e.Tokens))
}

func (e Notify) String() string {
	return fmt.Sprintf("notify ckpt=%d tokens=%s", e.Checkpoint, names(e.Tokens))
}

func (e Confirm) String() string {
	return fmt.Sprintf("confirm ckpt=%d tokens=%s", e.Checkpoint, names(e.Tokens))
}

func (e AppendConfirmed) String() string {
	return fmt.Sprintf("append confirmed ckpt=%d", e.Checkpoint)
}
func (e Freed) String() string { return fmt.Sprintf("freed ckpt=%d", e.Checkpoint) }
func (e AppendSavepoint) String() string {
	return fmt.Sprintf("append savepoint ckpt=%d", e.Checkpoint)
}
func (e Seal) String() string    { return fmt.Sprintf("seal ckpt=%d", e.Ref.Checkpoint) }
func (e Release) String() string { return fmt.Sprintf("release ckpt=%d", e.Checkpoint) }
func (e Dropped) String() string {
	return fmt.Sprintf("dropped ckpt=%d: %s", e.Checkpoint, e.Reason)
}
func (e Restart) String() string { return "restart: " + e.Reason }
func (e Halt) String() string    { return "halt: " + e.Reason }
func (e Finish) String() string  { return fmt.Sprintf("finish ckpt=%d ended=%v", e.Checkpoint, e.Ended) }

func names(tokens []token.Token) string {
	s := "["
	for i, t := range tokens {
		if i > 0 {
			s += " "
		}
		s += fmt.Sprintf("%s/%d@%d", t.Sink, t.Subtask, t.Checkpoint)
	}
	return s + "]"
}
