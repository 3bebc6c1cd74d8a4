// Package id has the names of things as types: jobs and operators by uid; generations, checkpoints, positions of the job log,
// subtasks and partitions by number. Two numbers that could be swapped are two types, or one struct. It has no state and
// imports nothing of the engine.
package id

import (
	"cmp"
	"fmt"
	"regexp"
)

// Job is the uid of a job, minted when its log is created. It matches [a-z0-9-]+.
type Job string

// Operator is the uid that ties state, transactional ids and reports to an operator. It matches [a-z0-9-]+.
type Operator string

// Generation is one incarnation of a job: the position of its Claimed entry in the job log. Every restart of tasks is a
// new one; later is larger.
type Generation uint64

// Checkpoint numbers checkpoints of a job from 1. Barrier n ends epoch n and belongs to checkpoint n. Numbers never come
// back, even after a checkpoint was abandoned.
type Checkpoint uint64

// Position is a place in the job log, from 0.
type Position uint64

// Vertex numbers a chain of operators in the plan, from 0.
type Vertex int32

// Subtask is one parallel instance of a vertex.
type Subtask struct {
	Vertex Vertex
	Index  int32
}

func (s Subtask) String() string { return fmt.Sprintf("v%d/%d", s.Vertex, s.Index) }

// Less orders subtasks by vertex, then index.
func (s Subtask) Less(o Subtask) bool {
	return s.Vertex < o.Vertex || s.Vertex == o.Vertex && s.Index < o.Index
}

// TopicPartition is one partition of a Kafka topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func (t TopicPartition) String() string { return fmt.Sprintf("%s/%d", t.Topic, t.Partition) }

// Compare orders by topic, then partition.
func (t TopicPartition) Compare(o TopicPartition) int {
	return cmp.Or(cmp.Compare(t.Topic, o.Topic), cmp.Compare(t.Partition, o.Partition))
}

var uid = regexp.MustCompile(`^[a-z0-9-]+$`)

// ValidUID reports whether s can be the uid of a job or an operator.
func ValidUID(s string) bool { return uid.MatchString(s) }
