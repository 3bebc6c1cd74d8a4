package wire

import (
	"fmt"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// Messages of a TaskManager.
type (
	// Register is the first message on a connection.
	Register struct {
		TaskManager env.Addr
		Nonce       uint64 // of the process: a restarted one is another
		Slots       int32
		Followed    id.Generation // highest generation heard of
	}
	// Pulse is a TaskManager's heartbeat, and tells a standby whether an active JobManager is heard.
	Pulse struct {
		Followed    id.Generation
		SilentForMs uint64 // since the JobManager of that generation was heard last
	}
	// Running says that a task runs.
	Running struct {
		Generation id.Generation
		Subtask    id.Subtask
	}
	// Ack is a subtask's part of a checkpoint.
	Ack struct {
		Generation id.Generation
		Subtask    id.Subtask
		Checkpoint id.Checkpoint
		State      checkpoint.SubtaskState
	}
	// Decline says that a subtask cannot take part in a checkpoint.
	Decline struct {
		Generation id.Generation
		Subtask    id.Subtask
		Checkpoint id.Checkpoint
		Reason     string
	}
	// InputEnded says that a source subtask's bounded input is used up.
	InputEnded struct {
		Generation id.Generation
		Subtask    id.Subtask
	}
	// Committed is what a sink subtask learnt of its commits.
	Committed struct {
		Generation id.Generation
		Subtask    id.Subtask
		Checkpoint id.Checkpoint
		Results    []operator.CommitResult
	}
	// Failed says that a task failed.
	Failed struct {
		Generation id.Generation
		Subtask    id.Subtask
		Operator   id.Operator
		Origin     Origin
		Reason     string
	}
	// Cancelled says that no task of this generation or an older one is left.
	Cancelled struct{ Generation id.Generation }
	// Outdated answers anything of a generation that is not followed any more.
	Outdated struct{ Followed id.Generation }
)

// Origin is the input record with which a user function failed; an empty source: none.
type Origin struct {
	Source    id.Operator
	Partition int32
	Offset    int64
}

// Messages of a JobManager.
type (
	// Beat is a JobManager's heartbeat and its answer to Register. Only an active one owns its generation.
	Beat struct {
		Generation id.Generation
		Active     bool
	}
	// Deploy starts tasks. Tasks of older generations end first.
	Deploy struct {
		Generation  id.Generation
		Job         id.Job
		Checkpoint  id.Checkpoint             // restored; 0: none
		Parallelism []int32                   // of each vertex: both sides must have planned the same
		Graph       string                    // fingerprint
		Places      []env.Addr                // TaskManager of each slot
		Subtasks    []Assignment              // to be started here
		States      []checkpoint.SubtaskState // what the tasks restore from, without positions and tokens
	}
	// Trigger injects a barrier at the sources.
	Trigger struct {
		Generation id.Generation
		Checkpoint id.Checkpoint
		Kind       checkpoint.Kind
	}
	// Notice says that a checkpoint is completed, and names all tokens to be committed; each sink subtask knows its own.
	Notice struct {
		Generation id.Generation
		Checkpoint id.Checkpoint
		Tokens     []token.Token
	}
	// Freed says that a checkpoint is confirmed.
	Freed struct {
		Generation id.Generation
		Checkpoint id.Checkpoint
	}
	// Cancel ends all tasks of a generation and of older ones.
	Cancel struct{ Generation id.Generation }
)

// Assignment is one subtask with the splits that its source reads.
type Assignment struct {
	Subtask id.Subtask
	Splits  []operator.Split
}

// Message is one of the messages above.
type Message interface{ code(c *coder) }

// empty makes a message by its number. Numbers are part of the format.
var empty = []func() Message{
	func() Message { return &Register{} },
	func() Message { return &Pulse{} },
	func() Message { return &Running{} },
	func() Message { return &Ack{} },
	func() Message { return &Decline{} },
	func() Message { return &InputEnded{} },
	func() Message { return &Committed{} },
	func() Message { return &Failed{} },
	func() Message { return &Cancelled{} },
	func() Message { return &Outdated{} },
	func() Message { return &Beat{} },
	func() Message { return &Deploy{} },
	func() Message { return &Trigger{} },
	func() Message { return &Notice{} },
	func() Message { return &Freed{} },
	func() Message { return &Cancel{} },
}

func number(m Message) uint8 {
	switch m.(type) {
	case *Register:
		return 0
	case *Pulse:
		return 1
	case *Running:
		return 2
	case *Ack:
		return 3
	case *Decline:
		return 4
	case *InputEnded:
		return 5
	case *Committed:
		return 6
	case *Failed:
		return 7
	case *Cancelled:
		return 8
	case *Outdated:
		return 9
	case *Beat:
		return 10
	case *Deploy:
		return 11
	case *Trigger:
		return 12
	case *Notice:
		return 13
	case *Freed:
		return 14
	case *Cancel:
		return 15
	}
	panic(fmt.Sprintf("no number for %T", m))
}

func (m *Register) code(c *coder) {
	text(c, &m.TaskManager)
	unsigned(c, &m.Nonce)
	signed(c, &m.Slots)
	unsigned(c, &m.Followed)
}

func (m *Pulse) code(c *coder) {
	unsigned(c, &m.Followed)
	unsigned(c, &m.SilentForMs)
}

func (m *Running) code(c *coder) {
	unsigned(c, &m.Generation)
	subtask(c, &m.Subtask)
}

func (m *Ack) code(c *coder) {
	unsigned(c, &m.Generation)
	subtask(c, &m.Subtask)
	unsigned(c, &m.Checkpoint)
	subtaskState(c, &m.State)
}

func (m *Decline) code(c *coder) {
	unsigned(c, &m.Generation)
	subtask(c, &m.Subtask)
	unsigned(c, &m.Checkpoint)
	text(c, &m.Reason)
}

func (m *InputEnded) code(c *coder) {
	unsigned(c, &m.Generation)
	subtask(c, &m.Subtask)
}

func (m *Committed) code(c *coder) {
	unsigned(c, &m.Generation)
	subtask(c, &m.Subtask)
	unsigned(c, &m.Checkpoint)
	list(c, &m.Results, result)
}

func (m *Failed) code(c *coder) {
	unsigned(c, &m.Generation)
	subtask(c, &m.Subtask)
	text(c, &m.Operator)
	text(c, &m.Origin.Source)
	signed(c, &m.Origin.Partition)
	signed(c, &m.Origin.Offset)
	text(c, &m.Reason)
}

func (m *Cancelled) code(c *coder) { unsigned(c, &m.Generation) }

func (m *Outdated) code(c *coder) { unsigned(c, &m.Followed) }

func (m *Beat) code(c *coder) {
	unsigned(c, &m.Generation)
	c.bool(&m.Active)
}

func (m *Deploy) code(c *coder) {
	unsigned(c, &m.Generation)
	text(c, &m.Job)
	unsigned(c, &m.Checkpoint)
	list(c, &m.Parallelism, signed[int32])
	text(c, &m.Graph)
	list(c, &m.Places, text[env.Addr])
	list(c, &m.Subtasks, assignment)
	list(c, &m.States, subtaskState)
}

func assignment(c *coder, a *Assignment) {
	subtask(c, &a.Subtask)
	list(c, &a.Splits, split)
}

func (m *Trigger) code(c *coder) {
	unsigned(c, &m.Generation)
	unsigned(c, &m.Checkpoint)
	unsigned(c, &m.Kind)
	c.bad = c.bad || m.Kind > checkpoint.Final
}

func (m *Notice) code(c *coder) {
	unsigned(c, &m.Generation)
	unsigned(c, &m.Checkpoint)
	list(c, &m.Tokens, tokenOf)
}

func (m *Freed) code(c *coder) {
	unsigned(c, &m.Generation)
	unsigned(c, &m.Checkpoint)
}

func (m *Cancel) code(c *coder) { unsigned(c, &m.Generation) }
