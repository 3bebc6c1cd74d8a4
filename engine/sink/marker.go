package sink

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/token"
)

// OldestFirst orders tokens for committing: by checkpoint, sink, subtask, lane number.
func OldestFirst(a, b token.Token) int {
	return cmp.Or(
		cmp.Compare(a.Checkpoint, b.Checkpoint),
		cmp.Compare(a.Sink, b.Sink),
		cmp.Compare(a.Subtask, b.Subtask),
		cmp.Compare(a.Number, b.Number),
		cmp.Compare(a.TransactionalID, b.TransactionalID),
	)
}

// Same reports whether two tokens name the same transaction.
func Same(a, b token.Token) bool {
	return a.TransactionalID == b.TransactionalID && a.ProducerID == b.ProducerID && a.ProducerEpoch == b.ProducerEpoch && a.Checkpoint == b.Checkpoint
}

// markerMetadata names the transaction that a marker stands for. The time in it only tells when the lane will expire.
func markerMetadata(job id.Job, i kafka.Identity, nowMs int64) string {
	return fmt.Sprintf("%s %s %d %d at=%d", job, i.TransactionalID, i.ProducerID, i.ProducerEpoch, nowMs)
}

// seedMetadata is the metadata of a lane's seed. It names the generation, so a zombie's seed is never taken for ours.
func seedMetadata(job id.Job, g id.Generation, nowMs int64) string {
	return fmt.Sprintf("%s seed g%d at=%d", job, g, nowMs)
}

// laneAge is how old a lane's value is; a value without a time counts as old.
func laneAge(metadata string, nowMs int64) time.Duration {
	i := strings.Index(metadata, " at=")
	if i < 0 {
		return time.Duration(1<<63 - 1)
	}
	var at int64
	if _, err := fmt.Sscanf(metadata[i:], " at=%d", &at); err != nil {
		return time.Duration(1<<63 - 1)
	}
	return time.Duration(max(0, nowMs-at)) * time.Millisecond
}
