package task

import (
	"errors"
	"time"

	"github.com/onefold/onefold/engine/operator"
)

// errStop ends a source's Poll: the outputs are full, or the task has failed.
var errStop = errors.New("no more records now")

// source is the source that a task reads.
type source struct {
	op    int
	src   operator.Source
	emit  func(*operator.Record) error
	count int // records in this turn
	ended bool
}

func newSource(t *Task, op int) *source {
	s := &source{op: op, src: t.spec.Plan.Job.Operators[op].Source.New()}
	s.emit = func(r *operator.Record) error {
		if t.phase != running || t.chain.Failed() || !t.room() {
			return errStop
		}
		t.group.Records(r)
		if t.chain.Failed() {
			return errStop
		}
		s.count++
		return nil
	}
	return s
}

// schedule posts a turn unless one is posted.
func (t *Task) schedule() {
	if t.phase == running && !t.scheduled {
		t.scheduled = true
		t.loop.Post(t.turning)
	}
}

// turn processes at most a batch of records. It is posted again while there is more to do.
func (t *Task) turn() {
	t.scheduled = false
	if t.phase != running {
		return
	}
	defer t.recoverUser()
	for _, s := range t.sinks {
		s.ready = false
	}
	n, again := 0, false
	if t.drainSinks() && t.takeBarriers() {
		t.shipped = true
		if t.source != nil {
			n, again = t.poll()
		} else {
			n, again = t.gate.read(t.spec.Options.Batch)
		}
	}
	if t.chain.Failed() {
		op, err := t.chain.Failure()
		t.fail(t.uid(op), t.origin(), err.Error())
	}
	if t.phase != running {
		return
	}
	if cost := t.spec.Options.CostPerRecord; cost > 0 && n > 0 {
		t.loop.Spend(cost * time.Duration(n))
	}
	t.flush(again)
	if again {
		t.schedule()
	}
}

func (t *Task) poll() (n int, again bool) {
	s := t.source
	if s.ended || !t.room() {
		return 0, false
	}
	s.count = 0
	status, err := s.src.Poll(t.spec.Options.Batch, s.emit)
	switch {
	case t.phase != running || t.chain.Failed():
		return s.count, false
	case errors.Is(err, errStop):
		return s.count, false // room calls
	case err != nil:
		t.fail(t.uid(s.op), Origin{}, err.Error())
		return s.count, false
	}
	switch status {
	case operator.More:
		return s.count, true
	case operator.Ended:
		s.ended = true
		t.entry(entryEnded, 0, 0)
		t.endOutputs()
		t.host.InputEnded(t.spec.Subtask)
	}
	return s.count, false
}

// room reports whether another record may be processed. Outputs are only looked at after a batch has left.
func (t *Task) room() bool {
	if t.shipped {
		for _, o := range t.outputs {
			if !o.room() {
				return false
			}
		}
		t.shipped = false
	}
	for _, s := range t.sinks {
		if !s.ready {
			if len(s.over) > 0 || !s.sink.Ready() {
				return false
			}
			s.ready = true
		}
	}
	return true
}

// flush sends what lies in open batches: all of it when there is nothing else to do; while there is, only what an idle
// receiver waits for, and the rest after a while.
func (t *Task) flush(busy bool) {
	left := false
	for _, o := range t.outputs {
		left = o.flush(busy) || left
	}
	if busy && left && !t.flushing {
		t.flushing = true
		t.loop.After(t.spec.Options.Flush, func() {
			t.flushing = false
			if t.phase == running {
				t.flush(false)
			}
		})
	}
}

func (t *Task) endOutputs() {
	for _, o := range t.outputs {
		o.end()
	}
}

// drainSinks writes what sinks had no room for; false while something is left.
func (t *Task) drainSinks() bool {
	for _, s := range t.sinks {
		if !s.drain() {
			return false
		}
	}
	return t.phase == running
}
