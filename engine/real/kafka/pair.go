package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
)

// pair brings two requests into one write. It has a client, hence a connection, of its own: the connection keeps the first frame
// back and writes it together with the second. If the second never comes the connection is closed and the first was never sent.
type pair struct {
	mu      sync.Mutex
	kept    []byte
	keptOn  *keeper
	written bool // the write of both was begun
}

var errLate = errors.New("the other frame of the pair went over another connection, or was sent before")

// keeper is a connection of a pair.
type keeper struct {
	net.Conn
	pair *pair
}

// Write is called with one frame.
func (k *keeper) Write(frame []byte) (int, error) {
	if handshake(frame) {
		return k.Conn.Write(frame)
	}
	p := k.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.kept == nil:
		p.kept, p.keptOn = append([]byte(nil), frame...), k
		return len(frame), nil
	case p.written || p.keptOn != k:
		return 0, errLate
	}
	p.written = true
	first := len(p.kept)
	n, err := k.Conn.Write(append(p.kept, frame...))
	return max(n-first, 0), err
}

// handshake reports whether a frame opens a connection: ApiVersions, SaslHandshake or SaslAuthenticate.
func handshake(frame []byte) bool {
	if len(frame) < 6 {
		return true
	}
	switch binary.BigEndian.Uint16(frame[4:]) {
	case 17, 18, 36:
		return true
	}
	return false
}

// sendBoth blocks until both are answered or have failed.
func (c *Cluster) sendBoth(address string, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	p := &pair{}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.dialer.dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &keeper{conn, p}, nil
	}
	client, err := kgo.NewClient(c.options(address, dial)...)
	if err != nil {
		done(nil, nil, fmt.Errorf("%w: client for %s: %w", broker.ErrNotSent, address, err))
		return
	}
	defer client.Close()
	node := client.SeedBrokers()[0]

	onward := make(chan struct{})
	one, two := pin(first, func() { close(onward) }), pin(second, func() {})
	var (
		wg         sync.WaitGroup
		resp, last kmsg.Response
		err1, err2 error
	)
	wg.Go(func() {
		resp, err1 = node.Request(one.context, one)
		one.pass()
	})
	<-onward
	if one.sent.Load() {
		last, err2 = node.Request(two.context, two)
		if !two.sent.Load() {
			client.Close() // the first frame is kept for ever
		}
	}
	wg.Wait()
	one.cancel()
	two.cancel()
	p.mu.Lock()
	written := p.written
	p.mu.Unlock()
	err1, err2 = one.outcome(address, written, err1), two.outcome(address, written, err2)
	if err1 != nil || err2 != nil {
		done(nil, nil, errors.Join(err1, err2))
		return
	}
	done(resp, last, nil)
}
