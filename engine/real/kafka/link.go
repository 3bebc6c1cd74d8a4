package kafka

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// link is one client to one address, and what waits to be written there in order.
type link struct {
	address string
	client  *kgo.Client
	broker  *kgo.Broker

	mu       sync.Mutex
	queue    []*call
	starting bool // a request was started and has neither been written nor failed
	running  int  // started and not answered
	retired  bool // close when nothing runs
	closed   bool
}

type call struct {
	*pinned
	done func(kmsg.Response, error)
}

func (c *Cluster) newLink(address string) (*link, error) {
	client, err := kgo.NewClient(c.options(address, c.dialer.dial)...)
	if err != nil {
		return nil, err
	}
	return &link{address: address, client: client, broker: client.SeedBrokers()[0]}, nil
}

// send starts the request after those before it; done runs on any goroutine.
func (k *link) send(req kmsg.Request, done func(kmsg.Response, error)) {
	c := &call{pin(req, k.advance), done}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue = append(k.queue, c)
	if !k.starting {
		k.start()
	}
}

// start takes the next request, under the mutex.
func (k *link) start() {
	if len(k.queue) == 0 || k.closed {
		return
	}
	c := k.queue[0]
	k.queue[0] = nil
	k.queue = k.queue[1:]
	k.starting = true
	k.running++
	go k.run(c)
}

func (k *link) advance() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.starting = false
	k.start()
}

func (k *link) run(c *call) {
	resp, err := k.broker.Request(c.context, c.wrapped())
	sent := c.sent.Load()
	c.pass()
	c.cancel()
	if err != nil {
		resp = nil // a reply that does not parse comes with both
	}
	c.done(resp, c.outcome(k.address, sent, err))
	k.mu.Lock()
	k.running--
	over := k.retired && !k.closed && k.running == 0 && len(k.queue) == 0
	k.closed = k.closed || over
	k.mu.Unlock()
	if over {
		k.client.Close()
	}
}

// retire closes the link once its last request has returned.
func (k *link) retire() {
	k.mu.Lock()
	k.retired = true
	over := !k.closed && k.running == 0 && len(k.queue) == 0
	k.closed = k.closed || over
	k.mu.Unlock()
	if over {
		go k.client.Close()
	}
}

// close drops what waits and breaks the connections.
func (k *link) close() {
	k.mu.Lock()
	was := k.closed
	k.closed, k.queue = true, nil
	k.mu.Unlock()
	if !was {
		go k.client.Close() // it waits for its goroutines, a loop must not
	}
}
