// Package source has the sources that a job reads: partitions of Kafka topics as splits.
package source

import (
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
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

// Kafka reads the partitions of a topic.
type Kafka struct {
	Topic string
	// Bounded: the source ends at what was stable when the job first discovered each partition.
	Bounded bool
	Start   Start
	// ReadUncommitted also yields records of open and aborted transactions. It is for negative controls.
	ReadUncommitted bool
}

// New makes the source of one subtask.
func (k Kafka) New() operator.Source { panic("pending") }

// Enumerator makes the half that discovers splits.
func (k Kafka) Enumerator() operator.Enumerator { return enumerator{k} }

type enumerator struct{ k Kafka }

func (e enumerator) Discover(loop env.Loop, p *proc.Process, known []operator.Split, done func([]operator.Split, error)) {
	panic("pending")
}
