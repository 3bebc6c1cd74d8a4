package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/env"
)

// ask is a leader's question to a transaction coordinator about partitions that it is about to write: whether they are in
// the transaction, or (add) to put them in.
type ask struct {
	id    string
	pid   int64
	epoch int16
	parts []*partition
	add   bool
	done  func(code int16, missing []bool)

	missing  []bool
	deadline env.Instant
	retrying bool
}

// addQueue holds the questions to one broker: one bundle is under way at a time.
type addQueue struct {
	underWay bool
	queued   []*ask
}

// askCoordinator sends a question. A newer one of the same transactional id displaces an older one that still waits to be
// sent; one of an older epoch loses.
func (b *Broker) askCoordinator(a *ask) {
	s := b.c.coordinator(a.id)
	if s.leader < 0 {
		b.loop.Post(func() { a.done(coordinatorNotAvailable, nil) })
		return
	}
	q := &b.adds[s.leader]
	for i, o := range q.queued {
		if o.id != a.id || o.pid != a.pid {
			continue
		}
		if o.epoch > a.epoch {
			b.loop.Post(func() { a.done(producerFenced, nil) })
			return
		}
		code := networkException
		if o.epoch < a.epoch {
			code = producerFenced
		}
		q.queued = append(q.queued[:i:i], q.queued[i+1:]...)
		b.loop.Post(func() { o.done(code, nil) })
		break
	}
	q.queued = append(q.queued, a)
	b.sendAsks(s.leader)
}

// sendAsks sends what waits for a broker as one bundle.
func (b *Broker) sendAsks(to int32) {
	q := &b.adds[to]
	if q.underWay || len(q.queued) == 0 {
		return
	}
	bundle := q.queued
	q.queued, q.underWay = nil, true
	codes := make([]int16, len(bundle))
	b.call(b.c.brokers[to], func(at *Broker, answer func(int16)) {
		open := len(bundle)
		for i, a := range bundle {
			at.answerAsk(a, func(code int16) {
				codes[i] = code
				if open--; open == 0 {
					answer(ok)
				}
			})
		}
	}, func(code int16) {
		q.underWay = false
		for i, a := range bundle {
			c := codes[i]
			if code != ok {
				c = code
			}
			b.asked(a, c)
		}
		b.sendAsks(to)
	})
}

// asked takes an answer. "Concurrent" to an add is tried again here for a while before the client hears of it.
func (b *Broker) asked(a *ask, code int16) {
	now, pause := b.c.w.Now(), 20*time.Millisecond
	if code == concurrentTransactions && a.add && b.profile.ServerRetry > 0 {
		if !a.retrying {
			a.retrying, a.deadline = true, now.Add(b.profile.ServerRetry)
		}
		if now.Add(pause) <= a.deadline {
			b.loop.After(pause, func() { b.askCoordinator(a) })
			return
		}
	}
	a.done(code, a.missing)
}

// answerAsk is the coordinator's side.
func (b *Broker) answerAsk(a *ask, answer func(int16)) {
	s := b.coordinator(a.id)
	if a.add {
		s.add(b, addition{id: a.id, pid: a.pid, epoch: a.epoch, parts: a.parts, version: 2}, answer)
		return
	}
	e, code := s.get(b, a.id)
	switch {
	case code != ok:
	case e == nil || e.mem.pid != a.pid:
		code = invalidProducerID
	case e.mem.epoch != a.epoch:
		code = producerFenced
	case e.mem.state.Prepared():
		code = concurrentTransactions
	default:
		a.missing = make([]bool, len(a.parts))
		for i, p := range a.parts {
			a.missing[i] = e.mem.state != Ongoing || !e.mem.has(p)
		}
	}
	answer(code)
}
