package firetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/kafka"
)

// Outcome is what the caller sees.
type Outcome string

// The outcomes. To look is to ask who leads or coordinates before the next try.
const (
	Ignored   Outcome = "takes it for success"
	Repeats   Outcome = "repeats"         // success in the end, silently
	Refreshes Outcome = "looks, repeats"  // the same, and it looks in between
	Told      Outcome = "told"            // the code, at once
	ToldLooks Outcome = "told, looks"     // the same, and the next try looks
	NotDone   Outcome = "not sent"        // the caller knows that it was not
	NotLooks  Outcome = "not sent, looks" // the same, and the next try looks
	Unknown   Outcome = "unknown"         // the caller does not know whether it took effect
	UnknLooks Outcome = "unknown, looks"  // the same, and the next try looks
	Told13    Outcome = "told 13, looks"  // NETWORK_EXCEPTION stands for a leader that did not answer
	Fails     Outcome = "fails"           // the producer, the fetcher or the read ends at once, for good; its error has the code
	GivesUp   Outcome = "gives up"        // after its timeout; its error has the last reason
	Waits     Outcome = "waits"           // for as long as it takes
)

// Pace is how long the client under test waits for what; zero is its default.
type Pace struct {
	Request, Read, Delivery, BackoffMin, BackoffMax time.Duration
	// Hang is when a call that has not ended counts as one that waits for ever.
	Hang time.Duration
}

// Cell is one call under one fault, and what was seen.
type Cell struct {
	Call  string
	Fault Fault
	Got   Outcome
	Err   error // for people
}

// Run runs a call under faults one after the other, each with a client of its own. lasting: a fault strikes until the end,
// otherwise twice.
func Run(b stage.Backend, number int, call Call, pace Pace, faults []Fault, lasting bool) (cells []Cell, err error) {
	err = stage.Run(b, number, func(t *stage.T) {
		do := call.prepare(t, pace)
		for n, f := range faults {
			c := &cell{t: t, call: call, pace: pace, fault: f, lasting: lasting, do: do, n: n}
			got, err := c.run()
			cells = append(cells, Cell{call.Name, f, got, err})
		}
	})
	return cells, err
}

type cell struct {
	t       *stage.T
	call    Call
	pace    Pace
	fault   Fault
	lasting bool
	do      ask
	n       int
	i       *injector
	code    kafka.Code
	err     error
	took    time.Duration
}

func (c *cell) run() (Outcome, error) {
	c.i = &injector{key: int16(c.call.Key), fault: c.fault, left: 2, place: c.call.place}
	if c.lasting {
		c.i.left = -1
	}
	w, ok := c.t.Backend.(Wire)
	if c.i.wire = ok && c.call.place == nil; c.i.onWire() {
		defer w.Hook(int16(c.call.Key), c.i.answer)()
	}
	p := *c.t.Process
	p.Broker = c.i.ports(c.t.Process.Broker)
	client := kafka.New(kafka.Config{
		Process: &p, Loop: c.t.Loop, RequestTimeout: c.pace.Request, ReadTimeout: c.pace.Read,
		BackoffMin: c.pace.BackoffMin, BackoffMax: c.pace.BackoffMax,
	})
	defer client.Close()
	if !c.ask(client) {
		return Waits, nil
	}
	first := c.i.tries()
	out, err := c.outcome(first), c.err
	if c.call.Lasts || err == nil && c.code == kafka.OK {
		return out, err
	}
	// What the next try of the caller does.
	if !c.ask(client) {
		return Waits, fmt.Errorf("the second try does not end")
	}
	if c.i.looked() {
		out += ", looks"
	}
	return out, err
}

// ask calls once; false if that does not end.
func (c *cell) ask(client *kafka.Client) bool {
	over, ended := false, false
	began := c.t.Process.Now()
	defer func() { c.took = c.t.Process.Now().Sub(began) }()
	c.t.Do(func(done func()) {
		timer := c.t.Loop.After(c.pace.Hang, func() {
			if !over {
				over = true
				done()
			}
		})
		c.do(client, c.n, func(code kafka.Code, err error) {
			if !over {
				over, ended, c.code, c.err = true, true, code, err
				timer.Stop()
				c.t.Loop.Post(done)
			}
		})
	})
	return ended
}

// outcome reads what the caller was told.
func (c *cell) outcome(tries int) Outcome {
	switch {
	case c.err == nil && c.code == kafka.OK && tries <= 1:
		return Ignored
	case c.err == nil && c.code == kafka.OK && c.i.looked():
		return Refreshes
	case c.err == nil && c.code == kafka.OK:
		return Repeats
	case c.err == nil && c.code == c.fault.Code:
		return Told
	case c.err == nil && c.code == kafka.NetworkException:
		return "told 13"
	case c.err == nil:
		return Outcome(fmt.Sprintf("told another code: %v", c.code))
	case c.call.Lasts && tries == 1 && c.took < min(c.pace.Read, c.pace.Delivery) && c.named():
		return Fails
	case c.call.Lasts && c.named():
		return GivesUp
	case errors.Is(c.err, broker.ErrNotSent) && (c.fault.Mode > NotSent || c.named()):
		return NotDone
	case c.named():
		return Unknown
	}
	return Outcome(fmt.Sprintf("another error: %v", c.err))
}

// named reports whether the error says what was injected.
func (c *cell) named() bool {
	switch c.fault.Mode {
	case Answered, Applied:
		return errors.Is(c.err, c.fault.Code)
	case NotSent:
		return errors.Is(c.err, broker.ErrNotSent)
	case Silent:
		return errors.Is(c.err, kafka.ErrTimeout)
	}
	return !errors.Is(c.err, broker.ErrNotSent)
}

// tries is how often the request in question was sent.
func (i *injector) tries() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := 0
	for _, k := range i.sent {
		if k == i.key {
			n++
		}
	}
	return n
}

// looked reports whether the client has asked who leads or coordinates between its first try and its last.
func (i *injector) looked() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := slices.Index(i.sent, i.key)
	last := len(i.sent) - 1
	for last > first && i.sent[last] != i.key {
		last--
	}
	for _, k := range i.sent[max(first, 0):max(last, 0)] {
		if k != i.key && (k == int16(kmsg.Metadata) || k == int16(kmsg.FindCoordinator)) {
			return true
		}
	}
	return false
}
