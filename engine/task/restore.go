package task

import (
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/state"
	"github.com/onefold/onefold/engine/token"
)

// restoreTries is how often an object is asked for before the task fails.
const restoreTries = 8

// part is one object of one operator that has to be loaded.
type part struct {
	op     int
	handle checkpoint.Handle
}

// restore loads the keyed state of the chain's operators out of all objects that may hold a key group of this subtask, one
// after the other, then opens the ends.
func (t *Task) restore() {
	var parts []part
	for _, op := range t.spec.Plan.Vertices[t.spec.Subtask.Vertex].Operators {
		if t.chain.State[op] == nil {
			continue
		}
		for _, old := range t.spec.Restored {
			for _, o := range old.Operators {
				if o.Operator == t.uid(op) {
					for _, h := range o.Keyed {
						parts = append(parts, part{op, h})
					}
				}
			}
		}
	}
	t.loadNext(parts)
}

func (t *Task) loadNext(parts []part) {
	if len(parts) == 0 {
		t.open()
		return
	}
	t.fetch(parts[0].handle.Key, 1, func(object []byte) {
		if err := t.load(parts[0], object); err != nil {
			t.fail(t.uid(parts[0].op), Origin{}, fmt.Sprintf("restore from %s: %v", parts[0].handle.Key, err))
			return
		}
		t.loadNext(parts[1:])
	})
}

func (t *Task) fetch(key blob.Key, try int, done func([]byte)) {
	t.store.Get(key, func(object []byte, err error) {
		switch {
		case t.phase != starting:
		case err == nil:
			done(object)
		case errors.Is(err, blob.ErrNotFound) || try >= restoreTries:
			t.fail("", Origin{}, fmt.Sprintf("restore from %s: %v", key, err))
		default:
			t.loop.After(backoff(try), func() {
				if t.phase == starting {
					t.fetch(key, try+1, done)
				}
			})
		}
	})
}

func (t *Task) load(p part, object []byte) (err error) {
	if int64(len(object)) != p.handle.Bytes || state.CRC(object) != p.handle.CRC {
		return fmt.Errorf("%w: it is not the object that was acked", state.ErrCorrupt)
	}
	defer t.recoverUser()
	t.chain.At = p.op // decoding is user code
	err = state.Decode(object, t.chain.KeyGroups, t.groups(), t.chain.State[p.op].Load)
	t.chain.At = graph.Engine
	return err
}

// open opens sinks, then the source; the task runs when all have answered.
func (t *Task) open() {
	if t.phase != starting {
		return
	}
	missing := len(t.sinks)
	if missing == 0 {
		t.openSource()
		return
	}
	for _, s := range t.sinks {
		uid := t.uid(s.op)
		s.opened = true
		s.sink.Open(t.context(uid), t.carried(uid), func(err error) {
			if err != nil {
				t.fail(uid, Origin{}, fmt.Sprintf("open: %v", err))
				return
			}
			if missing--; missing == 0 && t.phase == starting {
				t.openSource()
			}
		})
	}
}

func (t *Task) carried(uid id.Operator) []token.Token {
	var tokens []token.Token
	for _, k := range t.spec.Carried {
		if k.Sink == uid {
			tokens = append(tokens, k)
		}
	}
	return tokens
}

func (t *Task) openSource() {
	if t.gate != nil {
		t.run()
		return
	}
	t.source = newSource(t, t.spec.Plan.Vertices[t.spec.Subtask.Vertex].Operators[0])
	uid := t.uid(t.source.op)
	t.source.src.Open(t.context(uid), t.spec.Splits, func(err error) {
		if err != nil {
			t.fail(uid, Origin{}, fmt.Sprintf("open: %v", err))
			return
		}
		if t.phase == starting {
			t.run()
		}
	})
}

func (t *Task) run() {
	t.phase = running
	t.entry(entryRunning, uint64(t.spec.Generation), 0)
	t.host.Running(t.spec.Subtask)
	if t.gate != nil {
		t.gate.bind()
	}
	t.schedule()
}
