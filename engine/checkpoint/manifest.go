package checkpoint

import (
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/token"
)

// Handle points to one object that a subtask uploaded for a checkpoint.
type Handle struct {
	Key   blob.Key `json:"key"`
	Bytes int64    `json:"bytes"`
	CRC   uint32   `json:"crc"` // crc32c of the object
}

// Position is where a source stands in one split.
type Position struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Position  int64  `json:"position"`
	Stop      int64  `json:"stop"` // -1: unbounded
}

// OperatorState is what one operator of one subtask put into a checkpoint.
type OperatorState struct {
	Operator  id.Operator `json:"operator"`
	Positions []Position  `json:"positions,omitempty"` // sources
	Keyed     []Handle    `json:"keyed,omitempty"`     // keyed state and timers, all key groups of the subtask
	Plain     []byte      `json:"plain,omitempty"`     // small operator state
	Watermark *int64      `json:"watermark,omitempty"`
}

// SubtaskState is the part of one subtask, as it is in its ack.
type SubtaskState struct {
	Vertex    id.Vertex       `json:"vertex"`
	Index     int32           `json:"index"`
	Operators []OperatorState `json:"operators,omitempty"`
	Channel   []Handle        `json:"channel,omitempty"` // channel state; empty while barriers are aligned
	Tokens    []token.Token   `json:"tokens,omitempty"`
}

// Manifest is a checkpoint: all that is needed to go on from it.
type Manifest struct {
	Job         id.Job         `json:"job"`
	Checkpoint  id.Checkpoint  `json:"checkpoint"`
	Generation  id.Generation  `json:"generation"`
	Graph       string         `json:"graph"` // fingerprint of the job graph
	Parallelism []int32        `json:"parallelism"`
	Savepoint   bool           `json:"savepoint,omitempty"`
	Final       bool           `json:"final,omitempty"` // the last one of a bounded job
	Subtasks    []SubtaskState `json:"subtasks"`        // sorted by vertex and index
}
