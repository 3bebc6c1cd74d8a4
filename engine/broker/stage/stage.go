// Package stage is where scripts play on a Kafka cluster through broker.Requests, whatever cluster it is: simulated, an
// embedded kfake, a real one. A script is a function written from top to bottom; it runs on a loop of the backend:
//
//	err := stage.Run(backend, 1, func(t *stage.T) {
//		tp := stage.Part(t.Topic(1), 0)
//		who := t.Writer()
//		t.Write(tp, who, 0, "a")
//		t.Finish(who, true, tp)
//		t.Holds(tp, "0:a 1:COMMIT")
//	})
//
// A verb that ends in Code tells what the cluster answered, and other verbs end the script with an error when the cluster
// does not do what they ask for. All of them repeat what any client must repeat. Requests at chosen versions are sent by
// T.Raw and its kin, which repeat nothing; T.Another is a second client, as a zombie needs one.
//
// The package knows no testing framework: brokertest, the hazards and the differential fuzz are built on it.
package stage

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/proc"
)

// Backend is a cluster to play on.
type Backend interface {
	// Name says which cluster it is: "simbroker k44", "kfake", "kafka 4.4".
	Name() string
	// Run makes a fresh loop of a process with ports to the cluster, calls fn on it, and returns once fn has called done,
	// or with an error when it does not. It is called for one script after the other.
	Run(fn func(p *proc.Process, loop env.Loop, done func())) error
}

// Mover is a backend that can move leaders and coordinators. Its methods may be called from a script by T.MoveLeader and
// T.MoveCoordinator.
type Mover interface {
	// MoveLeader makes another broker the leader of a partition.
	MoveLeader(tp id.TopicPartition) error
	// MoveCoordinator makes another broker the coordinator of a transactional id.
	MoveCoordinator(transactionalID string) error
}

// Breaker is a backend whose brokers can be killed and held. Brokers are counted from 0.
type Breaker interface {
	KillBroker(i int) error // as kill -9 does
	StartBroker(i int) error
	PauseBroker(i int) error // as SIGSTOP does
	ResumeBroker(i int) error
}

// Impatient is a backend that does all at once, or not at all: there scripts wait less than Patience.
type Impatient interface {
	Patience() time.Duration
}
