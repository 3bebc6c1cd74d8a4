package firetest

import (
	"fmt"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
)

// Op is what is done to a cluster.
type Op uint8

// The operations. Each is over when a client can feel that it is: a started broker serves again.
const (
	Kill             Op = iota // Broker, as kill -9 does
	Start                      // Broker, after Kill
	Pause                      // Broker: its connections stay open and nothing is answered
	Resume                     // Broker, after Pause
	MoveLeader                 // Partition, to another broker
	MoveCoordinator            // of the transactional id ID, to another broker
	Roll                       // Broker: a clean stop, and a start with the newer release
	RaiseTransaction           // transaction.version to 2
)

var opNames = [...]string{"kill", "start", "pause", "resume", "move the leader of", "move the coordinator of", "roll", "raise transaction.version"}

// Strike is one operation.
type Strike struct {
	Op        Op
	Broker    int32
	Partition id.TopicPartition
	ID        string
}

func (s Strike) String() string {
	switch s.Op {
	case MoveLeader:
		return fmt.Sprintf("%s %s", opNames[s.Op], s.Partition)
	case MoveCoordinator:
		return fmt.Sprintf("%s %s", opNames[s.Op], s.ID)
	case RaiseTransaction:
		return opNames[s.Op]
	}
	return fmt.Sprintf("%s broker %d", opNames[s.Op], s.Broker)
}

// World is a cluster that can be struck while clients go on.
type World interface {
	stage.Backend
	// Strike begins an operation; done runs on the loop when it is over.
	Strike(loop env.Loop, s Strike, done func(error))
	// Replicated reports whether a partition goes on without the broker that leads it.
	Replicated() bool
}
