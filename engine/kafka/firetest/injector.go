package firetest

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
)

// Wire is a backend that can answer in place of its brokers, so that what is injected passes real connections.
type Wire interface {
	// Hook has answer asked about every request of a kind before a broker sees it, until unhook: an answer, or an error for a
	// connection that breaks, or neither for no answer at all, if handled.
	Hook(key int16, answer func(kmsg.Request) (kmsg.Response, error, bool)) (unhook func())
}

// injector stands between a client and its ports: it writes down what is asked and strikes requests of one kind.
type injector struct {
	key   int16
	fault Fault
	place func(kmsg.Response, int16) // nil: spoil
	wire  bool                       // what can be injected on the wire is

	mu   sync.Mutex // a wire asks from elsewhere
	left int        // requests still to strike
	sent []int16    // keys of what the client sent
}

// ports is the injector around the ports of a process.
func (i *injector) ports(make func(env.Loop, broker.Class) broker.Requests) func(env.Loop, broker.Class) broker.Requests {
	return func(l env.Loop, c broker.Class) broker.Requests { return &port{Requests: make(l, c), i: i, loop: l} }
}

// strike says whether a request is struck.
func (i *injector) strike(key int16) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if key != i.key || i.left == 0 {
		return false
	}
	i.left--
	return true
}

// onWire says whether a fault is injected behind the connection. What a broker has done already cannot be, nor can what was
// never sent; and a connection's own handshake asks for versions.
func (i *injector) onWire() bool {
	if !i.wire || i.key == int16(kmsg.ApiVersions) || i.key == int16(kmsg.Metadata) {
		return false
	}
	return i.fault.Mode == Answered || i.fault.Mode == Broken
}

// answer is what a wire asks.
func (i *injector) answer(req kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // the form of kfake
	if !i.strike(req.Key()) {
		return nil, nil, false
	}
	if i.fault.Mode == Broken {
		return nil, errBroken, true
	}
	return refusal(req, int16(i.fault.Code)), nil, true
}

func (i *injector) note(key int16) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.sent = append(i.sent, key)
}

// port is one port with an injector before it.
type port struct {
	broker.Requests
	i    *injector
	loop env.Loop
}

func (p *port) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	p.i.note(req.Key())
	if p.i.onWire() || !p.i.strike(req.Key()) {
		p.Requests.Send(node, req, done)
		return
	}
	code := int16(p.i.fault.Code)
	switch p.i.fault.Mode {
	case NotSent:
		p.loop.Post(func() { done(nil, broker.ErrNotSent) })
	case Broken:
		p.loop.Post(func() { done(nil, errBroken) })
	case Lost:
		p.Requests.Send(node, req, func(kmsg.Response, error) { done(nil, errBroken) })
	case Silent:
		p.Requests.Send(node, req, func(kmsg.Response, error) {})
	case Answered:
		if p.i.place == nil && req.Key() != int16(kmsg.Metadata) && req.Key() != int16(kmsg.ApiVersions) {
			p.loop.Post(func() { done(refusal(req, code), nil) })
			return
		}
		fallthrough // a read changes nothing
	case Applied:
		p.Requests.Send(node, req, func(r kmsg.Response, err error) {
			switch {
			case err == nil && p.i.place != nil:
				p.i.place(r, code)
			case err == nil:
				spoil(r, code)
			}
			done(r, err)
		})
	}
}
