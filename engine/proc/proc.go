// Package proc bundles the ports that one process of the engine is given. A world makes a Process for each start of a
// JobManager or TaskManager; engine code takes from it what it needs and makes no port by itself.
package proc

import (
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/trace"
)

// Process is the ports of one started process. A port is made for a loop and completes on it.
type Process struct {
	env.Clock
	env.Rand
	trace.Observer

	// Name is the process's own address: others dial it.
	Name env.Addr
	// Nonce differs between any two starts of any process: "it exists and carries my nonce" means that I wrote it.
	Nonce uint64

	NewLoop   func(name string) env.Loop
	Transport func(env.Loop) env.Transport
	Workers   func(env.Loop) env.Workers
	Blob      func(env.Loop) blob.Store
	Broker    func(env.Loop, broker.Class) broker.Requests
}
