package faults

import (
	"slices"
	"time"
)

// strike carries out a fault whose trigger came. hook and self are what triggered it; NoHook and "" at a time.
func (n *Nemesis) strike(a *armed, hook Hook, self string) {
	f := &a.fault
	nodes := n.expand(f, self)
	a.out.Fired = true
	a.out.At = n.target.Now()
	if a.out.Hook = hook; hook == NoHook {
		a.out.Hook = n.newest(nodes)
	}
	// What counts is decided before the strike, since a node that is down has nothing in flight. Whoever passes a hook is
	// between two effects: that is something in flight.
	matters := n.matters(nodes) || hook != NoHook && slices.Contains(nodes, self)
	act := func(do Action) {
		if n.target.Do(do) && do.Hit == nil {
			a.out.Hits++
			a.out.Struck = a.out.Struck || matters
		}
	}
	hit := func() { // by a message of a link or a callback: heartbeats alone are no strike
		a.out.Hits++
		if !a.out.Struck {
			a.out.Struck = n.matters(nodes)
		}
	}
	named := func() { // by a request or an operation that is in flight by its nature
		a.out.Hits++
		a.out.Struck = true
	}
	switch f.Kind {
	case CrashFault:
		n.each(nodes, f.For, act, Action{Op: Crash}, Action{Op: Restart})
	case TimeoutFault:
		n.until = max(n.until, a.out.At+f.For)
		n.each(nodes, f.For, act, Action{Op: Pause}, Action{Op: Resume})
	case PauseFault:
		n.each(nodes, f.For, act, Action{Op: Pause}, Action{Op: Resume})
	case PartitionFault, OneWayFault:
		n.links(f, nodes, act, Action{Op: Cut, Hit: hit}, Action{Op: Join})
	case SlowLinkFault:
		n.links(f, nodes, act, Action{Op: SlowLink, Delay: f.By, Hit: hit}, Action{Op: SlowLink})
	case LoseRequestFault, LoseReplyFault, LateFault, RepeatFault:
		op := [...]Op{LoseRequest, LoseReply, LateReply, RepeatRequest}[f.Kind-LoseRequestFault]
		n.each(nodes, 0, act, Action{Op: op, Request: f.Request, Count: f.Count, Delay: f.By, Hit: named}, Action{})
	case BlobSlowFault, BlobFailBeforeFault, BlobFailAfterFault:
		op := [...]Op{BlobSlow, BlobFailBefore, BlobFailAfter}[f.Kind-BlobSlowFault]
		n.each(nodes, f.For, act, Action{Op: op, Count: f.Count, Delay: f.By, Hit: named}, Action{Op: BlobCalm})
	case ClockFault:
		n.each(nodes, 0, act, Action{Op: JumpClock, Delay: f.By}, Action{})
	case SlowOperatorFault:
		n.each(nodes, f.For, act, Action{Op: SlowNode, Factor: f.Factor, Hit: hit}, Action{Op: SlowNode, Factor: 1})
	case MoveCoordinatorFault:
		n.each(nodes, 0, act, Action{Op: MoveCoordinator}, Action{})
	case StallReplicaFault:
		n.each(nodes, f.For, act, Action{Op: StallReplicas}, Action{Op: ResumeReplicas})
	case TxnLogFault:
		n.each(nodes, f.For, act, Action{Op: TroubleTxnLog}, Action{Op: HealTxnLog})
	case UpgradeFault:
		for _, node := range nodes {
			if n.target.Do(Action{Op: Upgrade, Node: node, Profile: f.Profile}) {
				n.each([]string{node}, f.For, act, Action{Op: Crash}, Action{Op: Restart})
			}
		}
	case FinalizeFault:
		act(Action{Op: Finalize, Level: f.Level})
	case MoveLeaderFault:
		act(Action{Op: MoveLeader, Topic: f.Topic, Partition: f.Partition})
	case NoLeaderFault:
		act(Action{Op: DropLeader, Topic: f.Topic, Partition: f.Partition})
		n.hold(Action{Op: ElectLeader, Topic: f.Topic, Partition: f.Partition}, f.For)
	}
	n.watch(a, nodes)
}

// watch looks again shortly after a strike that lasts, or that moved something: it hits what begins meanwhile, too.
func (n *Nemesis) watch(a *armed, nodes []string) {
	switch a.fault.Kind {
	case PauseFault, TimeoutFault, ClockFault, MoveCoordinatorFault, MoveLeaderFault, NoLeaderFault, StallReplicaFault, TxnLogFault, FinalizeFault:
	default:
		return
	}
	for _, d := range [...]time.Duration{50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond} {
		if lasts := a.fault.For; lasts > 0 && d >= lasts {
			return
		}
		n.target.After(d, func() {
			if !n.healed && a.out.Hits > 0 && !a.out.Struck {
				a.out.Struck = n.matters(nodes)
			}
		})
	}
}

// each does an action to every node, and undoes it after a while if there is something to undo.
func (n *Nemesis) each(nodes []string, lasts time.Duration, act func(Action), do, undo Action) {
	for _, node := range nodes {
		do.Node, undo.Node = node, node
		act(do)
		if lasts > 0 {
			n.hold(undo, lasts)
		}
	}
}

// links does an action to every link between the nodes and the fault's peer, both ways unless the kind is one-way.
func (n *Nemesis) links(f *Fault, nodes []string, act func(Action), do, undo Action) {
	for _, a := range nodes {
		for _, b := range n.peers(f.Peer) {
			if a == b {
				continue
			}
			do.Node, do.Peer, undo.Node, undo.Peer = a, b, a, b
			act(do)
			n.hold(undo, f.For)
			if f.Kind != OneWayFault {
				do.Node, do.Peer, undo.Node, undo.Peer = b, a, b, a
				act(do)
				n.hold(undo, f.For)
			}
		}
	}
}

// hold undoes something after a while, unless a later fault holds it longer or the burn ends before.
func (n *Nemesis) hold(undo Action, lasts time.Duration) {
	i := 0
	for i < len(n.holds) && !sameHold(&n.holds[i].undo, &undo) {
		i++
	}
	if i == len(n.holds) {
		n.holds = append(n.holds, hold{undo: undo})
	}
	n.holds[i].count++
	n.target.After(lasts, func() {
		if h := &n.holds[i]; h.count > 0 {
			if h.count--; h.count == 0 {
				n.target.Do(h.undo)
			}
		}
	})
}

func sameHold(a, b *Action) bool {
	return a.Op == b.Op && a.Node == b.Node && a.Peer == b.Peer && a.Topic == b.Topic && a.Partition == b.Partition
}

// expand gives the nodes that a fault strikes.
func (n *Nemesis) expand(f *Fault, self string) []string {
	if f.Node == Self {
		return []string{self}
	}
	if group := n.members(f.Node); group != nil {
		return group
	}
	if n.locates(f.Node) {
		return n.player(f.Node)
	}
	if f.Node != All {
		if f.Node == "" {
			return nil
		}
		return []string{f.Node}
	}
	if f.Kind == MoveCoordinatorFault {
		return []string{""}
	}
	var nodes []string
	for _, node := range n.nodes {
		if f.Kind.reaches(node.Role) {
			nodes = append(nodes, node.Name)
		}
	}
	return nodes
}

// reaches reports whether "all" means nodes of this role, too.
func (k Kind) reaches(r Role) bool {
	switch k {
	case PauseFault, TimeoutFault, LoseRequestFault, LoseReplyFault, LateFault, RepeatFault, BlobSlowFault, BlobFailBeforeFault, BlobFailAfterFault:
		return r != Broker
	case SlowOperatorFault:
		return r == TaskManager
	case StallReplicaFault, TxnLogFault, UpgradeFault:
		return r == Broker
	default:
		return true
	}
}

func (n *Nemesis) peers(name string) []string {
	if group := n.members(name); group != nil {
		return group
	}
	if n.locates(name) {
		return n.player(name)
	}
	if name != All {
		return []string{name}
	}
	var nodes []string
	for _, node := range n.nodes {
		nodes = append(nodes, node.Name)
	}
	return nodes
}

// newest is the newest hook passed on the nodes: on the only one, else anywhere. A real broker tells of none.
func (n *Nemesis) newest(nodes []string) Hook {
	if len(nodes) == 1 && nodes[0] != "" {
		i := n.index(nodes[0])
		if h := n.passed[i].Hook; h != NoHook || n.nodes[i].Role != Broker {
			return h
		}
	}
	return n.last
}

// matters reports whether something is in flight or prepared that a strike on the nodes can change. What is done to
// partitions and coordinators can change what is in flight anywhere.
func (n *Nemesis) matters(nodes []string) bool {
	if n.progress.underWay() {
		return true
	}
	if len(nodes) == 0 || nodes[0] == "" {
		for i := range n.nodes {
			if n.target.InFlight(n.nodes[i].Name) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(nodes, n.target.InFlight)
}
