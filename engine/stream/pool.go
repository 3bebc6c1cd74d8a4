package stream

import "github.com/onefold/onefold/engine/invariant"

// Pool recycles batches of one loop. Invariant: Get and Free are called on that loop only; a batch that was handed to
// another loop comes back by a post.
type Pool struct {
	// Poison overwrites a freed batch, so that who still reads it reads nonsense. It is an option of the world.
	Poison bool
	free   []*Batch
	made   int
}

// keep is the number of free batches that a pool holds on to.
const keep = 64

// Get returns an empty batch.
func (p *Pool) Get() *Batch {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		b.freed = false
		return b
	}
	p.made++
	return &Batch{pool: p}
}

// Free gives a batch back. Nobody may touch it or what it holds afterwards.
func (p *Pool) Free(b *Batch) {
	invariant.Check(!b.freed, "batch freed twice")
	invariant.Check(b.pool == p, "batch freed into another pool")
	b.freed = true
	if p.Poison {
		poison(b.Data[:cap(b.Data)])
	}
	b.Data, b.count, b.start = b.Data[:0], 0, 0
	if len(p.free) < keep {
		p.free = append(p.free, b)
	}
}

func poison(b []byte) {
	if len(b) > 0 {
		b[0] = 0xDB
	}
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// Made is the number of batches that were ever allocated.
func (p *Pool) Made() int { return p.made }
