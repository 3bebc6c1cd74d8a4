// Package brokertest is the conformance suite of broker.Requests: what exactly-once rests on, asked of any cluster.
package brokertest

import (
	"testing"

	"github.com/onefold/onefold/engine/proc"
)

// Backend is a cluster under test.
type Backend interface {
	// Name says which cluster this is: "simbroker", "kfake", "kafka".
	Name() string
	// Process has the ports to reach it.
	Process() *proc.Process
	// Run calls fn on a fresh loop's first callback and returns when done was called on it, or with an error when nothing
	// more can happen or too much time has passed.
	Run(fn func(done func())) error
	// Brokers is the number of brokers.
	Brokers() int
}

// Run runs all cases and reports how many there were.
func Run(t *testing.T, b Backend) { panic("pending") }
