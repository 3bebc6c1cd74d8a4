package jobmanager

import (
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
	document, err := json.Marshal(Sealed{Job: r.state.Job, Graph: Shape(r.cfg.Job), Ref: ref})
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
	if err := json.Unmarshal(document, &s); err != nil || s.Ref.Checkpoint == 0 {
		return s, fmt.Errorf("%s: %w: it is not the seal of a savepoint", k, joblog.ErrCorrupt)
	}
	return s, nil
}

// readSeal reads the savepoint that the user wants restored, and refuses it before anything is claimed.
func (r *generation) readSeal(k blob.Key, now joblog.State, then func()) {
	r.get(k, 0, func(object []byte, err error) {
		if errors.Is(err, blob.ErrNotFound) {
			r.halt(fmt.Errorf("there is no savepoint %s", k))
			return
		}
		s, err := ReadSealed(k, object)
		if err == nil {
			err = r.refuse(s, now)
		}
		if err != nil {
			r.halt(err)
			return
		}
		r.wanted = s
		then()
	})
}

// refuse says why a savepoint cannot be restored now.
func (r *generation) refuse(s Sealed, now joblog.State) error {
	switch n := s.Ref.Checkpoint; {
	case s.Job != now.Job:
		return fmt.Errorf("savepoint %d belongs to job %s, the job log to %s", n, s.Job, now.Job)
	case !done(s, now) && n < now.Confirmed && !r.cfg.Rewind:
		return fmt.Errorf("savepoint %d is older than confirmed checkpoint %d: restoring it repeats visible output, which needs --rewind", n, now.Confirmed)
	}
	return sameShape(s.Graph, r.cfg.Job)
}

// done reports whether a savepoint was restored before. To restore it once more would repeat output each time the process
// is started again with the same flags.
func done(s Sealed, now joblog.State) bool { return now.Rewound == s.Ref.Checkpoint }

// rewind restores the savepoint that the user wants. The tokens of the newest completed checkpoint are decided already,
// whatever is restored.
func (r *generation) rewind(from id.Checkpoint) {
	s := r.wanted
	r.wanted = Sealed{}
	if done(s, r.state) {
		r.tell(func(j *JobManager) { j.rewound = true })
		r.choose(from)
		return
	}
	if err := r.refuse(s, r.state); err != nil {
		r.halt(err)
		return
	}
	r.append(joblog.Entry{Kind: joblog.Rewound, Checkpoint: s.Ref.Checkpoint, Ref: &s.Ref}, func() {
		r.tell(func(j *JobManager) { j.rewound = true })
		r.load(s.Ref)
	})
}
