// Package hook numbers the moments on the path of checkpoint, commit and restore at which a failure is worth trying.
//
// The engine emits an Event between two effects. A nemesis that kills the process there makes its ports dead at that
// instant, in mid-callback; production logs it.
package hook

import (
	"fmt"

	"github.com/onefold/onefold/engine/id"
)

// Point is one such moment.
type Point uint8

// The points, in the order in which one checkpoint passes them; then confirm, then restore.
const (
	K0BarrierInjected Point = iota
	K1PositionsSnapshotted
	K2StateSnapshotted
	K3WriterFlushed
	K4TokenRecorded
	K5AckSent
	K6AllAcked
	K7Completed // manifest durable and Completed appended
	K8NoticeSent
	K9EndTxnSent
	K10EndTxnDurable // at the transaction coordinator; emitted by the simulated broker only
	K11SomeMarkers   // emitted by the simulated broker only
	K12AllMarkers    // emitted by the simulated broker only
	K13ReplyReceived
	K14Confirmed // Confirmed appended
	C1ConfirmAsked
	C2RepairSent
	R0Claimed
	R1SalvageIDInitialised
	R2Surveyed
	R3TokenDecided
	R4SalvageEndTxnSent
	R5Confirmed
	R6Fenced
	R7WritersOpen
	Count // how many there are
)

var names = [Count]string{
	"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11", "k12", "k13", "k14",
	"c1", "c2", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
}

func (p Point) String() string {
	if p < Count {
		return names[p]
	}
	return fmt.Sprintf("hook(%d)", uint8(p))
}

// Parse is the inverse of String.
func Parse(s string) (Point, bool) {
	for i, n := range names {
		if n == s {
			return Point(i), true
		}
	}
	return 0, false
}

// Event is a point passed. Fields that do not apply are zero; Subtask.Vertex is -1 where no subtask is concerned.
type Event struct {
	Point      Point
	Generation id.Generation
	Checkpoint id.Checkpoint
	Subtask    id.Subtask
}
