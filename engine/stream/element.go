// Package stream has what moves between operators: flat batches of encoded records with barriers, watermarks, end of
// input and idleness in band.
//
// A batch is one arena of bytes. Each element in it is a header of fixed size and a payload; there is no object per
// record. A batch has one owner at a time: who fills it hands it over, who has read it gives it back to the pool that it
// came from, on that pool's loop.
package stream

import (
	"fmt"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/keygroup"
)

// Kind says what an element is.
type Kind uint8

// The kinds of elements.
const (
	Record Kind = 1 + iota
	Barrier
	Watermark
	End  // end of input; barriers still follow it
	Idle // the channel has nothing for a while: its watermark does not hold others back
)

func (k Kind) String() string {
	switch k {
	case Record:
		return "record"
	case Barrier:
		return "barrier"
	case Watermark:
		return "watermark"
	case End:
		return "end"
	case Idle:
		return "idle"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// BarrierKind says what a checkpoint is for.
type BarrierKind uint8

// The kinds of barriers.
const (
	Checkpoint BarrierKind = iota
	Savepoint              // owned by the user
	Final                  // the last checkpoint of a bounded job
)

func (k BarrierKind) String() string {
	switch k {
	case Checkpoint:
		return "checkpoint"
	case Savepoint:
		return "savepoint"
	case Final:
		return "final"
	}
	return fmt.Sprintf("barrier(%d)", uint8(k))
}

// Origin is the input record that an element comes from. Source is the index of the source operator in the job.
type Origin struct {
	Source    int32
	Partition int32
	Offset    int64
}

func (o Origin) String() string {
	return fmt.Sprintf("source %d partition %d offset %d", o.Source, o.Partition, o.Offset)
}

// Head is what every record carries besides its value.
type Head struct {
	Timestamp int64 // Unix milliseconds; event time
	Origin    Origin
	Hash      keygroup.Hash // of the key, on hash edges
}

// Mark is a barrier: it ends the epoch of its checkpoint.
type Mark struct {
	Checkpoint id.Checkpoint
	Kind       BarrierKind
}
