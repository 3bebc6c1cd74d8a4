package hazard

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

// Wire is a backend whose connections a script can hold in its own hands.
type Wire interface {
	// WriteAndClose opens a connection to a broker, writes the requests behind each other and closes it at once.
	WriteAndClose(node int32, requests []kmsg.Request) error
	// WriteBoth writes two requests of any kind in one write of one connection, and reads both answers. done runs on any
	// goroutine.
	WriteBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error))
}

// both is Wire.WriteBoth, awaited.
func (t *Scene) both(node int32, first, second kmsg.Request) (a, b kmsg.Response) {
	w, ok := t.Backend.(Wire)
	t.Check(ok, "%s gives no connection away", t.Backend.Name())
	var err error
	t.Do(func(done func()) {
		w.WriteBoth(node, first, second, func(x, y kmsg.Response, e error) {
			t.Loop.Post(func() { a, b, err = x, y, e; done() })
		})
	})
	t.Check(err == nil, "%s and %s in one write: %v", kmsg.NameForKey(first.Key()), kmsg.NameForKey(second.Key()), err)
	return a, b
}

// WriteAndClose implements Wire.
func (b simulated) WriteAndClose(node int32, requests []kmsg.Request) error {
	loop := b.Client.NewLoop("hasty")
	port := b.Client.Process().Broker(loop, broker.Control)
	loop.Post(func() {
		for _, r := range requests {
			port.Send(node, r, func(kmsg.Response, error) {})
		}
		loop.Close()
	})
	return nil
}

// WriteBoth implements Wire.
func (b simulated) WriteBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	loop := b.Client.NewLoop("pair")
	port := b.Client.Process().Broker(loop, broker.Control)
	loop.Post(func() {
		port.SendBoth(node, first, second, func(x, y kmsg.Response, err error) {
			done(x, y, err)
			loop.Close()
		})
	})
}
