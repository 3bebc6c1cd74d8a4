package faults

import "time"

// body draws everything of a fault but its trigger.
func (s *swarm) body(slot uint64, k Kind) Fault {
	f := Fault{Kind: k}
	switch kinds[k].operands {
	case "n":
		f.Node = s.node(slot, k)
	case "nn":
		f.Node, f.Peer = s.pair(slot)
	case "rn":
		f.Request = s.Requests[s.draw(drawRequest, slot, 0, 0)%uint64(len(s.Requests))]
		f.Node = s.sender(slot)
	case "b":
		f.Node = All
		if brokers := s.role(Broker); s.draw(drawNode, slot, 0, 0)%2 == 0 {
			f.Node = brokers[s.draw(drawNode, slot, 2, 0)%uint64(len(brokers))]
		}
	case "bu":
		brokers := s.role(Broker)
		f.Node = brokers[s.draw(drawNode, slot, 2, 0)%uint64(len(brokers))]
		f.Profile = s.Releases[s.draw(drawRelease, slot, 0, 0)%uint64(len(s.Releases))]
	case "p":
		p := s.Partitions[s.draw(drawPartition, slot, 0, 0)%uint64(len(s.Partitions))]
		f.Topic, f.Partition = p.Topic, p.Partition
	}
	s.amounts(slot, &f)
	return f
}

func (s *swarm) amounts(slot uint64, f *Fault) {
	tenths := func(least, most uint64) time.Duration {
		return time.Duration(least+s.draw(drawDuration, slot, 0, 0)%(most-least+1)) * 100 * time.Millisecond
	}
	switch k := f.Kind; k {
	case CrashFault:
		f.For = tenths(1, 60)
	case PartitionFault, OneWayFault, NoLeaderFault, StallReplicaFault, TxnLogFault:
		f.For = tenths(1, 60)
		if s.draw(drawDuration, slot, 1, 0)%6 == 0 { // beyond what clients wait for
			f.For = tenths(150, 350)
		}
	case UpgradeFault:
		f.For = tenths(5, 60)
	case PauseFault:
		f.For = tenths(2, 120)
	case SlowOperatorFault, SlowLinkFault:
		f.For = tenths(5, 60)
	case TimeoutFault:
		f.For = s.TransactionTimeout + tenths(1, 20)
	case BlobSlowFault, BlobFailBeforeFault, BlobFailAfterFault:
		if f.Count = 1 + int(s.draw(drawAmount, slot, 0, 0)%3); s.draw(drawAmount, slot, 1, 0)%2 == 0 {
			f.Count, f.For = 0, tenths(1, 40)
		}
	case LoseRequestFault, LoseReplyFault, LateFault, RepeatFault:
		f.Count = 1 + int(s.draw(drawAmount, slot, 0, 0)%3)
	}
	by := s.draw(drawBy, slot, 0, 0)
	switch kinds[f.Kind].by {
	case 'd':
		f.By = time.Duration(1+by%50) * 100 * time.Millisecond
	case 's':
		f.By = time.Duration(int64(by%7201)-3600) * time.Second
	case 'f':
		f.Factor = 2 << (by % 6)
	}
}

func (s *swarm) role(roles ...Role) []string {
	var names []string
	for _, n := range s.Nodes {
		for _, r := range roles {
			if n.Role == r {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// node draws whom a fault of one node strikes.
func (s *swarm) node(slot uint64, k Kind) string {
	names := s.role(TaskManager, JobManager)
	switch k {
	case CrashFault, ClockFault:
		names = s.role(TaskManager, JobManager, Broker)
		if s.draw(drawNode, slot, 0, 0)%8 == 0 {
			return All
		}
	case TimeoutFault:
		return All
	case SlowOperatorFault:
		names = s.role(TaskManager)
	case BlobSlowFault, BlobFailBeforeFault, BlobFailAfterFault:
		if s.draw(drawNode, slot, 0, 0)%4 == 0 {
			return All
		}
	}
	return names[s.draw(drawNode, slot, 3, 0)%uint64(len(names))]
}

// sender draws who sends the request that is struck; half of the time whoever sends it next.
func (s *swarm) sender(slot uint64) string {
	if s.draw(drawNode, slot, 0, 0)%2 == 0 {
		return All
	}
	names := s.role(TaskManager, JobManager)
	return names[s.draw(drawNode, slot, 3, 0)%uint64(len(names))]
}

// pair draws two ends of a link, in either order; sometimes one end and everybody else. One end is no broker, unless
// brokers replicate.
func (s *swarm) pair(slot uint64) (string, string) {
	names := s.role(TaskManager, JobManager)
	if s.Replicated && s.draw(drawPeer, slot, 3, 0)%4 == 0 {
		names = s.role(Broker)
	}
	a := names[s.draw(drawNode, slot, 3, 0)%uint64(len(names))]
	if len(s.Nodes) < 2 || s.draw(drawPeer, slot, 0, 0)%4 == 0 {
		return a, All
	}
	b := s.Nodes[s.draw(drawPeer, slot, 1, 0)%uint64(len(s.Nodes))].Name
	for i := uint64(1); b == a; i++ {
		b = s.Nodes[(s.draw(drawPeer, slot, 1, 0)+i)%uint64(len(s.Nodes))].Name
	}
	if s.draw(drawPeer, slot, 2, 0)%2 == 0 {
		return b, a
	}
	return a, b
}
