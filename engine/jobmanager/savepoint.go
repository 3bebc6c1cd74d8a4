package jobmanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
)

// Sealed is a savepoint as its seal says it: a checkpoint that is confirmed and owned by the user. It exists only after
// its Savepoint entry is in the job log.
type Sealed struct {
	Job   id.Job               `json:"job"`
	Graph string               `json:"graph"`
	Ref   joblog.CheckpointRef `json:"ref"`
}

// SealKey is where the seal of a savepoint lives.
func SealKey(n id.Checkpoint) blob.Key { return blob.Key(fmt.Sprintf("savepoints/%016d", uint64(n))) }

func (r *generation) sealOf(ref joblog.CheckpointRef) []byte {
	document, err := json.Marshal(Sealed{Job: r.state.Job, Graph: shape(r.cfg.Job), Ref: ref})
	if err != nil {
		panic(err) // plain data always encodes
	}
	return joblog.Seal(document)
}

// reseal makes up for a generation that died between the Savepoint entry and the seal: the log says that the newest
// savepoint is the user's, so it must be possible to name it.
func (r *generation) reseal() {
	if k := len(r.state.Savepoints); k > 0 {
		ref := r.state.Savepoints[k-1]
		r.create(SealKey(ref.Checkpoint), r.sealOf(ref), 0, func() {})
	}
}

func (r *generation) seal(ref joblog.CheckpointRef) {
	k := SealKey(ref.Checkpoint)
	r.create(k, r.sealOf(ref), 0, func() {
		r.event(Event{Kind: SavepointSealed, Checkpoint: ref.Checkpoint, Key: k})
		r.tell(func(j *JobManager) { j.sealed(ref.Checkpoint, k) })
		r.step(checkpoint.Sealed{Checkpoint: ref.Checkpoint})
	})
}

// ReadSealed is the content of a seal's object.
func ReadSealed(k blob.Key, object []byte) (Sealed, error) {
	var s Sealed
	document, err := joblog.Unseal(k, object)
	if err != nil {
		return s, err
	}
	d := json.NewDecoder(bytes.NewReader(document))
	if err := d.Decode(&s); err != nil || s.Ref.Checkpoint == 0 {
		return s, fmt.Errorf("%s: %w: it is not the seal of a savepoint", k, joblog.ErrCorrupt)
	}
	return s, nil
}

// readSeal restores the user's savepoint. The tokens of the newest completed checkpoint are decided already, whatever is
// restored.
func (r *generation) readSeal(k blob.Key) {
	r.get(k, 0, func(object []byte, err error) {
		if errors.Is(err, blob.ErrNotFound) {
			r.halt(fmt.Errorf("there is no savepoint %s", k))
			return
		}
		s, err := ReadSealed(k, object)
		switch {
		case err != nil:
			r.halt(err)
		case s.Job != r.state.Job:
			r.halt(fmt.Errorf("savepoint %s belongs to job %s, the job log to %s", k, s.Job, r.state.Job))
		default:
			r.rewind(s)
		}
	})
}

func (r *generation) rewind(s Sealed) {
	n := s.Ref.Checkpoint
	c := r.state.Completed
	switch {
	case r.state.Rewound == n || c != nil && c.Checkpoint == n:
		// It was restored before, or is what would be restored anyway.
		r.first = false
		from := id.Checkpoint(0)
		if c != nil {
			from = c.Checkpoint
		}
		r.choose(from)
	case n < r.state.Confirmed && !r.cfg.Rewind:
		r.halt(fmt.Errorf("savepoint %d is older than confirmed checkpoint %d: restoring it repeats visible output, which needs --rewind", n, r.state.Confirmed))
	default:
		r.append(joblog.Entry{Kind: joblog.Rewound, Checkpoint: n, Ref: &s.Ref}, func() {
			r.first = false
			r.load(s.Ref)
		})
	}
}
