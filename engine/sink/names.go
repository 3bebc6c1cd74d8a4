package sink

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/onefold/onefold/engine/id"
)

// LanesPerSubtask is how many lanes one subtask may ever have. It fixes the numbering of lanes for all generations, so it
// never changes.
const LanesPerSubtask int32 = 16

// MarkerTopic is the private topic of a job whose partitions are the lanes. It never holds a record.
func MarkerTopic(job id.Job) string { return "onefold." + string(job) + ".markers" }

// Group is the consumer group of a sink in which its lanes' values live.
func Group(job id.Job, sink id.Operator) string { return "onefold." + string(job) + "." + string(sink) }

// SalvageID is the one transactional id that all generations of a sink share: the lock of a salvage.
func SalvageID(job id.Job, sink id.Operator) string { return Group(job, sink) + ".salvage" }

// Name is a transactional id in parts.
type Name struct {
	Job        id.Job
	Sink       id.Operator
	Generation id.Generation
	Subtask    int32
	Number     int32 // lane number within the subtask
	Salvage    bool
}

func (n Name) String() string {
	if n.Salvage {
		return SalvageID(n.Job, n.Sink)
	}
	return fmt.Sprintf("%s.g%d.%d.%d", Group(n.Job, n.Sink), n.Generation, n.Subtask, n.Number)
}

// ParseName is the inverse of Name.String; false for an id that is not one of ours.
func ParseName(s string) (Name, bool) {
	p := strings.Split(s, ".")
	if len(p) < 4 || p[0] != "onefold" || !id.ValidUID(p[1]) || !id.ValidUID(p[2]) {
		return Name{}, false
	}
	n := Name{Job: id.Job(p[1]), Sink: id.Operator(p[2])}
	if len(p) == 4 && p[3] == "salvage" {
		n.Salvage = true
		return n, true
	}
	if len(p) != 6 || !strings.HasPrefix(p[3], "g") {
		return Name{}, false
	}
	gen, err1 := strconv.ParseUint(p[3][1:], 10, 64)
	sub, err2 := strconv.ParseInt(p[4], 10, 32)
	num, err3 := strconv.ParseInt(p[5], 10, 32)
	n.Generation, n.Subtask, n.Number = id.Generation(gen), int32(sub), int32(num)
	if err1 != nil || err2 != nil || err3 != nil || n.String() != s {
		return Name{}, false
	}
	return n, true
}

// LanePartition is the partition of the marker topic for a lane. A lane's value lives in the group of its sink, so two
// sinks may share a partition number and still never meet: pending state is per group and partition. The numbering does
// not depend on parallelism, on the number of sinks or on the generation.
func LanePartition(subtask, number int32) int32 { return subtask*LanesPerSubtask + number }

// LanePartitions is how many partitions the marker topic needs for a parallelism.
func LanePartitions(parallelism int32) int32 { return parallelism * LanesPerSubtask }
