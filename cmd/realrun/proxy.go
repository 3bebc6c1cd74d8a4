package main

import (
	"net"
	"sync"
	"time"
)

// proxy stands between one process and one broker. It passes everything on, until it is told to cut a direction or to be slow.
type proxy struct {
	listener net.Listener
	broker   string

	mu    sync.Mutex
	ways  [2]way
	conns map[*proxied]bool
}

// The directions.
const (
	toBroker = iota
	toProcess
)

// way is one direction.
type way struct {
	cut   bool
	delay time.Duration
	hit   func() // told of what is struck; nil is allowed
}

// proxied is one connection and its continuation, which is nil while there is none.
type proxied struct {
	process, broker net.Conn
}

func newProxy(broker string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, broker: broker, conns: map[*proxied]bool{}}
	go p.accept()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.listener.Close()
	p.breakAll()
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

// serve continues a connection. Behind a cut it is taken and leads nowhere, as packets that are dropped do.
func (p *proxy) serve(c net.Conn) {
	x := &proxied{process: c}
	p.mu.Lock()
	p.conns[x] = true
	dark := p.ways[toBroker].cut
	p.mu.Unlock()
	defer p.forget(x)
	if dark {
		p.pump(c, nil, toBroker)
		return
	}
	b, err := net.DialTimeout("tcp", p.broker, 5*time.Second)
	if err != nil {
		abort(c)
		return
	}
	p.mu.Lock()
	x.broker = b
	over := !p.conns[x]
	p.mu.Unlock()
	if over {
		b.Close()
		return
	}
	done := make(chan struct{})
	go func() {
		p.pump(b, c, toProcess)
		abort(c)
		close(done)
	}()
	p.pump(c, b, toBroker)
	b.Close()
	<-done
}

// chunk is what was read at once, and when it is due on the other side.
type chunk struct {
	due   time.Time
	bytes []byte
}

// pump moves bytes until one side ends. to is nil where nobody is.
func (p *proxy) pump(from, to net.Conn, direction int) {
	chunks := make(chan chunk, 64)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.bytes); err != nil {
				from.Close()
				return
			}
		}
	}()
	defer func() {
		close(chunks)
		<-written
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			p.mu.Lock()
			w := p.ways[direction]
			p.mu.Unlock()
			if (w.cut || w.delay > 0) && w.hit != nil {
				w.hit()
			}
			if !w.cut && to != nil {
				select {
				case chunks <- chunk{time.Now().Add(w.delay), append([]byte(nil), buffer[:n]...)}:
				case <-written:
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// set changes one direction. A cut, and its end, break what is connected: bytes are missing there, or would be.
func (p *proxy) set(direction int, w way) {
	p.mu.Lock()
	broken, turned := len(p.conns), p.ways[direction].cut != w.cut
	p.ways[direction] = w
	p.mu.Unlock()
	if turned {
		p.breakAll()
	}
	if w.cut && turned && w.hit != nil && broken > 0 {
		w.hit()
	}
}

func (p *proxy) breakAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for x := range p.conns {
		x.abort()
	}
	p.conns = map[*proxied]bool{}
}

func (p *proxy) forget(x *proxied) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, x)
	x.abort()
}

func (x *proxied) abort() {
	abort(x.process)
	if x.broker != nil {
		abort(x.broker)
	}
}

// abort ends a connection with a reset, as one does whose process is gone.
func abort(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}
