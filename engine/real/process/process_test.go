package process

import (
	"sync"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/env/envtest"
	"github.com/onefold/onefold/engine/proc"
)

// machine is a Machine as the suite of the ports wants it.
type machine struct {
	*Machine
	mu        sync.Mutex
	processes map[string]*Process
}

func (m *machine) Process(name string) *proc.Process {
	p := m.Start(Config{Name: env.Addr(name)})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes[name] = p
	return p.Process
}

func (m *machine) Crash(name string) {
	m.mu.Lock()
	p := m.processes[name]
	delete(m.processes, name)
	m.mu.Unlock()
	p.Close()
}

func (m *machine) Settle(cond func() bool) bool {
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// The simulator would promise what production does not keep.
func TestPortsConform(t *testing.T) {
	envtest.Run(t, func(t *testing.T) envtest.World {
		m := &machine{Machine: NewMachine(), processes: map[string]*Process{}}
		t.Cleanup(func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			for _, p := range m.processes { // order irrelevant: all are closed
				p.Close()
			}
		})
		return m
	})
}
