// Package blobtest is the conformance suite of blob.Store: create only if absent, whole objects, lists in order, operations
// that may be repeated. The simulator's store and the directory pass the same cases. Each case says what would go wrong with
// the engine if it failed.
package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/onefold/onefold/engine/blob"
)

// World is an implementation under test.
type World interface {
	// Client makes another client of one and the same store, which was empty at first. Clients may be on different loops.
	Client() Client
	// Settle lets time pass until cond holds, and says whether it did within a bound. cond may be called from any
	// goroutine.
	Settle(cond func() bool) bool
}

// Client is a store and the way onto its loop.
type Client struct {
	Post  func(func())
	Store blob.Store
}

// Run runs every case on a new world.
func Run(t *testing.T, newWorld func(t *testing.T) World) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.run(&run{T: t, w: w}, w.Client())
		})
	}
}

type run struct {
	*testing.T
	w World
}

// answer is the outcome of one operation.
type answer struct {
	inside bool // the call has not returned; touched on the client's loop only
	early  bool // done ran inside the call

	mu   sync.Mutex
	done bool
	data []byte
	keys []blob.Key
	err  error
}

func (a *answer) set(data []byte, keys []blob.Key, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.early = a.inside
	a.done, a.data, a.keys, a.err = true, data, keys, err
}

func (a *answer) ready() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// start starts an operation on the client's loop.
func (x *run) start(c Client, ask func(s blob.Store, a *answer)) *answer {
	a := &answer{}
	c.Post(func() {
		a.inside = true
		ask(c.Store, a)
		a.inside = false
	})
	return a
}

func (x *run) wait(a *answer) *answer {
	x.Helper()
	if !x.w.Settle(a.ready) {
		x.Fatal("an operation was never done")
	}
	if a.early {
		x.Fatal("done was called inside the call")
	}
	return a
}

func (x *run) startCreate(c Client, k blob.Key, b []byte) *answer {
	return x.start(c, func(s blob.Store, a *answer) { s.Create(k, b, func(err error) { a.set(nil, nil, err) }) })
}

func (x *run) create(c Client, k blob.Key, b []byte) error {
	x.Helper()
	return x.wait(x.startCreate(c, k, b)).err
}

func (x *run) get(c Client, k blob.Key) ([]byte, error) {
	x.Helper()
	a := x.wait(x.start(c, func(s blob.Store, a *answer) { s.Get(k, func(b []byte, err error) { a.set(b, nil, err) }) }))
	return a.data, a.err
}

func (x *run) list(c Client, prefix blob.Key) []blob.Key {
	x.Helper()
	a := x.wait(x.start(c, func(s blob.Store, a *answer) { s.List(prefix, func(k []blob.Key, err error) { a.set(nil, k, err) }) }))
	if a.err != nil {
		x.Fatalf("list %q: %v", prefix, a.err)
	}
	return a.keys
}

func (x *run) remove(c Client, k blob.Key) error {
	x.Helper()
	return x.wait(x.start(c, func(s blob.Store, a *answer) { s.Delete(k, func(err error) { a.set(nil, nil, err) }) })).err
}

// must is for what cannot fail.
func (x *run) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func (x *run) holds(c Client, k blob.Key, want []byte) {
	x.Helper()
	got, err := x.get(c, k)
	x.must(err)
	if !bytes.Equal(got, want) {
		x.Fatalf("%s holds %d bytes %.40q, not %d bytes %.40q", k, len(got), got, len(want), want)
	}
}

type testCase struct {
	name string
	run  func(*run, Client)
}

var cases = []testCase{
	{"WhatWasCreatedIsThere", func(x *run, c Client) {
		// A checkpoint could not be restored.
		x.must(x.create(c, "a/b/c", []byte("hello")))
		x.holds(c, "a/b/c", []byte("hello"))
		x.holds(x.w.Client(), "a/b/c", []byte("hello"))
	}},
	{"AnObjectIsNeverOverwritten", func(x *run, c Client) {
		// Two JobManagers would both own one position of the job log.
		x.must(x.create(c, "log/1", []byte("first")))
		for _, again := range []string{"second", "first"} {
			if err := x.create(x.w.Client(), "log/1", []byte(again)); !errors.Is(err, blob.ErrExists) {
				x.Fatalf("create again: %v", err)
			}
		}
		x.holds(c, "log/1", []byte("first"))
	}},
	{"ARaceHasOneWinner", func(x *run, c Client) {
		// Two leaders.
		clients := []Client{c, x.w.Client(), x.w.Client()}
		for round := range 20 {
			k := blob.Key(fmt.Sprint("race/", round))
			answers := make([]*answer, len(clients))
			for i, c := range clients {
				answers[i] = x.startCreate(c, k, fmt.Append(nil, "client ", i))
			}
			winner := -1
			for i, a := range answers {
				switch err := x.wait(a).err; {
				case err == nil && winner < 0:
					winner = i
				case err == nil:
					x.Fatalf("round %d: clients %d and %d both won", round, winner, i)
				case !errors.Is(err, blob.ErrExists):
					x.Fatal(err)
				}
			}
			if winner < 0 {
				x.Fatalf("round %d: nobody won", round)
			}
			x.holds(c, k, fmt.Append(nil, "client ", winner))
		}
	}},
	{"WhatIsNotThereIsNotFound", func(x *run, c Client) {
		// Recovery would take an unknown outcome for "no entry".
		x.must(x.create(c, "a/b", []byte("x")))
		for _, k := range []blob.Key{"a/c", "nothing", "a", "a/b/c"} {
			if b, err := x.get(c, k); !errors.Is(err, blob.ErrNotFound) || b != nil {
				x.Fatalf("get %s: %q, %v", k, b, err)
			}
		}
	}},
	{"AnEmptyObjectIsAnObject", func(x *run, c Client) {
		// A seal without content would not seal.
		x.must(x.create(c, "seal", nil))
		x.holds(c, "seal", nil)
		if err := x.create(c, "seal", nil); !errors.Is(err, blob.ErrExists) {
			x.Fatalf("create again: %v", err)
		}
	}},
	{"ALargeObjectIsWhole", func(x *run, c Client) {
		// State would come back torn.
		b := make([]byte, 3<<20)
		for i := range b {
			b[i] = byte(i * 7)
		}
		x.must(x.create(c, "large", b))
		x.holds(c, "large", b)
	}},
	{"ListIsInOrderAndByPrefix", func(x *run, c Client) {
		// The newest entry of the log would not be the last.
		for _, k := range []blob.Key{"log/10", "log/09", "other/1", "log/11", "logs/1", "log/sub/1"} {
			x.must(x.create(c, k, nil))
		}
		for prefix, want := range map[blob.Key][]blob.Key{
			"log/":    {"log/09", "log/10", "log/11", "log/sub/1"},
			"log/1":   {"log/10", "log/11"},
			"log":     {"log/09", "log/10", "log/11", "log/sub/1", "logs/1"},
			"nothing": nil,
			"log/10/": nil,
			"":        {"log/09", "log/10", "log/11", "log/sub/1", "logs/1", "other/1"},
		} {
			if got := x.list(c, prefix); !slices.Equal(got, want) {
				x.Fatalf("list %q: %q, not %q", prefix, got, want)
			}
		}
	}},
	{"DeleteCanBeRepeated", func(x *run, c Client) {
		// A cleaner that lost a reply would be stuck.
		x.must(x.create(c, "dir/a", []byte("x")))
		x.must(x.create(c, "dir/b", []byte("y")))
		x.must(x.remove(c, "dir/a"))
		x.must(x.remove(c, "dir/a"))
		x.must(x.remove(c, "never/there"))
		if _, err := x.get(c, "dir/a"); !errors.Is(err, blob.ErrNotFound) {
			x.Fatalf("get: %v", err)
		}
		x.holds(c, "dir/b", []byte("y"))
		if got := x.list(c, "dir/"); !slices.Equal(got, []blob.Key{"dir/b"}) {
			x.Fatalf("list %q", got)
		}
		x.must(x.create(c, "dir/a", []byte("again")))
		x.holds(c, "dir/a", []byte("again"))
	}},
	{"KeysAreChecked", func(x *run, c Client) {
		// A key could leave the store, or be there under two names.
		for _, k := range []blob.Key{"", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a b", "a\\b", "ü", "a\x00b"} {
			for name, err := range map[string]error{"create": x.create(c, k, nil), "delete": x.remove(c, k), "get": second(x.get(c, k))} {
				if err == nil || errors.Is(err, blob.ErrExists) || errors.Is(err, blob.ErrNotFound) {
					x.Fatalf("%s %q: %v", name, k, err)
				}
			}
		}
		for _, k := range []blob.Key{"A-z.0_9", "a/...", "-", "0000000000000007"} {
			x.must(x.create(c, k, nil))
		}
	}},
	{"WhatWasReadIsTheCallersOwn", func(x *run, c Client) {
		// A decoder that works in place would damage what others read.
		x.must(x.create(c, "a", []byte("hello")))
		b, err := x.get(c, "a")
		x.must(err)
		clear(b)
		x.holds(c, "a", []byte("hello"))
	}},
}

func second(_ []byte, err error) error { return err }
