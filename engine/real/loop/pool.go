package loop

import (
	"sync"

	"github.com/onefold/onefold/engine/env"
)

// Pool runs work off the loops, on at most a given number of goroutines. They are started when there is work and end when
// there is none, so a pool has nothing to close.
type Pool struct {
	mu      sync.Mutex
	queue   []func()
	running int
	most    int
}

// NewPool makes a pool of at most n goroutines. With one, work is done in the order of asking.
func NewPool(n int) *Pool { return &Pool{most: max(n, 1)} }

// Do runs work on the pool.
func (p *Pool) Do(work func()) {
	p.mu.Lock()
	p.queue = append(p.queue, work)
	start := p.running < p.most
	if start {
		p.running++
	}
	p.mu.Unlock()
	if start {
		go p.drain()
	}
}

func (p *Pool) drain() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.running--
			p.queue = nil
			p.mu.Unlock()
			return
		}
		work := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
		work()
	}
}

// On is the pool as the workers of one loop.
func (p *Pool) On(l env.Loop) env.Workers { return workers{p, l} }

type workers struct {
	pool *Pool
	loop env.Loop
}

func (w workers) Offload(work, done func()) {
	w.pool.Do(func() {
		work()
		w.loop.Post(done)
	})
}
