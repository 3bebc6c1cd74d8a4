package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/faults"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BrokerFaults is what a plan does to the cluster that is on a world. Each call reports whether it met something.
type BrokerFaults interface {
	MoveCoordinator(broker string) bool
	MoveLeader(topic string, partition int32) bool
	DropLeader(topic string, partition int32) bool
	ElectLeader(topic string, partition int32) bool
	StallReplicas(broker string) bool
	TroubleTxnLog(broker string, on bool) bool
	Upgrade(broker, profile string) bool
	Finalize(level int16) bool
	ResumeReplicas(broker string) bool
	// Locate names the broker that plays a part now: faults.Leader, faults.Coordinator; "" is none.
	Locate(part string) string
}

// BlobFaults is what a plan does to the store that is on a world.
type BlobFaults interface {
	FaultBlob(BlobFault)
	// CalmBlob ends the faults of a node, or of all with "".
	CalmBlob(node string)
}

// BlobFault strikes operations of one node on the store.
type BlobFault struct {
	Node   string // empty is any
	Effect BlobEffect
	Delay  time.Duration // of BlobSlow
	Count  int           // 0: until calmed
	// OneIn is that one in so many operations is struck, by a draw; 0 and 1 are all.
	OneIn uint64
	Hit   func() // nil is allowed
}

// BlobEffect is what happens to an operation.
type BlobEffect uint8

// The effects.
const (
	BlobSlow       BlobEffect = iota // it takes Delay longer
	BlobFailBefore                   // it fails with an unknown error and had no effect
	BlobFailAfter                    // it fails with an unknown error after its effect
)

// ReportInFlight adds a reporter of what a node has in flight: requests without answer, records read and not written out,
// transactions open or prepared. The ports and the scenario each report what they know.
func (w *World) ReportInFlight(fn func(node string) bool) { w.inFlight = append(w.inFlight, fn) }

// Target is the world as a plan strikes it. Nodes whose names begin with tm, jm or broker can be struck.
func (w *World) Target() faults.Target { return &target{w} }

type target struct{ w *World }

// Now implements faults.Target.
func (t *target) Now() time.Duration { return time.Duration(t.w.now) }

// After implements faults.Target.
func (t *target) After(d time.Duration, fn func()) { t.w.self.alarm(d, fn) }

// Nodes implements faults.Target.
func (t *target) Nodes() []faults.Node {
	var all []faults.Node
	for _, n := range t.w.nodes {
		switch {
		case strings.HasPrefix(n.name, "tm"):
			all = append(all, faults.Node{Name: n.name, Role: faults.TaskManager})
		case strings.HasPrefix(n.name, "jm"):
			all = append(all, faults.Node{Name: n.name, Role: faults.JobManager})
		case strings.HasPrefix(n.name, "broker"):
			all = append(all, faults.Node{Name: n.name, Role: faults.Broker})
		}
	}
	return all
}

// Locate implements faults.Locator.
func (t *target) Locate(part string) string {
	if t.w.Brokers == nil {
		return ""
	}
	return t.w.Brokers.Locate(part)
}

// InFlight implements faults.Target.
func (t *target) InFlight(node string) bool {
	n := t.w.Node(node)
	return n != nil && n.Up() && slices.ContainsFunc(t.w.inFlight, func(fn func(string) bool) bool { return fn(node) })
}

// Do implements faults.Target.
func (t *target) Do(a faults.Action) (met bool) {
	t.w.outside(func() { met = t.do(a) })
	return met
}

func (t *target) do(a faults.Action) bool {
	switch a.Op {
	case faults.Crash, faults.Restart, faults.Pause, faults.Resume, faults.SlowNode, faults.JumpClock:
		n := t.w.Node(a.Node)
		return n != nil && strikeNode(n, a)
	case faults.Cut, faults.Join, faults.SlowLink:
		return t.strikeWay(a)
	case faults.LoseRequest, faults.LoseReply, faults.LateReply, faults.RepeatRequest:
		return t.strikeRequests(a)
	case faults.BlobSlow, faults.BlobFailBefore, faults.BlobFailAfter, faults.BlobCalm:
		return t.strikeBlob(a)
	case faults.MoveCoordinator, faults.MoveLeader, faults.DropLeader, faults.ElectLeader, faults.StallReplicas,
		faults.TroubleTxnLog, faults.HealTxnLog, faults.Upgrade, faults.Finalize,
		faults.ResumeReplicas:
		return t.strikeBrokers(a)
	case faults.Calm:
		t.w.calm()
		return true
	}
	return false
}

func strikeNode(n *Node, a faults.Action) bool {
	up := n.Up()
	switch a.Op {
	case faults.Crash:
		n.Crash()
	case faults.Restart:
		n.Start()
		return !up
	case faults.Pause:
		n.Pause(0)
	case faults.Resume:
		paused := n.paused
		n.Resume()
		return paused
	case faults.SlowNode:
		n.Slow(a.Factor)
		if a.Factor > 1 {
			n.slowed = a.Hit
		}
	case faults.JumpClock:
		n.ShiftWall(a.Delay)
	}
	return up
}

func (t *target) strikeWay(a faults.Action) bool {
	from, to := t.w.Node(a.Node), t.w.Node(a.Peer)
	if from == nil || to == nil {
		return false
	}
	switch {
	case a.Op == faults.Cut:
		t.w.cut(from, to, a.Hit)
	case a.Op == faults.Join:
		for from.wayTo(to).isCut() {
			t.w.Mend(from, to)
		}
	case a.Delay > 0:
		t.w.slow(from, to, a.Delay, a.Hit)
	default:
		from.way(to).slow = nil
	}
	return true
}

// strikeRequests adds a rule. A reply is late because the reply is, or because the request was, which is worse: it may
// take effect after its sender has given up.
func (t *target) strikeRequests(a faults.Action) bool {
	apiKey, ok := requestKey(a.Request)
	if !ok {
		return false
	}
	f := RequestFault{Key: apiKey, Node: a.Node, Count: a.Count, Delay: a.Delay, Struck: a.Hit}
	switch a.Op {
	case faults.LoseRequest:
		f.Effect = LoseRequest
	case faults.LoseReply:
		f.Effect = LoseReply
	case faults.LateReply:
		f.Effect = LateReply
		if OneIn(t.w.Draw(kindLate, NameKey(a.Node), uint64(apiKey), uint64(t.w.now)), 2) {
			f.Effect = LateRequest
		}
	case faults.RepeatRequest:
		f.Effect = Repeat
		if f.Delay == 0 {
			f.Delay = Between(t.w.Draw(kindLate, NameKey(a.Node), uint64(apiKey), uint64(t.w.now)), time.Millisecond, 2*time.Second)
		}
	}
	t.w.FaultRequests(f)
	return true
}

// requestKey is Kafka's number for a request's name, in upper or lower case (Kafka says InitProducerId, kmsg says
// InitProducerID); "any" and the empty name are every request.
func requestKey(name string) (int16, bool) {
	if name == "" || name == "any" {
		return -1, true
	}
	for k := int16(0); k <= kmsg.MaxKey; k++ {
		if strings.EqualFold(kmsg.NameForKey(k), name) {
			return k, true
		}
	}
	return 0, false
}

func (t *target) strikeBlob(a faults.Action) bool {
	if t.w.Blobs == nil {
		return false
	}
	f := BlobFault{Node: a.Node, Count: a.Count, Delay: a.Delay, Hit: a.Hit, Effect: BlobSlow}
	switch a.Op {
	case faults.BlobCalm:
		t.w.Blobs.CalmBlob(a.Node)
		return true
	case faults.BlobFailBefore:
		f.Effect = BlobFailBefore
	case faults.BlobFailAfter:
		f.Effect = BlobFailAfter
	}
	t.w.Blobs.FaultBlob(f)
	return true
}

func (t *target) strikeBrokers(a faults.Action) bool {
	b := t.w.Brokers
	if b == nil {
		return false
	}
	switch a.Op {
	case faults.MoveCoordinator:
		return b.MoveCoordinator(a.Node)
	case faults.MoveLeader:
		return b.MoveLeader(a.Topic, a.Partition)
	case faults.DropLeader:
		return b.DropLeader(a.Topic, a.Partition)
	case faults.StallReplicas:
		return b.StallReplicas(a.Node)
	case faults.ResumeReplicas:
		return b.ResumeReplicas(a.Node)
	case faults.TroubleTxnLog, faults.HealTxnLog:
		return b.TroubleTxnLog(a.Node, a.Op == faults.TroubleTxnLog)
	case faults.Upgrade:
		return b.Upgrade(a.Node, a.Profile)
	case faults.Finalize:
		return b.Finalize(int16(a.Level))
	}
	return b.ElectLeader(a.Topic, a.Partition)
}

// calm ends all faults of requests, of the store, of ways and of handling.
func (w *World) calm() {
	w.rules.list = nil
	if w.Blobs != nil {
		w.Blobs.CalmBlob("")
	}
	for _, n := range w.nodes {
		n.Slow(1)
	}
	w.MendAll()
}

var _ env.Clock = (*World)(nil)
