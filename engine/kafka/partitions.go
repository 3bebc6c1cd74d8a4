package kafka

import (
	"slices"

	"github.com/onefold/onefold/engine/id"
)

// PartitionCode is the code for one partition.
type PartitionCode struct {
	id.TopicPartition
	Code Code
}

// byTopic groups partitions by topic, sorted, each once, as requests name them.
func byTopic(parts []id.TopicPartition) [][]id.TopicPartition {
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, id.TopicPartition.Compare)
	sorted = slices.Compact(sorted)
	var runs [][]id.TopicPartition
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Topic == sorted[0].Topic {
			n++
		}
		runs = append(runs, sorted[:n])
		sorted = sorted[n:]
	}
	return runs
}

// byNode is the partitions of one leader.
type byNode struct {
	node  int32
	parts []id.TopicPartition
}

// byLeader groups partitions by their leader in the view, ascending by node; lost are those without one.
func (v *cluster) byLeader(parts []id.TopicPartition) (groups []byNode, lost []id.TopicPartition) {
	for _, tp := range parts {
		node, _, ok := v.leader(tp)
		if !ok {
			lost = append(lost, tp)
			continue
		}
		i, ok := slices.BinarySearchFunc(groups, node, func(g byNode, n int32) int { return int(g.node) - int(n) })
		if !ok {
			groups = slices.Insert(groups, i, byNode{node: node})
		}
		groups[i].parts = append(groups[i].parts, tp)
	}
	return groups, lost
}
