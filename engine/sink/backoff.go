package sink

import (
	"time"

	"github.com/onefold/onefold/engine/env"
)

// Kinds of draws of this package.
const (
	drawBackoff = env.KindSink + iota
)

const (
	backoffMin = 5 * time.Millisecond
	backoffMax = time.Second
)

// pause is the back-off before try number try (from 1): doubled each time, the upper half jittered.
func pause(r env.Rand, what uint64, try int) time.Duration {
	d := backoffMax
	if try < 9 {
		d = min(d, backoffMin<<(try-1))
	}
	half := uint64(d / 2)
	return time.Duration(half + r.Draw(drawBackoff, what, uint64(try), 0)%(half+1))
}

// retrying repeats a try until it says that it is done or the limit has passed. again is called by the try, later on the
// loop, when it wants another one.
func retrying(loop env.Loop, clock env.Clock, r env.Rand, what uint64, limit time.Duration, try func(again func()), expired func()) {
	start := clock.Now()
	n := 0
	var once func()
	once = func() {
		try(func() {
			n++
			if clock.Now().Sub(start) >= limit {
				expired()
				return
			}
			loop.After(pause(r, what, n), once)
		})
	}
	once()
}
