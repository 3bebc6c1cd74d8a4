package faults

import (
	"time"
)

// Draw gives the value of a named decision: a function of the seed, the kind and the three numbers, never of how many
// draws came before.
type Draw func(kind, a, b, c uint64) uint64

// Kinds of draws. Every draw about a fault names the fault's slot first.
const (
	drawOn    = 0x0800 + iota // kind of fault: is it on in this seed
	drawShape                 // which shape of plan
	drawCount                 // how many faults
	drawKind                  // slot, kind, ticket: the highest wins
	drawTrigger
	drawHook
	drawCheckpoint
	drawNth
	drawTime
	drawNode
	drawPeer
	drawRequest
	drawPartition
	drawAmount
	drawDuration
	drawBy
	drawSecond
	drawRelease
)

// Params are what a swarm draws from.
type Params struct {
	Scenario string
	Seed     uint64
	World    []Setting
	Engine   string
	Expect   []string

	Nodes      []Node
	Partitions []PartitionName // of output topics; none: no leader moves
	Requests   []string        // default: Requests
	// Burn is how long faults may begin; Checkpoints how many the job takes meanwhile at most.
	Burn        time.Duration
	Checkpoints int
	// TransactionTimeout with the time that its scan may take: the length of transaction-timeout. 0: no such fault.
	TransactionTimeout time.Duration
	MaxFaults          int  // default 4
	Replicated         bool // partitions have several copies
	// Releases are those that a broker may be restarted with; none: no rolling upgrade.
	Releases []string
	Off      []Kind // kinds that are never on
}

// PartitionName names a partition.
type PartitionName struct {
	Topic     string
	Partition int32
}

// Requests are Kafka's names of the requests whose loss, delay and repetition a swarm draws.
var Requests = []string{
	"EndTxn", "Produce", "TxnOffsetCommit", "InitProducerId", "AddOffsetsToTxn", "AddPartitionsToTxn", "Fetch",
	"ListOffsets", "Metadata", "FindCoordinator", "OffsetFetch", "OffsetCommit", "DescribeProducers", "DescribeTransactions",
	"ListTransactions", "WriteTxnMarkers",
}

// Swarm expands a seed into a plan: which kinds are on, how many faults there are, where and when each strikes. Of four
// seeds in a row one is a crash with a second fault before the next checkpoint completes, two tour the table of faults and
// hooks so that a campaign reaches every cell, and one is free.
func Swarm(draw Draw, params Params) Plan {
	s := &swarm{draw: draw, Params: params}
	if s.MaxFaults == 0 {
		s.MaxFaults = 4
	}
	if s.Requests == nil {
		s.Requests = Requests
	}
	s.switchOn()
	p := Plan{
		Scenario: s.Scenario, Seed: s.Seed, World: append([]Setting(nil), s.World...), Engine: s.Engine,
		Expect: append([]string(nil), s.Expect...),
	}
	if p.Engine == "" {
		p.Engine = "sound"
	}
	switch s.Seed % 4 {
	case 0:
		if p.Faults = s.free(); s.can(CrashFault) {
			p.Faults = s.crashAndSecond()
		}
	case 1, 2:
		n, _ := tourNumber(s.Seed)
		p.Faults = s.tour(n)
	default:
		p.Faults = s.free()
	}
	return p
}

// free draws everything.
func (s *swarm) free() (faults []Fault) {
	switch shape := s.draw(drawShape, 0, 0, 0) % 8; {
	case shape == 0 && s.can(TimeoutFault):
		return s.salvageAndSecond()
	case shape == 1 && s.can(NoLeaderFault):
		return s.stuckMarkerAndSecond()
	case shape == 2 && s.Replicated && s.can(StallReplicaFault) && s.can(CrashFault):
		return s.behindAndSecond()
	}
	for slot := range 1 + s.draw(drawCount, 0, 0, 0)%uint64(s.MaxFaults) {
		faults = append(faults, s.fault(slot))
	}
	return faults
}

type swarm struct {
	draw Draw
	Params
	on [KindCount]bool
}

// switchOn draws which kinds this seed knows.
func (s *swarm) switchOn() {
	any := false
	for k := range KindCount {
		s.on[k] = s.can(k) && s.draw(drawOn, uint64(k), 0, 0)%2 == 0
		any = any || s.on[k]
	}
	for k := range KindCount {
		s.on[k] = s.on[k] || !any && s.can(k)
	}
}

func (s *swarm) can(k Kind) bool {
	for _, off := range s.Off {
		if k == off {
			return false
		}
	}
	switch kinds[k].operands {
	case "p":
		return len(s.Partitions) > 0
	case "b":
		return s.role(Broker) != nil && (k != StallReplicaFault || s.Replicated)
	case "bu":
		return s.role(Broker) != nil && len(s.Releases) > 0
	case "v":
		return false
	}
	return k != TimeoutFault || s.TransactionTimeout > 0
}

// tickets make some kinds likelier.
func tickets(k Kind) uint64 {
	switch k {
	case CrashFault:
		return 4
	case PauseFault, TimeoutFault, LoseReplyFault, NoLeaderFault:
		return 2
	}
	return 1
}

// kind draws the slot's kind as the one that holds the highest ticket, so that switching another kind off changes
// nothing here.
func (s *swarm) kind(slot uint64) Kind {
	best, kind := uint64(0), CrashFault
	for k := range KindCount {
		for t := range tickets(k) {
			if v := s.draw(drawKind, slot, uint64(k), t); s.on[k] && v >= best {
				best, kind = v, k
			}
		}
	}
	return kind
}

func (s *swarm) fault(slot uint64) Fault {
	k := s.kind(slot)
	f := s.body(slot, k)
	if f.Trigger = s.trigger(slot); f.Trigger.OnHook && impossible(k, f.Trigger.Hook) {
		f.Trigger = s.at(slot)
	}
	if f.Trigger.OnHook && selfish(k, f.Trigger.Hook) && s.draw(drawNode, slot, 1, 0)%3 == 0 {
		f.Node = Self
	}
	return f
}

// selfish reports whether a fault of the kind can strike the node that passes the hook. Brokers have no blob store.
func selfish(k Kind, h Hook) bool {
	switch k {
	case CrashFault, PauseFault, ClockFault:
		return true
	case BlobSlowFault, BlobFailBeforeFault, BlobFailAfterFault:
		return !brokerHook(h)
	}
	return false
}

func (s *swarm) trigger(slot uint64) Trigger {
	if s.draw(drawTrigger, slot, 0, 0)%3 == 0 {
		return s.at(slot)
	}
	return s.onHook(slot, Hook(s.draw(drawHook, slot, 0, 0)%uint64(HookCount)))
}

func (s *swarm) at(slot uint64) Trigger {
	ms := uint64(max(1, s.Burn/time.Millisecond))
	return Trigger{At: time.Duration(s.draw(drawTime, slot, 0, 0)%ms) * time.Millisecond}
}

// onHook is a trigger on a hook: of a drawn checkpoint where the hook knows one, else of a drawn occurrence.
func (s *swarm) onHook(slot uint64, h Hook) Trigger {
	t := Trigger{OnHook: true, Hook: h}
	if h <= hookK14 && !brokerHook(h) {
		t.Checkpoint = 1 + s.draw(drawCheckpoint, slot, 0, 0)%uint64(max(1, s.Checkpoints))
		if n := s.draw(drawNth, slot, 0, 0) % 4; perSubtask(h) && n > 0 {
			t.Nth = int(n) + 1
		}
		return t
	}
	most := uint64(4)
	if brokerHook(h) {
		most = uint64(max(1, s.Checkpoints)) * 3
	}
	if n := 1 + s.draw(drawNth, slot, 0, 0)%most; n > 1 {
		t.Nth = int(n)
	}
	return t
}

// brokerHook reports whether the hook is passed inside a broker, which knows neither checkpoint nor generation.
func brokerHook(h Hook) bool { return h >= hookK10 && h <= hookK12 }

// perSubtask reports whether the hook is passed by several subtasks of one checkpoint.
func perSubtask(h Hook) bool { return h <= hookK5 || h == hookK9 || h == hookK13 }

// crashAndSecond is a crash at a hook of checkpoint n, and a second fault inside the restore or inside checkpoint n+1
// before that completes.
func (s *swarm) crashAndSecond() []Fault {
	first := s.body(0, CrashFault)
	first.Trigger = s.onHook(0, Hook(s.draw(drawHook, 0, 0, 0)%uint64(hookK14+1)))
	return []Fault{first, s.second(first.Trigger)}
}

// second is a fault in slot 1 that strikes between the first one and the completion of the next checkpoint.
func (s *swarm) second(after Trigger) Fault {
	f := s.fault(1)
	if n := s.draw(drawSecond, 0, 0, 0) % 15; n < 8 {
		f.Trigger = Trigger{OnHook: true, Hook: hookR0 + Hook(n), Nth: 2} // the first restore is the start of the job
	} else if after.Checkpoint > 0 {
		f.Trigger = Trigger{OnHook: true, Hook: Hook(n - 8), Checkpoint: after.Checkpoint + 1}
	} else {
		f.Trigger = Trigger{OnHook: true, Hook: hookR0, Nth: 2}
	}
	return s.possible(1, f)
}

// possible is the fault, or one of another kind where this one cannot strike.
func (s *swarm) possible(slot uint64, f Fault) Fault {
	for k := KindCount; k > 0 && impossible(f.Kind, f.Trigger.Hook); k-- {
		if s.can(k-1) && !impossible(k-1, f.Trigger.Hook) {
			f = s.body(slot, k-1).with(f.Trigger)
		}
	}
	return f
}

func (f Fault) with(t Trigger) Fault { f.Trigger = t; return f }

// salvageAndSecond holds a completed checkpoint's commit back beyond the transaction timeout, and strikes while its
// records are salvaged: half of the time whoever salvages falls silent for a while, and another begins anew.
func (s *swarm) salvageAndSecond() []Fault {
	first := s.body(0, TimeoutFault).with(s.early(0, hookK7+Hook(s.draw(drawHook, 0, 0, 0)%3)))
	second := s.fault(1)
	if s.draw(drawSecond, 1, 0, 0)%2 == 0 {
		second = s.body(1, PauseFault)
		second.Node, second.For = Self, max(second.For, 5*time.Second)
	}
	second.Trigger = Trigger{OnHook: true, Hook: hookR1 + Hook(s.draw(drawSecond, 0, 0, 0)%5)}
	if second.Trigger.Hook < hookR3 {
		second.Trigger.Nth = 2
	}
	return []Fault{first, s.possible(1, second)}
}

// stuckMarkerAndSecond takes a partition's leader away while markers are written, so that brokers that drop them do, and
// strikes during confirm and repair.
func (s *swarm) stuckMarkerAndSecond() []Fault {
	first := s.body(0, NoLeaderFault)
	first.Trigger = s.onHook(0, hookK9)
	second := s.fault(1)
	second.Trigger = Trigger{OnHook: true, Hook: hookC1 + Hook(s.draw(drawSecond, 0, 0, 0)%2)}
	if second.Trigger.Hook == hookC1 {
		second.Trigger.Checkpoint = first.Trigger.Checkpoint
	}
	return []Fault{first, second}
}

// behindAndSecond keeps followers from fetching until they have left the ISR, and takes a broker away meanwhile: what it led has
// nobody in sync any more.
func (s *swarm) behindAndSecond() []Fault {
	const behind = 11 * time.Second // a follower leaves the ISR 10 s after it has fallen behind
	first := Fault{Kind: StallReplicaFault, Node: All}.with(Trigger{At: s.at(0).At / 2})
	first.For = behind + time.Duration(20+s.draw(drawDuration, 0, 0, 0)%130)*100*time.Millisecond
	second := s.body(1, CrashFault)
	if s.draw(drawSecond, 0, 0, 0)%2 == 0 {
		second = s.body(1, PauseFault)
	}
	brokers := s.role(Broker)
	second.Node = brokers[s.draw(drawNode, 1, 2, 0)%uint64(len(brokers))]
	second.For = max(second.For, 5*time.Second) // beyond its session
	second.Trigger = Trigger{At: first.Trigger.At + behind + s.at(1).At%(first.For-behind)}
	return []Fault{first, second}
}
