package scenarios

import "github.com/onefold/onefold/engine/probe"

// Probes are the names of all probes in the program, by the index that Result.Probes uses.
func Probes() []string {
	names := make([]string, probe.Count())
	for i := range names {
		names[i] = probe.Name(i)
	}
	return names
}

// ProbeIsScripted tells whether only scripted plans reach probe number index, so that a campaign is not measured by it.
func ProbeIsScripted(index int) bool { return probe.Scripted(index) }
