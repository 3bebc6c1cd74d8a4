package sink

import (
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// Coordinated is what the transaction coordinator tells of a token.
type Coordinated uint8

// The answers of the coordinator.
const (
	Silent        Coordinated = iota // it knows nothing of this transaction any more
	OngoingOurs                      // open under the token's identity
	OngoingRepair                    // open under a later identity: half of a repair
	Preparing                        // decided, markers on their way
	CompletedCommit
	CompletedAbort
)

var coordinatedNames = [...]string{"silent", "ongoing", "ongoing-repair", "preparing", "complete-commit", "complete-abort"}

func (c Coordinated) String() string { return coordinatedNames[c] }

// ReadCoordinator tells what Describe says of a token. An id is in quarantine until its token is confirmed, so a later
// producer epoch of the same id belongs to a repair or an abort of this very transaction. An end at maxEpoch-1, the last
// epoch that a client may have, moves the id to another producer id with epoch 0.
func ReadCoordinator(t token.Token, d kafka.Transaction, maxEpoch int16) Coordinated {
	rotated := t.ProducerEpoch >= maxEpoch-1 && d.ProducerEpoch == 0
	if d.ProducerID != t.ProducerID && !rotated {
		return Silent
	}
	switch d.State {
	case kafka.TxnOngoing:
		if d.ProducerEpoch == t.ProducerEpoch {
			return OngoingOurs
		}
		return OngoingRepair
	case kafka.TxnPrepareCommit, kafka.TxnPrepareAbort:
		return Preparing
	case kafka.TxnCompleteCommit:
		return CompletedCommit
	case kafka.TxnCompleteAbort:
		return CompletedAbort
	}
	return Silent
}
