// Package brokertest is the conformance suite of broker.Requests: what exactly-once rests on, asked of any cluster in the
// words of engine/kafka. The simulated broker, an embedded kfake and real Kafka pass it, each in a test of its own package,
// except for the deviations that are listed with their reasons, which must stay exact.
//
//	brokertest.Run(t, backend, brokertest.KfakeDeviations...)
//
// A case is a script: it runs on a loop of the backend and is written from top to bottom.
package brokertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/script"
)

// Backend is a cluster under test.
type Backend interface {
	// Name says which cluster it is: "simbroker k44", "kfake", "kafka 4.4".
	Name() string
	// Run makes a fresh loop of a process with ports to the cluster, calls fn on it, and returns once fn has called done,
	// or with an error when it does not. It is called for one case after the other.
	Run(fn func(p *proc.Process, loop env.Loop, done func())) error
}

// Mover is a backend that can move leaders and coordinators. Its cases are run where it is implemented.
type Mover interface {
	// MoveLeader makes another broker the leader of a partition.
	MoveLeader(tp id.TopicPartition) error
	// MoveCoordinator makes another broker the coordinator of a transactional id.
	MoveCoordinator(transactionalID string) error
}

// Deviation is a case that a backend is known to fail. A listed case that passes is a failure of the list.
type Deviation struct{ Case, Reason string }

// Cases is how many cases there are for a backend.
func Cases(b Backend) int {
	n := 0
	for _, c := range cases {
		if c.applies(b) {
			n++
		}
	}
	return n
}

// Run runs all cases and reports how many there were.
func Run(t *testing.T, b Backend, deviations ...Deviation) {
	t.Helper()
	for _, d := range deviations {
		if !named(d.Case) {
			t.Errorf("deviation %q names no case", d.Case)
		}
	}
	ran, deviated := 0, 0
	for i, c := range cases {
		if !c.applies(b) {
			continue
		}
		ran++
		t.Run(c.name, func(t *testing.T) {
			err := runCase(b, i, c)
			reason, listed := reasonOf(deviations, c.name)
			switch {
			case err != nil && listed:
				deviated++
				t.Logf("deviates as listed (%s): %v", reason, err)
			case err != nil:
				t.Error(err)
			case listed:
				t.Errorf("passes, but is listed as deviating: %s", reason)
			}
		})
	}
	t.Logf("%s: %d cases ran, %d of them deviate as listed", b.Name(), ran, deviated)
}

func named(name string) bool {
	for _, c := range cases {
		if c.name == name {
			return true
		}
	}
	return false
}

func reasonOf(deviations []Deviation, name string) (string, bool) {
	for _, d := range deviations {
		if d.Case == name {
			return d.Reason, true
		}
	}
	return "", false
}

type testCase struct {
	name  string
	run   func(t *T)
	moves bool // needs a Mover
}

func (c testCase) applies(b Backend) bool {
	_, can := b.(Mover)
	return can || !c.moves
}

// T is a running case.
type T struct {
	*kafka.Client
	Process  *proc.Process
	Loop     env.Loop
	Backend  Backend
	Protocol int16 // of the cluster's transaction.version
	Features kafka.Features
	number   int // of the case
	names    int
	ask      script.Ask[func(done func()), struct{}]
}

// failure is what a failed check panics with, to leave the script.
type failure struct{ error }

// runCase runs one case on a loop of the backend.
func runCase(b Backend, number int, c testCase) error {
	var failed error
	err := b.Run(func(p *proc.Process, loop env.Loop, done func()) {
		body := func(ask script.Ask[func(func()), struct{}]) {
			defer func() {
				if r := recover(); r != nil {
					f, ok := r.(failure)
					if !ok {
						panic(r)
					}
					failed = f.error
				}
			}()
			t := &T{Process: p, Loop: loop, Backend: b, number: number, ask: ask}
			t.Client = kafka.New(kafka.Config{Process: p, Loop: loop})
			t.features()
			c.run(t)
		}
		perform := func(e func(done func()), done func(struct{})) { e(func() { done(struct{}{}) }) }
		script.Run(loop, body, perform, done)
	})
	if err != nil {
		return err
	}
	return failed
}

// do performs one asynchronous call and comes back when it is done.
func (t *T) do(call func(done func())) { t.ask(call) }

// fail ends the case.
func (t *T) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// check ends the case unless ok.
func (t *T) check(ok bool, format string, args ...any) {
	if !ok {
		t.fail(format, args...)
	}
}

func (t *T) sleep(d time.Duration) {
	t.do(func(done func()) { t.Loop.After(d, done) })
}

// name makes a name that no other case and no other run has.
func (t *T) name(what string) string {
	t.names++
	return fmt.Sprintf("%s-%x-%d-%d", what, t.Process.Nonce&0xffffff, t.number, t.names)
}

// settle repeats a call while its code asks for that, as any client must, and returns the first other code.
func (t *T) settle(what string, call func(done func(kafka.Code, error))) kafka.Code {
	for range 400 {
		var code kafka.Code
		var err error
		t.do(func(done func()) { call(func(c kafka.Code, e error) { code, err = c, e; done() }) })
		class := code.Class()
		if err == nil && class != kafka.Retry && class != kafka.FindCoordinator && class != kafka.RefreshLeader {
			return code
		}
		t.sleep(20 * time.Millisecond)
	}
	t.fail("%s does not settle", what)
	return kafka.OK
}

func (t *T) features() {
	var err error
	t.do(func(done func()) {
		t.Client.Features(func(f kafka.Features, e error) { t.Features, err = f, e; done() })
	})
	t.check(err == nil, "versions: %v", err)
	t.Protocol = t.Features.Protocol()
}
