package jobmanager

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	WaitingForSlots EventKind = iota // Registered of Needed slots are there
	StandingBy                       // waits for the active JobManager to be missed
	Claimed                          // Generation
	Restored                         // from Checkpoint; 0: from nothing
	Running                          // all subtasks run
	CheckpointCompleted
	CheckpointConfirmed
	CheckpointFailed // declined or expired; Reason
	Restarting       // Reason, Wait
	Superseded       // Generation was this one's own; Err names the newer one
	LossReported     // Loss
	SavepointSealed  // Checkpoint, Key
	Ended            // bounded input is used up, the last checkpoint is confirmed
	Stopped          // for good: Reason, or Err when something is wrong
)

var eventNames = [...]string{
	"waiting for slots", "standing by", "claimed", "restored", "running", "checkpoint completed",
	"checkpoint confirmed", "checkpoint failed", "restarting", "superseded", "loss", "savepoint sealed", "ended", "stopped",
}

func (k EventKind) String() string { return eventNames[k] }

// Event is something that happened to the job, for people, metrics and the harness.
type Event struct {
	Kind       EventKind
	At         env.Instant
	Generation id.Generation
	Job        id.Job
	Checkpoint id.Checkpoint
	// Duration is from the trigger: to Completed, or to Confirmed.
	Duration time.Duration
	Wait     time.Duration // back-off before a restart
	Reason   string
	Err      error
	Loss     *joblog.Loss
	Key      blob.Key
	// Bytes is the size of the checkpoint's objects.
	Bytes int64
	// Tokens is how many transactions the checkpoint commits.
	Tokens int
	// Open is how many transactions are prepared and unconfirmed.
	Open int
	// Positions of all splits in a completed or confirmed checkpoint, per source.
	Positions          []checkpoint.Position
	Registered, Needed int32
	TaskManager        env.Addr
	Operator           id.Operator
}

func (e Event) String() string {
	s := e.Kind.String()
	if e.Generation > 0 {
		s += fmt.Sprintf(" generation=%d", e.Generation)
	}
	if e.Checkpoint > 0 {
		s += fmt.Sprintf(" checkpoint=%d", e.Checkpoint)
	}
	if e.Duration > 0 {
		s += fmt.Sprintf(" after=%v", e.Duration)
	}
	if e.Kind == WaitingForSlots {
		s += fmt.Sprintf(" slots=%d/%d", e.Registered, e.Needed)
	}
	if e.Reason != "" {
		s += fmt.Sprintf(" reason=%q", e.Reason)
	}
	if e.Err != nil {
		s += fmt.Sprintf(" error=%q", e.Err)
	}
	return s
}
