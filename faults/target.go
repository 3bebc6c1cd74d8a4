package faults

import (
	"fmt"
	"time"
)

// Role is what a node is.
type Role uint8

// The roles.
const (
	TaskManager Role = iota
	JobManager
	Broker
	Process // a JobManager and TaskManagers in one process of the operating system
)

// Node is one process that can be struck. Names match [a-z0-9-]+; the custom is tm1, tm2, jm1, broker1, process1.
type Node struct {
	Name string
	Role Role
}

// Target is a world that a plan strikes. All calls come from the one thread that owns the world.
type Target interface {
	// Now is the virtual time since the run began.
	Now() time.Duration
	// After runs fn once, d later, between two callbacks of nodes.
	After(d time.Duration, fn func())
	// Nodes lists all nodes in a fixed order: it never changes during a run.
	Nodes() []Node
	// InFlight reports whether the node waits for an answer of a broker or the blob store, holds records that it has read
	// and not yet written out, or has an open or prepared transaction. A node that is down has nothing in flight.
	InFlight(node string) bool
	// Do carries out one action at once; a Crash of the node whose callback is running ends it there: its ports are dead
	// when Do returns. Do reports whether the action met something that it could act upon: a node that was up, a
	// coordinator that moved. What an action strikes later is told through Action.Hit.
	Do(a Action) bool
}

// Op is what an Action does.
type Op uint8

// The operations. Each says which fields of the Action it uses.
const (
	Crash           Op = iota // Node: loops and volatile memory are gone; the disk keeps what was synced
	Restart                   // Node: boots again; nothing if it is up
	Pause                     // Node: handles nothing; its messages and timers queue up (a zombie)
	Resume                    // Node: goes on with all that queued up
	Cut                       // Node -> Peer: connections break, and nothing passes in this direction; Hit per message lost
	Join                      // Node -> Peer: the end of Cut
	SlowLink                  // Node -> Peer: every message takes Delay longer; Delay 0 is the end of it; Hit per message
	SlowNode                  // Node: every callback takes Factor times as long; 1 is the end of it; Hit per callback
	LoseRequest               // Node, Request, Count: the next Count such requests are lost before their effect; Hit per request
	LoseReply                 // Node, Request, Count: the next Count such requests take effect, their replies are lost; Hit
	LateReply                 // Node, Request, Count, Delay: the replies of the next Count come Delay later; Hit
	RepeatRequest             // Node, Request, Count: the next Count arrive twice, the first reply is lost; Hit
	BlobSlow                  // Node, Delay, Count: the next Count operations take Delay longer (Count 0: until Calm); Hit
	BlobFailBefore            // Node, Count: the next Count operations fail without effect, with an unknown error; Hit
	BlobFailAfter             // Node, Count: the next Count operations take effect and then fail; Hit
	BlobCalm                  // Node: the end of the three above
	JumpClock                 // Node, Delay (may be negative): the wall clock jumps; the monotonic one does not
	MoveCoordinator           // Node is a broker: the transaction coordinators it hosts move elsewhere; "": all move on
	MoveLeader                // Topic, Partition: another broker leads it
	DropLeader                // Topic, Partition: nobody leads it
	ElectLeader               // Topic, Partition: the end of DropLeader
	StallReplicas             // Node is a broker: its replicas stop following their leaders; what it leads goes on
	ResumeReplicas            // Node: the end of StallReplicas
	TroubleTxnLog             // Node is a broker: what it appends to the log of transactions fails, or seems to
	HealTxnLog                // Node: the end of TroubleTxnLog
	Upgrade                   // Node is a broker, Profile: it hands on what it leads and has another release from its next start on
	Finalize                  // Level: the feature transaction.version of the cluster
	Calm                      // everywhere: requests, blob store, links and slow nodes are as they should be; the rest is undone one by one
	opCount
)

var opNames = [opCount]string{
	"crash", "restart", "pause", "resume", "cut", "join", "slow-link", "slow-node", "lose-request",
	"lose-reply", "late-reply", "repeat-request", "blob-slow", "blob-fail-before", "blob-fail-after", "blob-calm", "jump-clock",
	"move-coordinator", "move-leader", "drop-leader", "elect-leader", "stall-replicas", "resume-replicas",
	"trouble-txn-log", "heal-txn-log", "upgrade", "finalize", "calm",
}

func (o Op) String() string { return opNames[o] }

// Action is one thing done to a world. Fields that its Op does not name are zero.
type Action struct {
	Op        Op
	Node      string
	Peer      string
	Request   string // Kafka's name of it: EndTxn, Produce, TxnOffsetCommit, ...
	Topic     string
	Partition int32
	Count     int
	Delay     time.Duration
	Factor    int
	Profile   string
	Level     int
	// Hit, when not nil, is called each time the action strikes a message, an operation or a callback.
	Hit func()
}

func (a Action) String() string {
	s := a.Op.String()
	if a.Node != "" {
		s += " " + a.Node
	}
	if a.Peer != "" {
		s += " -> " + a.Peer
	}
	if a.Request != "" {
		s += " " + a.Request
	}
	if a.Topic != "" {
		s += fmt.Sprintf(" %s/%d", a.Topic, a.Partition)
	}
	if a.Profile != "" {
		s += " to " + a.Profile
	}
	if a.Op == Finalize {
		s += fmt.Sprintf(" %s=%d", feature, a.Level)
	}
	if a.Delay != 0 {
		s += " by " + a.Delay.String()
	}
	if a.Factor != 0 {
		s += fmt.Sprintf(" by %d", a.Factor)
	}
	if a.Count != 0 {
		s += fmt.Sprintf(" for %d", a.Count)
	}
	return s
}
