package task

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/stream"
	"github.com/onefold/onefold/engine/token"
)

// Spec tells a task what to run and from where to go on. All fields but Plan and Options cross from the JobManager.
type Spec struct {
	Plan       *graph.Plan // of the same job and parallelism in every process
	Job        id.Job
	Generation id.Generation
	Subtask    id.Subtask
	// Peers are the addresses of the TaskManagers that run the other ends of the subtask's channels; more do not hurt.
	Peers []Peer
	// Splits of the vertex's source that this subtask reads, at the positions to read next.
	Splits []operator.Split
	// Restored are the subtasks of the checkpoint that hold state of the vertex's operators. The parallelism may have been
	// another: the task takes its key groups out of all of them.
	Restored []checkpoint.SubtaskState
	// Carried are the undecided tokens that this subtask's sinks take into their next snapshots; none after a restore,
	// which decides all.
	Carried []token.Token
	Options Options
}

// Peer says which TaskManager runs a subtask.
type Peer struct {
	Subtask id.Subtask
	Addr    env.Addr
}

func (s *Spec) peer(t id.Subtask) (env.Addr, error) {
	for _, p := range s.Peers {
		if p.Subtask == t {
			return p.Addr, nil
		}
	}
	return "", fmt.Errorf("%v is not told where %v runs", s.Subtask, t)
}

// Options are chosen by the world, the same for all tasks of a TaskManager. The zero value is production's.
type Options struct {
	// Batch is the largest number of records in a batch; 512 if zero.
	Batch int
	// DrawBatch, if not zero, draws the size of each batch from 1 to DrawBatch instead.
	DrawBatch int
	// Flush bounds how long a record waits in a batch that is not full; 5 ms if zero.
	Flush time.Duration
	// CostPerRecord is the time that a record takes, spent on the task's loop, so that back-pressure binds in the
	// simulator.
	CostPerRecord time.Duration
	// Check turns on expensive checks: the aligner's after each step.
	Check bool
	// NewAligner makes the barrier aligner of a task with this number of inputs; NewAligner of this package if nil. Another
	// one is a negative control.
	NewAligner func(inputs int) Aligner
	// Uploads is how often an upload is tried before the checkpoint is declined; 5 if zero.
	Uploads int
}

func (o *Options) fill() {
	if o.Batch == 0 {
		o.Batch = 512
	}
	if o.Flush == 0 {
		o.Flush = 5 * time.Millisecond
	}
	if o.NewAligner == nil {
		o.NewAligner = func(inputs int) Aligner { return NewAligner(inputs) }
	}
	if o.Uploads == 0 {
		o.Uploads = 5
	}
}

// Origin names the input record at which a task failed. Source is empty when there was none.
type Origin struct {
	Source    id.Operator
	Partition int32
	Offset    int64
}

func (o Origin) String() string {
	if o.Source == "" {
		return "no record"
	}
	return fmt.Sprintf("%s partition %d offset %d", o.Source, o.Partition, o.Offset)
}

// Host is the TaskManager as a task sees it. It is called on the task's loop.
type Host interface {
	// Running: state is restored, sinks and source are open.
	Running(s id.Subtask)
	// Acked: the subtask's part of checkpoint n is durable.
	Acked(s id.Subtask, n id.Checkpoint, state checkpoint.SubtaskState)
	// Declined: the subtask has no part of checkpoint n and will have none.
	Declined(s id.Subtask, n id.Checkpoint, reason string)
	// InputEnded: the subtask's source is used up. It still answers triggers.
	InputEnded(s id.Subtask)
	// Committed answers Commit, once all of its tokens are answered.
	Committed(s id.Subtask, n id.Checkpoint, results []operator.CommitResult)
	// Failed: the task has stopped by itself and closes its loop. by is empty when it was no operator's fault. It is the last
	// call, unless a Cancel was under way, whose Stopped follows.
	Failed(s id.Subtask, by id.Operator, at Origin, reason string)
	// Stopped answers the Cancel of a task that has not failed; it is the last call.
	Stopped(s id.Subtask)
}

// BarrierKind says what a checkpoint is for.
type BarrierKind = stream.BarrierKind

// StateKey is where subtask s uploads the keyed state of an operator for checkpoint n.
func StateKey(g id.Generation, n id.Checkpoint, s id.Subtask, op id.Operator) blob.Key {
	return blob.Key(fmt.Sprintf("checkpoints/g%d/%d/v%d-%d-%s", g, n, s.Vertex, s.Index, op))
}
