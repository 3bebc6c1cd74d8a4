// Package env is the engine's view of the world: time, loops, randomness and messages between processes.
//
// Each actor (JobManager, TaskManager, subtask) owns one Loop, and everything that happens to it happens on that loop,
// one callback after the other. Ports never block: a call takes a done function that runs later on the same loop, never
// inside the call. In production a loop is a goroutine with a queue; in the simulator all loops are served from one heap
// in virtual time. Package envtest holds the suite that every implementation passes.
package env

import "time"

// Instant is a point of the monotonic clock, in nanoseconds since an arbitrary origin. It never goes back and has no
// relation to the wall clock.
type Instant int64

// Add is the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub is the duration from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Clock tells time. Wall is for record timestamps and for warnings; no verdict is ever taken from it.
type Clock interface {
	Now() Instant
	Wall() time.Time
}

// Loop runs the callbacks of one actor, one at a time.
type Loop interface {
	// Post runs fn later on this loop. It may be called from any loop of the same process. Posts of one loop to
	// another run in the order in which they were posted.
	Post(fn func())
	// After runs fn once on this loop, not before d has passed.
	After(d time.Duration, fn func()) Timer
	// Spend declares that the running callback takes d of the loop's time. The simulator keeps the loop busy for so
	// long; production, where time passes by itself, ignores it.
	Spend(d time.Duration)
	// OnClose runs fn when the loop is closed or its process dies, as the last thing on this loop. It is for stopping
	// scripts: fn must not call a port.
	OnClose(fn func())
	// Close drops all queued and all future callbacks of this loop: timers, posts and completions of its ports.
	// A loop belongs to one task of one generation, so that nothing of an older generation arrives in a newer one.
	Close()
}

// Timer is a pending After. Stop reports whether it prevented the callback.
type Timer interface{ Stop() bool }

// Workers takes heavy work off the loop. work runs elsewhere and touches only what it was handed, frozen; done runs on
// the loop afterwards.
type Workers interface {
	Offload(work func(), done func())
}

// Kind says what a draw decides. Each package numbers its kinds from its own base.
type Kind uint32

// Bases for the kinds of each package.
const (
	KindSim      Kind = 0x0100
	KindKafka    Kind = 0x0200
	KindSink     Kind = 0x0300
	KindTask     Kind = 0x0400
	KindManager  Kind = 0x0500
	KindBroker   Kind = 0x0600
	KindBlob     Kind = 0x0700
	KindFault    Kind = 0x0800 // package faults imports nothing and has this number itself
	KindScenario Kind = 0x0900
	KindJobLog   Kind = 0x0b00
)

// Rand draws by name: the value is a function of the seed, the kind and the three numbers that name what is decided
// about, never of how many draws came before. Production returns unpredictable values.
type Rand interface {
	Draw(kind Kind, a, b, c uint64) uint64
}

// Addr names a process that can be dialled. What it looks like is the transport's affair.
type Addr string

// Transport carries messages between processes.
type Transport interface {
	// Listen hands each incoming connection to accept, which returns its handler. One listener per process.
	Listen(accept func(Conn) Handler)
	// Dial connects to a process. It returns at once; a connection that cannot be made is closed later.
	Dial(to Addr, h Handler) Conn
}

// Conn delivers a prefix of what was sent, in order, and then breaks; it never loses from the middle.
type Conn interface {
	Peer() Addr
	// Send queues msg, which must not be changed afterwards. After a break it does nothing.
	Send(msg []byte)
	Close()
}

// Handler receives what happens to a connection, on the loop of the transport. OnClose comes once, last; it is not called
// for a Close of one's own.
type Handler interface {
	OnMessage(c Conn, msg []byte)
	OnClose(c Conn, err error)
}
