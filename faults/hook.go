package faults

import "fmt"

// Hook is one of the engine's numbered moments, by its number. The names are those of the engine's hooks; a test holds
// them equal.
type Hook uint8

// NoHook stands for "none passed yet".
const NoHook Hook = 255

var hookNames = [...]string{
	"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "k11", "k12", "k13", "k14",
	"c1", "c2", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",
}

// HookCount is how many hooks there are.
const HookCount = Hook(len(hookNames))

// The hooks to which this package itself refers.
const (
	hookK0  Hook = 0
	hookK5  Hook = 5
	hookK7  Hook = 7
	hookK9  Hook = 9
	hookK10 Hook = 10
	hookK12 Hook = 12
	hookK13 Hook = 13
	hookK14 Hook = 14
	hookC1  Hook = 15
	hookC2  Hook = 16
	hookR0  Hook = 17
	hookR1  Hook = 18
	hookR2  Hook = 19
	hookR3  Hook = 20
	hookR4  Hook = 21
	hookR5  Hook = 22
	hookR6  Hook = 23
	hookR7  Hook = 24
)

func (h Hook) String() string {
	if h < HookCount {
		return hookNames[h]
	}
	if h == NoHook {
		return "none"
	}
	return fmt.Sprintf("hook(%d)", uint8(h))
}

// ParseHook is the inverse of String for real hooks.
func ParseHook(s string) (Hook, bool) {
	for i, n := range hookNames {
		if n == s {
			return Hook(i), true
		}
	}
	return NoHook, false
}

// Passed tells that a node passed a hook. Numbers that do not apply are zero; Vertex is -1 where no subtask is concerned.
type Passed struct {
	Node       string
	Hook       Hook
	Generation uint64
	Checkpoint uint64
	Vertex     int32
	Subtask    int32
}
