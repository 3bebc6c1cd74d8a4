package jobmanager

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
)

const checkpointPrefix blob.Key = "checkpoints/"

// release lets checkpoints go one after the other: Released in the log first, so that only the owner of the job deletes;
// then every object that no retained checkpoint and no savepoint needs, up to that number. That includes what expired
// checkpoints and older generations left.
func (r *generation) release() {
	if r.busy || len(r.releasing) == 0 {
		return
	}
	r.busy = true
	n := r.releasing[0]
	r.releasing = r.releasing[1:]
	r.append(joblog.Entry{Kind: joblog.Released, Checkpoint: n}, func() {
		s := r.state
		r.list(0, func(keys []blob.Key) {
			r.delete(garbage(keys, n, s), 0, func() {
				r.busy = false
				r.release()
			})
		})
	})
}

func (r *generation) list(try int, done func([]blob.Key)) {
	r.store.List(checkpointPrefix, func(keys []blob.Key, err error) {
		if err != nil {
			r.loop.After(retryWait(try), func() { r.list(try+1, done) })
			return
		}
		done(keys)
	})
}

func (r *generation) delete(keys []blob.Key, try int, done func()) {
	if len(keys) == 0 {
		done()
		return
	}
	r.store.Delete(keys[0], func(err error) {
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			r.loop.After(retryWait(try), func() { r.delete(keys, try+1, done) })
			return
		}
		r.delete(keys[1:], 0, done)
	})
}

// garbage is the objects of checkpoints numbered up to n that are neither retained nor savepoints.
func garbage(keys []blob.Key, n id.Checkpoint, s joblog.State) []blob.Key {
	kept := slices.Concat(s.Retained, s.Savepoints)
	if s.Completed != nil {
		kept = append(kept, *s.Completed)
	}
	var out []blob.Key
	for _, k := range keys {
		g, c, ok := checkpointOf(k)
		if !ok || c > n {
			continue
		}
		if !slices.ContainsFunc(kept, func(r joblog.CheckpointRef) bool { return r.Checkpoint == c && r.Generation == g }) {
			out = append(out, k)
		}
	}
	return out
}

// checkpointOf is the checkpoint whose object has a key: checkpoints/gGENERATION/CHECKPOINT/name.
func checkpointOf(k blob.Key) (g id.Generation, c id.Checkpoint, ok bool) {
	rest, isCheckpoint := strings.CutPrefix(string(k), string(checkpointPrefix)+"g")
	generation, rest, hasGeneration := strings.Cut(rest, "/")
	checkpoint, _, hasCheckpoint := strings.Cut(rest, "/")
	if !isCheckpoint || !hasGeneration || !hasCheckpoint {
		return 0, 0, false
	}
	x, errX := strconv.ParseUint(generation, 10, 64)
	y, errY := strconv.ParseUint(checkpoint, 10, 64)
	return id.Generation(x), id.Checkpoint(y), errX == nil && errY == nil
}
