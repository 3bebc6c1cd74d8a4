// Package source has the sources that a job reads: partitions of Kafka topics as splits.
//
// A source's positions live in the job's checkpoints and nowhere else: no consumer group is asked where to begin. The half
// in the JobManager discovers partitions and resolves where new ones begin and where bounded ones end; the half in a
// subtask reads. The hooks of a barrier are emitted by the task.
package source

import (
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
)

// Start says where a split that no checkpoint knows begins.
type Start struct {
	kind      startKind
	timestamp int64
}

type startKind uint8

const (
	earliest startKind = iota
	latest
	at
)

// Earliest begins at the first record there is. It is the default.
func Earliest() Start { return Start{kind: earliest} }

// Latest begins behind the last stable record at the time of discovery.
func Latest() Start { return Start{kind: latest} }

// At begins at the first record with this or a later timestamp, in Unix milliseconds.
func At(unixMs int64) Start { return Start{kind: at, timestamp: unixMs} }

// Kafka reads the partitions of a topic. Partitions that appear after the job's first start begin at their first record
// and are found at the next restore.
type Kafka struct {
	Topic string
	// Bounded: the source ends at what was stable when the job first discovered each partition.
	Bounded bool
	Start   Start
	// ReadUncommitted also yields records of open and aborted transactions: a link of the chain configured out.
	ReadUncommitted bool
	// OutOfRange decides where to go on when records at a position are gone, the log spanning start to end. Nil: the job
	// fails and says so.
	OutOfRange func(s operator.Split, start, end int64) (position int64, err error)
	// Window is the least number of offsets of a partition that an at-most-once job sets aside at a barrier, to process
	// until the next one; a crash loses at most what was set aside. Default 10,000.
	Window int64
	// Fetch tunes sizes and waits; its other fields are set by the source.
	Fetch kafka.FetcherConfig
	// Client tunes time limits; its ports are set by the source.
	Client kafka.Config
}

func (k Kafka) isolation() kafka.Isolation {
	if k.ReadUncommitted {
		return kafka.ReadUncommitted
	}
	return kafka.ReadCommitted
}

// New makes the source of one subtask.
func (k Kafka) New() operator.Source {
	if k.Window == 0 {
		k.Window = 10_000
	}
	return &reader{k: k}
}

// Enumerator makes the half that discovers splits.
func (k Kafka) Enumerator() operator.Enumerator { return enumerator{k} }
