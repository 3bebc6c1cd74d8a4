package scenarios

import (
	"encoding/binary"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/sim"
)

// logRecorder watches calls to the job log's objects: a history for the linearizable model, and the entries as claims.
type logRecorder struct {
	w       *World
	clients int
	ops     []checker.LogOperation
	below   map[id.Generation]int // entries below the floor that their writer was told of
	next    id.Position           // of the first entry that was not read yet
	newest  id.Position           // that somebody tried to write
}

func (r *logRecorder) attach(w *World) {
	r.w = w
	inner := w.Sim.BlobPort
	w.Sim.BlobPort = func(n *sim.Node, l env.Loop) blob.Store {
		r.clients++
		return &watchedStore{Store: inner(n, l), r: r, client: r.clients}
	}
}

// watchedStore is a store whose calls on the job log are recorded.
type watchedStore struct {
	blob.Store
	r      *logRecorder
	client int
}

const never = 1 << 62

func (r *logRecorder) call(client int, kind checker.LogKind, k blob.Key) *checker.LogOperation {
	p, ok := joblog.ParseKey(k)
	if !ok {
		return nil
	}
	r.ops = append(r.ops, checker.LogOperation{
		Client: client, Call: int64(r.w.Sim.Now()), Return: never, Kind: kind,
		Position: uint64(p), Result: checker.LogUnknown,
	})
	return &r.ops[len(r.ops)-1]
}

// finish notes the answer to call number i.
func (r *logRecorder) finish(i int, nonce uint64, result checker.LogResult) {
	r.ops[i].Return, r.ops[i].Result = int64(r.w.Sim.Now()), result
	if nonce != 0 {
		r.ops[i].Nonce = nonce
	}
}

// nonceOf tells entries apart: their checksum, since one writer writes many entries under one nonce.
func nonceOf(object []byte) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(len(object))
	for ; len(object) >= 8; object = object[8:] {
		h = (h ^ binary.LittleEndian.Uint64(object)) * prime
		h ^= h >> 29
	}
	for _, b := range object {
		h = (h ^ uint64(b)) * prime
		h ^= h >> 29
	}
	return h | 1
}

func (s *watchedStore) Create(k blob.Key, b []byte, done func(error)) {
	op := s.r.call(s.client, checker.LogCreate, k)
	if op == nil {
		s.Store.Create(k, b, done)
		return
	}
	op.Nonce = nonceOf(b)
	s.r.newest = max(s.r.newest, id.Position(op.Position))
	i := len(s.r.ops) - 1
	s.Store.Create(k, b, func(err error) {
		switch {
		case err == nil:
			s.r.finish(i, 0, checker.LogDone)
			p, _ := joblog.ParseKey(k)
			s.r.w.sleeper(p, b)
		case isExists(err):
			s.r.finish(i, 0, checker.LogExists)
		}
		done(err)
	})
}

func (s *watchedStore) Get(k blob.Key, done func([]byte, error)) {
	op := s.r.call(s.client, checker.LogRead, k)
	if op == nil {
		s.Store.Get(k, done)
		return
	}
	i := len(s.r.ops) - 1
	s.Store.Get(k, func(b []byte, err error) {
		switch {
		case err == nil:
			s.r.finish(i, nonceOf(b), checker.LogDone)
		case isNotFound(err):
			s.r.finish(i, 0, checker.LogMissing)
		}
		done(b, err)
	})
}

// Delete takes away an entry of a short log, or a checkpoint's manifest: both are read before that.
func (s *watchedStore) Delete(k blob.Key, done func(error)) {
	if s.r.newest >= s.r.next {
		s.r.w.readLog()
	}
	op := s.r.call(s.client, checker.LogDelete, k)
	if op == nil {
		s.Store.Delete(k, done)
		return
	}
	i := len(s.r.ops) - 1
	s.Store.Delete(k, func(err error) {
		if err == nil {
			s.r.finish(i, 0, checker.LogDone)
		}
		done(err)
	})
}
