package simblob

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/trace"
	"github.com/onefold/onefold/sim"
)

// client is the store as one loop sees it.
type client struct {
	s      *Store
	n      *sim.Node
	l      *sim.Loop
	number uint64 // of the newest operation
}

// Create implements blob.Store.
func (c *client) Create(k blob.Key, b []byte, done func(error)) {
	if err := check(k); err != nil {
		c.l.Post(func() { done(err) })
		return
	}
	var given []byte
	if c.s.w.Checks() {
		given = bytes.Clone(b)
	}
	c.do(opCreate, len(b), func() error {
		invariant.Check(given == nil || bytes.Equal(b, given), "blob %s was changed while it was being created", k)
		if _, there := c.s.find(k); there {
			return fmt.Errorf("%s: %w", k, blob.ErrExists)
		}
		if given == nil {
			given = bytes.Clone(b)
		}
		c.s.insert(k, given)
		return nil
	}, done)
}

// Get implements blob.Store.
func (c *client) Get(k blob.Key, done func([]byte, error)) {
	if err := check(k); err != nil {
		c.l.Post(func() { done(nil, err) })
		return
	}
	var got []byte
	c.do(opGet, 0, func() error {
		i, there := c.s.find(k)
		if !there {
			return fmt.Errorf("%s: %w", k, blob.ErrNotFound)
		}
		got = bytes.Clone(c.s.objects[i].data)
		return nil
	}, func(err error) {
		if err != nil {
			got = nil
		}
		done(got, err)
	})
}

// List implements blob.Store.
func (c *client) List(prefix blob.Key, done func([]blob.Key, error)) {
	var keys []blob.Key
	c.do(opList, 0, func() error {
		keys = c.s.Keys(prefix)
		return nil
	}, func(err error) {
		if err != nil {
			keys = nil
		}
		done(keys, err)
	})
}

// Delete implements blob.Store.
func (c *client) Delete(k blob.Key, done func(error)) {
	if err := check(k); err != nil {
		c.l.Post(func() { done(err) })
		return
	}
	c.do(opDelete, 0, func() error {
		c.s.Remove(k)
		return nil
	}, done)
}

type op uint64

const (
	opCreate op = iota
	opGet
	opList
	opDelete
)

// do sends an operation to the store. It leaves when the process that asks is awake, and from then on happens whether or
// not that process lives.
func (c *client) do(o op, sizeBytes int, effect func() error, done func(error)) {
	c.l.WhenAwake(func() { c.send(o, sizeBytes, effect, done) })
}

func (c *client) send(o op, sizeBytes int, effect func() error, done func(error)) {
	w := c.s.w
	c.number++
	fail, failed, slow := c.s.struck(c.n, c.l.Key(), c.number)
	v := w.Draw(kindThere, c.l.Key(), c.number, 0)
	there := sim.Between(v, 300*time.Microsecond, 4*time.Millisecond) + time.Duration(sizeBytes)*time.Millisecond/bytesPerMilli
	back := sim.Between(w.Draw(kindBack, c.l.Key(), c.number, 0), 100*time.Microsecond, time.Millisecond)
	if v&1 == 0 {
		there += slow
	} else {
		back += slow
	}
	c.s.wait(c.n, 1)
	w.At(w.Now().Add(there), func() {
		err := ErrUnavailable
		if !failed || fail == sim.BlobFailAfter {
			err = effect()
			w.Entry(c.n, entryBlob, uint64(o), outcome(err), c.number, 0)
		}
		if failed {
			err = ErrUnavailable
		}
		w.At(w.Now().Add(back), func() {
			c.s.wait(c.n, -1)
			c.l.Post(func() { done(err) })
		})
	})
}

const bytesPerMilli = 100_000

func outcome(err error) uint64 {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, blob.ErrExists):
		return 1
	}
	return 2
}

// isPart says whether s consists of letters, digits, '.', '_' and '-', at least one.
func isPart(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return s != ""
}

// check refuses a key that no store would take.
func check(k blob.Key) error {
	for p := range strings.SplitSeq(string(k), "/") {
		if !isPart(p) || p == "." || p == ".." {
			return fmt.Errorf("blob %q: %q cannot be part of a key", k, p)
		}
	}
	return nil
}

var entryBlob = trace.NewKind("blob", "op", "outcome", "number", "")
