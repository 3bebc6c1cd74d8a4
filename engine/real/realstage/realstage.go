// Package realstage makes a cluster behind real connections a backend on which scripts play: package stage of engine/broker.
// Time is real there.
package realstage

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/real/kafka"
	"github.com/onefold/onefold/engine/real/process"
)

// Backend is a cluster with one client.
type Backend struct {
	name    string
	limit   time.Duration
	process *process.Process
}

// New makes a backend of the cluster at these addresses. Nothing is connected yet. Close it.
func New(name string, bootstrap []string) (*Backend, error) {
	cluster, err := kafka.New(kafka.Config{Bootstrap: bootstrap})
	if err != nil {
		return nil, err
	}
	p := process.NewMachine().Start(process.Config{Name: "client", Broker: cluster.Requests})
	return &Backend{name: name, limit: 5 * time.Minute, process: p}, nil
}

// patience is how long is waited for what brokers are about to do: those of a busy machine take a while to elect, to load and to
// answer.
const patience = time.Minute

// Patience implements stage.Impatient.
func (b *Backend) Patience() time.Duration { return patience }

// Close ends the client.
func (b *Backend) Close() { b.process.Close() }

// Limit bounds the time of one script; default 5 minutes.
func (b *Backend) Limit(d time.Duration) { b.limit = d }

// Name implements stage.Backend.
func (b *Backend) Name() string { return b.name }

// Run implements stage.Backend.
func (b *Backend) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	loop := b.process.NewLoop("script")
	defer loop.Close()
	end := make(chan struct{})
	loop.Post(func() { fn(b.process.Process, loop, func() { close(end) }) })
	select {
	case <-end:
		return nil
	case <-time.After(b.limit):
		return fmt.Errorf("not finished within %s", b.limit)
	}
}
