package task_test

import (
	"sync"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/trace"
)

// goLoop is a loop on a goroutine, for benchmarks.
type goLoop struct {
	mu     sync.Mutex
	wake   chan struct{}
	queue  []func()
	closed bool
}

func newGoLoop() *goLoop {
	l := &goLoop{wake: make(chan struct{}, 1)}
	go l.serve()
	return l
}

func (l *goLoop) serve() {
	var batch []func()
	for range l.wake {
		for {
			l.mu.Lock()
			batch, l.queue = l.queue, batch[:0]
			closed := l.closed
			l.mu.Unlock()
			if closed {
				return
			}
			if len(batch) == 0 {
				break
			}
			for i, fn := range batch {
				batch[i] = nil
				fn()
			}
		}
	}
}

func (l *goLoop) Post(fn func()) {
	l.mu.Lock()
	first := len(l.queue) == 0
	l.queue = append(l.queue, fn)
	l.mu.Unlock()
	if first {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (l *goLoop) After(d time.Duration, fn func()) env.Timer {
	return time.AfterFunc(d, func() { l.Post(fn) })
}
func (l *goLoop) Spend(time.Duration) {}
func (l *goLoop) OnClose(func())      {}
func (l *goLoop) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.Post(func() {})
}

// liveProcess is a process without network, whose objects are kept in memory.
func liveProcess() *proc.Process {
	start := time.Now()
	objects := &objects{all: map[blob.Key][]byte{}}
	return &proc.Process{
		Clock: liveClock{start}, Rand: liveRand{}, Observer: deaf{}, Name: "tm", Nonce: 1,
		NewLoop:   func(string) env.Loop { return newGoLoop() },
		Transport: func(env.Loop) env.Transport { return noNetwork{} },
		Workers:   func(l env.Loop) env.Workers { return goWorkers{l} },
		Blob:      func(l env.Loop) blob.Store { return &memoryBlob{objects, l} },
	}
}

type liveClock struct{ start time.Time }

func (c liveClock) Now() env.Instant { return env.Instant(time.Since(c.start)) }
func (c liveClock) Wall() time.Time  { return time.Now() }

type liveRand struct{}

func (liveRand) Draw(_ env.Kind, a, b, c uint64) uint64 { return a ^ b ^ c }

type deaf struct{}

func (deaf) Hook(hook.Event)                                  {}
func (deaf) Reached(probe.Probe)                              {}
func (deaf) Entry(trace.Kind, uint64, uint64, uint64, uint64) {}
func (deaf) Log(string, ...any)                               {}

type noNetwork struct{}

func (noNetwork) Listen(func(env.Conn) env.Handler)   {}
func (noNetwork) Dial(env.Addr, env.Handler) env.Conn { panic("no network") }

type goWorkers struct{ l env.Loop }

func (w goWorkers) Offload(work, done func()) {
	go func() {
		work()
		w.l.Post(done)
	}()
}

type objects struct {
	mu    sync.Mutex
	all   map[blob.Key][]byte
	bytes int
}

type memoryBlob struct {
	o *objects
	l env.Loop
}

func (m *memoryBlob) Create(k blob.Key, b []byte, done func(error)) {
	m.o.mu.Lock()
	defer m.o.mu.Unlock()
	var err error
	if _, ok := m.o.all[k]; ok {
		err = blob.ErrExists
	} else {
		m.o.all[k] = nil
		m.o.bytes += len(b)
	}
	m.l.Post(func() { done(err) })
}
func (m *memoryBlob) Get(blob.Key, func([]byte, error))      {}
func (m *memoryBlob) List(blob.Key, func([]blob.Key, error)) {}
func (m *memoryBlob) Delete(blob.Key, func(error))           {}
