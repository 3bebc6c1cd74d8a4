package faults

import (
	"strconv"
	"strings"
)

// Groups are targets that stand for several nodes. An operating system process of `realrun run` has a JobManager and its
// share of the TaskManagers in it: from outside they are struck together or not at all. process1 is jm1 with the first
// share, process2 is jm2 with the next. A target may have them as nodes, of role Process; elsewhere they are groups.
const (
	Processes     = "processes" // everything that is no broker
	Brokers       = "brokers"   // every broker
	processPrefix = "process"
)

// Parts are targets that stand for the broker that plays a part at the instant of the strike.
const (
	Leader      = "leader"      // leads the most partitions
	Coordinator = "coordinator" // coordinates the most transactional ids
)

// Locator is a Target that can tell which broker plays a part. "" is none.
type Locator interface {
	Locate(part string) (broker string)
}

// locates reports whether the name is a part that this target can tell the player of.
func (n *Nemesis) locates(name string) bool {
	_, can := n.target.(Locator)
	return can && (name == Leader || name == Coordinator)
}

// members are the nodes of a group, in the target's order; nil when the name is no group of this target.
func (n *Nemesis) members(name string) []string {
	switch {
	case name == Processes:
		return n.where(func(r Role) bool { return r != Broker })
	case name == Brokers:
		return n.where(func(r Role) bool { return r == Broker })
	case n.index(name) >= 0:
		return nil
	}
	number, ok := strings.CutPrefix(name, processPrefix)
	if !ok {
		return nil
	}
	i, err := strconv.Atoi(number)
	managers := n.where(func(r Role) bool { return r == JobManager })
	if err != nil || i < 1 || i > len(managers) {
		return nil
	}
	workers := n.where(func(r Role) bool { return r == TaskManager })
	first, count := Share(len(workers), len(managers), i)
	return append([]string{managers[i-1]}, workers[first:first+count]...)
}

// Share is which of the TaskManagers run in process number i of so many, counted from 1: all that go evenly, and of the rest
// one each in the first processes.
func Share(taskManagers, processes, i int) (first, count int) {
	each, rest := taskManagers/processes, taskManagers%processes
	first, count = (i-1)*each+min(i-1, rest), each
	if i <= rest {
		count++
	}
	return first, count
}

// player is the broker that plays a part, if one does.
func (n *Nemesis) player(part string) []string {
	if broker := n.target.(Locator).Locate(part); broker != "" {
		return []string{broker}
	}
	return nil
}

func (n *Nemesis) where(fits func(Role) bool) []string {
	var names []string
	for _, node := range n.nodes {
		if fits(node.Role) {
			names = append(names, node.Name)
		}
	}
	return names
}
