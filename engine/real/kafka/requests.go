package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
)

// requests implements broker.Requests. Its fields belong to the loop.
type requests struct {
	cluster *Cluster
	loop    env.Loop
	class   broker.Class
	links   map[string]*link
	edition uint64 // of the book when stale links were last looked for
	closed  bool
}

var _ broker.Requests = (*requests)(nil)

func (r *requests) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	if r.closed {
		return
	}
	k, err := r.link(node)
	if err == nil {
		err = refused(req)
	}
	if err != nil {
		r.loop.Post(func() { done(nil, err) })
		return
	}
	book := r.cluster.book
	k.send(req, func(resp kmsg.Response, err error) {
		if err != nil {
			book.failed(k.address)
		} else {
			book.learn(resp)
		}
		r.loop.Post(func() { done(resp, err) })
	})
}

func (r *requests) SendBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	if r.closed {
		return
	}
	address, err := r.resolve(node)
	for _, req := range []kmsg.Request{first, second} {
		if err == nil {
			err = refused(req)
		}
	}
	if err != nil {
		r.loop.Post(func() { done(nil, nil, err) })
		return
	}
	go r.cluster.sendBoth(address, first, second, func(a, b kmsg.Response, err error) {
		r.loop.Post(func() { done(a, b, err) })
	})
}

func (r *requests) resolve(node int32) (string, error) {
	address, ok := r.cluster.book.address(node)
	if !ok {
		return "", fmt.Errorf("%w: no address of broker %d is known", broker.ErrNotSent, node)
	}
	return address, nil
}

func (r *requests) link(node int32) (*link, error) {
	r.retireStale()
	address, err := r.resolve(node)
	if err != nil {
		return nil, err
	}
	k := r.links[address]
	if k == nil {
		if k, err = r.cluster.newLink(address); err != nil {
			return nil, fmt.Errorf("%w: client for %s: %w", broker.ErrNotSent, address, err)
		}
		r.links[address] = k
	}
	return k, nil
}

// retireStale lets go of clients whose address has left the cluster.
func (r *requests) retireStale() {
	edition, used := r.cluster.book.since(r.edition)
	r.edition = edition
	if used == nil {
		return
	}
	for address, k := range r.links { // order irrelevant: each is closed or not by itself
		if !used[address] {
			delete(r.links, address)
			k.retire()
		}
	}
}

func (r *requests) close() {
	r.closed = true
	for _, k := range r.links { // order irrelevant: all are closed
		k.close()
	}
	r.links = nil
}
