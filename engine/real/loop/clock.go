package loop

import (
	"math/rand/v2"
	"time"

	"github.com/onefold/onefold/engine/env"
)

// Clock is the machine's clock. Its monotonic origin is the moment at which it was made.
type Clock struct{ origin time.Time }

var _ env.Clock = Clock{}

// NewClock makes a clock. All loops of a process share one.
func NewClock() Clock { return Clock{time.Now()} }

// Now implements env.Clock.
func (c Clock) Now() env.Instant { return env.Instant(time.Since(c.origin)) }

// Wall implements env.Clock.
func (c Clock) Wall() time.Time { return time.Now() }

// Rand draws unpredictable values: the runtime's generator, which the system's entropy seeds.
type Rand struct{}

var _ env.Rand = Rand{}

// Draw implements env.Rand; the name is not used.
func (Rand) Draw(env.Kind, uint64, uint64, uint64) uint64 { return rand.Uint64() }
