package stage

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/script"
)

// T is a running script, with a client of its own.
type T struct {
	*kafka.Client
	Process  *proc.Process
	Loop     env.Loop
	Backend  Backend
	Protocol int16 // of the cluster's transaction.version
	Features kafka.Features
	// Time is the timestamp of the records that verbs send, in November 2023 if it is not set. A real broker deletes records by
	// it, rolls segments by it, and forgets by it who wrote them.
	Time int64

	play  *play
	ports [3]broker.Requests // of Raw
}

// play is what the clients of one script share.
type play struct {
	number int
	names  int
	ask    script.Ask[func(done func()), struct{}]
}

// failure is what a failed check panics with, to leave the script.
type failure struct{ error }

// Run runs one script on a loop of the backend. The number tells the names that it makes from those of other scripts.
func Run(b Backend, number int, fn func(t *T)) error {
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
			t := &T{Process: p, Loop: loop, Backend: b, Time: 1_700_000_000_000, play: &play{number: number, ask: ask}}
			t.connect()
			fn(t)
		}
		perform := func(e func(done func()), done func(struct{})) { e(func() { done(struct{}{}) }) }
		script.Run(loop, body, perform, done)
	})
	if err != nil {
		return err
	}
	return failed
}

// connect makes the client, and asks the cluster what it is.
func (t *T) connect() {
	t.Client = kafka.New(kafka.Config{Process: t.Process, Loop: t.Loop})
	for class := range t.ports {
		t.ports[class] = t.Process.Broker(t.Loop, broker.Class(class))
	}
	var err error
	t.Do(func(done func()) {
		t.Client.Features(func(f kafka.Features, e error) { t.Features, err = f, e; done() })
	})
	t.Check(err == nil, "versions: %v", err)
	t.Protocol = t.Features.Protocol()
}

// Another is a second client of the same script, with connections of its own: what another process would be to the cluster.
func (t *T) Another() *T {
	o := &T{Process: t.Process, Loop: t.Loop, Backend: t.Backend, Time: t.Time, play: t.play}
	o.connect()
	return o
}

// Do performs one asynchronous call and comes back when it is done.
func (t *T) Do(call func(done func())) { t.play.ask(call) }

// Fail ends the script.
func (t *T) Fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Check ends the script unless ok.
func (t *T) Check(ok bool, format string, args ...any) {
	if !ok {
		t.Fail(format, args...)
	}
}

// Sleep lets time pass: virtual time on a simulated cluster.
func (t *T) Sleep(d time.Duration) {
	t.Do(func(done func()) { t.Loop.After(d, done) })
}

// Name makes a name that no other script and no other run has.
func (t *T) Name(what string) string {
	t.play.names++
	return fmt.Sprintf("%s-%x-%d-%d", what, t.Process.Nonce&0xffffff, t.play.number, t.play.names)
}

// Patience is how long verbs repeat and wait before they fail, if the backend does not say otherwise.
const Patience = 10 * time.Second

func (t *T) patience() time.Duration {
	if b, ok := t.Backend.(Impatient); ok {
		return b.Patience()
	}
	return Patience
}

const pause = 20 * time.Millisecond

// Wait waits until a condition holds, and fails when it does not within Patience.
func (t *T) Wait(what string, holds func() bool) {
	t.Check(t.Within(Patience, holds), "%s: not within %s", what, t.patience())
}

// Within waits until a condition holds and says whether it does in the given time; Patience is as long as Wait waits.
func (t *T) Within(d time.Duration, holds func() bool) bool {
	if d == Patience {
		d = t.patience()
	}
	for end := t.Process.Now().Add(d); ; {
		if holds() {
			return true
		}
		if t.Process.Now() >= end {
			return false
		}
		t.Sleep(pause)
	}
}

// Settle repeats a call while its code asks for that, as any client must, and returns the first other code.
func (t *T) Settle(what string, call func(done func(kafka.Code, error))) kafka.Code {
	var code kafka.Code
	var err error
	ok := t.Within(Patience, func() bool {
		t.Do(func(done func()) { call(func(c kafka.Code, e error) { code, err = c, e; done() }) })
		return err == nil && !Passing(code)
	})
	if !ok && err == nil {
		err = code
	}
	t.Check(ok, "%s does not settle within %s: %v", what, t.patience(), err)
	return code
}

// Passing says whether a code asks for the same request again, here or at another broker.
func Passing(code kafka.Code) bool {
	class := code.Class()
	return class == kafka.Retry || class == kafka.FindCoordinator || class == kafka.RefreshLeader
}

// MoveLeader makes another broker the leader of a partition. The script fails where the backend cannot do that.
func (t *T) MoveLeader(tp id.TopicPartition) {
	m, ok := t.Backend.(Mover)
	t.Check(ok, "%s cannot move leaders", t.Backend.Name())
	err := m.MoveLeader(tp)
	t.Check(err == nil, "move the leader of %s: %v", tp, err)
}

// MoveCoordinator makes another broker the coordinator of a transactional id. The script fails where the backend cannot do
// that.
func (t *T) MoveCoordinator(transactionalID string) {
	m, ok := t.Backend.(Mover)
	t.Check(ok, "%s cannot move coordinators", t.Backend.Name())
	err := m.MoveCoordinator(transactionalID)
	t.Check(err == nil, "move the coordinator of %s: %v", transactionalID, err)
}
