// Package token has what a checkpoint stores of a prepared transaction (Flink: committable), as plain data.
//
// A token is made by a sink subtask at its barrier, travels with the acknowledgement into the manifest and with Completed into
// the job log, comes back with the notice to commit, and is settled by a confirm or a restore. It holds everything that
// those need: the identity under which the transaction is ended, the lane that tells its outcome, and what it wrote, with
// checksums, so that it can be written again.
package token

import (
	"fmt"

	"github.com/onefold/onefold/engine/id"
)

// Range is what one transaction wrote to one partition. Offsets within it are not contiguous: other producers write in
// between.
type Range struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	First     int64  `json:"first"` // offset of the first record
	Last      int64  `json:"last"`  // offset of the last record
	Count     int64  `json:"count"` // records
	// Bodies is crc32c over the records as they were sealed, without offsets and timestamps; Times is crc32c over their
	// timestamps, which the broker replaces where the topic has LogAppendTime.
	Bodies uint32 `json:"bodies"`
	Times  uint32 `json:"times"`

	// CRC is what a token of wire version 1 has in the place of Bodies and Times; 0: this is none. It is crc32c over each
	// record's timestamp and body, or over the bodies alone where LogAppendTime. Such a token is in a job log, for a restore:
	// none is made, and none is sent.
	CRC           uint32 `json:"crc,omitempty" wire:"-"`
	LogAppendTime bool   `json:"logAppendTime,omitempty" wire:"-"`
}

// Lane is one partition of the job's marker topic, for (sink, subtask, number). Invariant: the value a transaction commits
// on it is the number of its checkpoint.
type Lane struct {
	Partition int32  `json:"partition"`
	Value     int64  `json:"value"`    // stored before this transaction
	Metadata  string `json:"metadata"` // stored before this transaction
}

// Token names a prepared transaction and all that is needed to learn and to repair its outcome. Invariant: nothing is
// produced with its (ProducerID, ProducerEpoch) after its barrier's flush.
type Token struct {
	Sink            id.Operator   `json:"sink"`
	Subtask         int32         `json:"subtask"`
	Checkpoint      id.Checkpoint `json:"checkpoint"`
	Generation      id.Generation `json:"generation"`
	TransactionalID string        `json:"transactionalId"`
	ProducerID      int64         `json:"producerId"`
	ProducerEpoch   int16         `json:"producerEpoch"`
	EndTxnVersion   int16         `json:"endTxnVersion"` // protocol generation: 5 on transaction.version 2, 4 below
	Number          int32         `json:"number"`        // lane number within the subtask
	Lane            Lane          `json:"lane"`
	Metadata        string        `json:"metadata"` // of the marker inside this transaction
	Ranges          []Range       `json:"ranges"`
	OpenedUnixMs    int64         `json:"openedUnixMs"` // advice for warnings; no verdict is taken from it
}

func (t Token) String() string {
	n := int64(0)
	for _, r := range t.Ranges {
		n += r.Count
	}
	return fmt.Sprintf("ckpt %d %s/%d %s pid=%d epoch=%d records=%d", t.Checkpoint, t.Sink, t.Subtask, t.TransactionalID, t.ProducerID, t.ProducerEpoch, n)
}
