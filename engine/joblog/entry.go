package joblog

import (
	"errors"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/token"
)

// Kind is the kind of an entry.
type Kind string

// The kinds.
const (
	Created   Kind = "created"   // mints the job uid; position 0
	Claimed   Kind = "claimed"   // a new generation, numbered by its position
	Fenced    Kind = "fenced"    // ids of generations up to Entry.Fenced are fenced
	Completed Kind = "completed" // checkpoint durable: its tokens must be committed
	Confirmed Kind = "confirmed" // its tokens have ended as committed (or salvaged)
	Savepoint Kind = "savepoint" // a confirmed checkpoint is owned by the user
	Abandoned Kind = "abandoned" // completed, yet all of its tokens aborted: restore the one before
	Rewound   Kind = "rewound"   // the user restored below the newest confirmed checkpoint
	Lost      Kind = "lost"      // loud loss
	Released  Kind = "released"  // objects of the checkpoint may be deleted
	Stopped   Kind = "stopped"   // the job has ended, or was stopped by the user
)

// CheckpointRef points to a manifest.
type CheckpointRef struct {
	Checkpoint id.Checkpoint `json:"checkpoint"`
	Generation id.Generation `json:"generation"`
	Manifest   blob.Key      `json:"manifest"`
	CRC        uint32        `json:"crc"` // crc32c of the manifest object
	Savepoint  bool          `json:"savepoint,omitempty"`
	Final      bool          `json:"final,omitempty"`
}

// Entry is one object of the log. Generation and Nonce name the writer.
type Entry struct {
	Kind       Kind           `json:"kind"`
	Position   id.Position    `json:"position"`
	Generation id.Generation  `json:"generation"`
	Nonce      uint64         `json:"nonce"`
	Process    string         `json:"process,omitempty"`
	Job        id.Job         `json:"job,omitempty"`        // Created
	Graph      string         `json:"graph,omitempty"`      // Created
	Checkpoint id.Checkpoint  `json:"checkpoint,omitempty"` // Confirmed, Savepoint, Abandoned, Rewound, Released
	Ref        *CheckpointRef `json:"ref,omitempty"`        // Completed, Rewound
	Tokens     []token.Token  `json:"tokens,omitempty"`     // Completed: all tokens that it decides
	Fenced     id.Generation  `json:"fenced,omitempty"`     // Fenced
	Loss       *Loss          `json:"loss,omitempty"`       // Lost
	Reason     string         `json:"reason,omitempty"`     // Stopped, Abandoned
	Ended      bool           `json:"ended,omitempty"`      // Stopped: the bounded input is used up
	Floor      id.Position    `json:"floor,omitempty"`      // any: entries below may be deleted from now on
	State      State          `json:"state"`                // the fold of the log up to and with this entry
}

// State is the fold of the log: recovery reads one entry.
type State struct {
	Job        id.Job          `json:"job"`
	Graph      string          `json:"graph"`
	Generation id.Generation   `json:"generation"`           // newest claimed
	Fenced     id.Generation   `json:"fenced"`               // ids up to this generation are fenced
	Completed  *CheckpointRef  `json:"completed,omitempty"`  // newest completed that was not abandoned
	Confirmed  id.Checkpoint   `json:"confirmed"`            // newest confirmed
	Highest    id.Checkpoint   `json:"highest"`              // highest number ever completed: numbers never come back
	Undecided  []token.Token   `json:"undecided,omitempty"`  // of completed, unconfirmed checkpoints, oldest first
	Retained   []CheckpointRef `json:"retained,omitempty"`   // completed, not abandoned, not released; oldest first
	Savepoints []CheckpointRef `json:"savepoints,omitempty"` // owned by the user: never deleted by the engine
	Rewound    id.Checkpoint   `json:"rewound,omitempty"`    // newest checkpoint that was rewound to
	Losses     []Loss          `json:"losses,omitempty"`     // reported so far
	Stopped    string          `json:"stopped,omitempty"`    // why, once stopped
	Ended      bool            `json:"ended,omitempty"`      // bounded input is used up and its last checkpoint confirmed
	Floor      id.Position     `json:"floor"`                // oldest entry that is kept
}

// Loss is what a loud loss reports: exactly which records a reader will never see.
type Loss struct {
	Checkpoint id.Checkpoint `json:"checkpoint"`
	Accepted   bool          `json:"accepted,omitempty"` // a declared policy goes on
	Items      []LostRange   `json:"items"`
}

// LostRange is one range of a lost transaction.
type LostRange struct {
	Token  token.Token `json:"token"`
	Range  token.Range `json:"range"`
	Reason string      `json:"reason"`
}

// Appender appends to the log as one generation.
type Appender interface {
	// Append writes the entry at the next position, whatever it takes to learn the outcome. The fields that name writer,
	// position and fold are filled in. ErrSuperseded: a newer generation has claimed, stop; whether the entry came before
	// that claim stays open. Other errors are fatal.
	Append(e Entry, done func(State, error))
}

// ErrSuperseded says that a newer generation owns the job.
var ErrSuperseded = errors.New("a newer generation has claimed the job")
