package main

import "sync"

// mailbox hands functions of many goroutines to one, in order. Sending never blocks.
type mailbox struct {
	mu    sync.Mutex
	queue []func()
	some  chan struct{}
}

func newMailbox() *mailbox { return &mailbox{some: make(chan struct{}, 1)} }

func (m *mailbox) post(fn func()) {
	m.mu.Lock()
	m.queue = append(m.queue, fn)
	m.mu.Unlock()
	select {
	case m.some <- struct{}{}:
	default:
	}
}

// drain runs what is there.
func (m *mailbox) drain() {
	for {
		m.mu.Lock()
		queue := m.queue
		m.queue = nil
		m.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, fn := range queue {
			fn()
		}
	}
}
