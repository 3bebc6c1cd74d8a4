// Package simblob is the durable store of a simulated world: one linearizable store for all nodes, with latency and faults.
//
// An operation travels to the store, takes effect there in one instant, and its answer travels back. A fault may let it fail
// before its effect, after its effect, or take its time; the caller cannot tell the first two apart. A process that is
// paused in mid-callback asks the store when it wakes up, and the operations of one that died, if they had left, take
// effect after its death.
package simblob

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim"
)

// ErrUnavailable is what a struck operation fails with. It is not definite: the operation may have had its effect.
var ErrUnavailable = errors.New("blob store unavailable")

// What the store draws about, each by loop and number of the operation.
const (
	kindThere env.Kind = env.KindBlob + iota
	kindBack
	kindStruck
)

// Store is the store of one world. It survives all crashes.
type Store struct {
	w       *sim.World
	objects []object // sorted by key
	faults  []*sim.BlobFault
	waiting []int // operations under way, by node index
}

type object struct {
	key  blob.Key
	data []byte
}

// New puts a store on a world: processes get their blob ports from it.
func New(w *sim.World) *Store {
	s := &Store{w: w}
	w.BlobPort = func(n *sim.Node, l env.Loop) blob.Store { return &client{s: s, n: n, l: l.(*sim.Loop)} }
	w.Blobs = s
	w.ReportInFlight(func(node string) bool {
		n := w.Node(node)
		return n != nil && n.Index() < len(s.waiting) && s.waiting[n.Index()] > 0
	})
	return s
}

func (s *Store) find(k blob.Key) (int, bool) {
	return slices.BinarySearchFunc(s.objects, k, func(o object, k blob.Key) int { return strings.Compare(string(o.key), string(k)) })
}

// Peek returns an object at once, for tests and for what judges a run.
func (s *Store) Peek(k blob.Key) ([]byte, bool) {
	if i, ok := s.find(k); ok {
		return s.objects[i].data, true
	}
	return nil, false
}

// Keys returns the keys with a prefix at once, in ascending order.
func (s *Store) Keys(prefix blob.Key) []blob.Key {
	from, _ := s.find(prefix)
	to := from
	for to < len(s.objects) && strings.HasPrefix(string(s.objects[to].key), string(prefix)) {
		to++
	}
	if from == to {
		return nil
	}
	keys := make([]blob.Key, to-from)
	for i := range keys {
		keys[i] = s.objects[from+i].key
	}
	return keys
}

// Put stores an object at once, also over another one. It is for planting damage.
func (s *Store) Put(k blob.Key, b []byte) {
	if i, ok := s.find(k); ok {
		s.objects[i].data = b
		return
	}
	s.insert(k, b)
}

func (s *Store) insert(k blob.Key, b []byte) {
	i, _ := s.find(k)
	s.objects = slices.Insert(s.objects, i, object{k, b})
}

// Remove deletes an object at once. It is for planting damage.
func (s *Store) Remove(k blob.Key) {
	if i, ok := s.find(k); ok {
		s.objects = slices.Delete(s.objects, i, i+1)
	}
}

// FaultBlob implements sim.BlobFaults.
func (s *Store) FaultBlob(f sim.BlobFault) {
	if f.Count == 0 {
		f.Count = -1
	}
	s.faults = append(s.faults, &f)
}

// CalmBlob implements sim.BlobFaults.
func (s *Store) CalmBlob(node string) {
	s.faults = slices.DeleteFunc(s.faults, func(f *sim.BlobFault) bool { return node == "" || f.Node == node })
}

// struck says what goes wrong with an operation: the oldest fault that matches strikes, and slowness adds to it.
func (s *Store) struck(n *sim.Node, loop, number uint64) (fail sim.BlobEffect, failed bool, slow time.Duration) {
	for _, f := range s.faults {
		if f.Count == 0 || f.Node != "" && f.Node != n.Name() || failed && f.Effect != sim.BlobSlow {
			continue
		}
		if f.OneIn > 1 && !sim.OneIn(s.w.Draw(kindStruck, loop, number, 0), f.OneIn) {
			continue
		}
		f.Count--
		if f.Hit != nil {
			f.Hit()
		}
		if f.Effect == sim.BlobSlow {
			slow += f.Delay
			continue
		}
		fail, failed = f.Effect, true
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *sim.BlobFault) bool { return f.Count == 0 })
	return fail, failed, slow
}

func (s *Store) wait(n *sim.Node, d int) {
	for len(s.waiting) <= n.Index() {
		s.waiting = append(s.waiting, 0)
	}
	s.waiting[n.Index()] += d
}
