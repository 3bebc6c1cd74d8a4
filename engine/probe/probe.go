// Package probe names lines that a campaign must reach: a campaign that never did proves nothing about them.
//
//	var poolGrew = probe.New("sink: id pool grew")
//	...
//	observer.Reached(poolGrew)
//
// Reaching one sets a bit in the simulated world; production counts it as a metric.
package probe

// Probe is one such line.
type Probe struct{ index int }

// Written by package initialisation only.
var (
	names    []string
	scripted = map[int]bool{}
)

// New makes a probe. It is called for package variables only; the name says package and event.
func New(name string) Probe {
	names = append(names, name)
	return Probe{len(names) - 1}
}

// NewScripted makes a probe of a line that only scripted plans lead to, each of which asserts that it is reached: drawn faults
// do not, so that a campaign is not measured by it.
func NewScripted(name string) Probe {
	p := New(name)
	scripted[p.index] = true
	return p
}

// Scripted tells whether probe number index was made by NewScripted.
func Scripted(index int) bool { return scripted[index] }

// Index is the probe's number among Count.
func (p Probe) Index() int { return p.index }

// Name is what New was given.
func (p Probe) Name() string { return names[p.index] }

// Count is the number of probes in the program.
func Count() int { return len(names) }

// Name is the name of probe number index.
func Name(index int) string { return names[index] }
