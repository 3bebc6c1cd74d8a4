// Package process bundles the real ports into a proc.Process: what one JobManager or TaskManager runs on. Several may live in
// one operating system process; each has loops of its own, and closing one is its death.
package process

import (
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/real/loop"
	"github.com/onefold/onefold/engine/trace"
)

// Machine is what the processes on one machine share: clock, network, workers.
type Machine struct {
	Clock   loop.Clock
	Network *loop.Network
	Workers *loop.Pool
}

// NewMachine makes a machine with as many workers as there are processors.
func NewMachine() *Machine {
	return &Machine{Clock: loop.NewClock(), Network: loop.NewNetwork(), Workers: loop.NewPool(runtime.GOMAXPROCS(0))}
}

// Config is what differs between processes. Blob and Broker may be nil for a process that uses none.
type Config struct {
	Name     env.Addr
	Observer trace.Observer // nil: nothing is told
	Blob     func(env.Loop) blob.Store
	Broker   func(env.Loop, broker.Class) broker.Requests
}

// Process is one started process.
type Process struct {
	*proc.Process

	mu     sync.Mutex
	loops  []*loop.Loop
	closed bool
}

// Start makes the ports of a process.
func (m *Machine) Start(c Config) *Process {
	if c.Observer == nil {
		c.Observer = Silent{}
	}
	p := &Process{}
	p.Process = &proc.Process{
		Clock:     m.Clock,
		Rand:      loop.Rand{},
		Observer:  c.Observer,
		Name:      c.Name,
		Nonce:     nonce(),
		NewLoop:   func(name string) env.Loop { return p.newLoop(m.Clock, name) },
		Transport: func(l env.Loop) env.Transport { return m.Network.Transport(c.Name, l) },
		Workers:   m.Workers.On,
		Blob:      c.Blob,
		Broker:    c.Broker,
	}
	return p
}

func (p *Process) newLoop(clock loop.Clock, name string) env.Loop {
	l := loop.New(string(p.Name)+"/"+name, clock)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		l.Close()
		return l
	}
	// Loops end with their tasks: forget those that have.
	live := p.loops[:0]
	for _, other := range p.loops {
		select {
		case <-other.Done():
		default:
			live = append(live, other)
		}
	}
	clear(p.loops[len(live):])
	p.loops = append(live, l)
	return l
}

// Close ends the process: all its loops are closed, and it waits until none runs any more. It must not be called from one of
// them.
func (p *Process) Close() {
	p.mu.Lock()
	p.closed = true
	loops := p.loops
	p.loops = nil
	p.mu.Unlock()
	for _, l := range loops {
		l.Close()
	}
	for _, l := range loops {
		<-l.Done()
	}
}

func nonce() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) | 1
}
