package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/scenarios/claim"
)

// jobLog is a job's log as it lies under a state directory, read without the engine's help. What it says are claims: they
// can only convict.
type jobLog struct {
	dir     string
	entries []joblog.Entry
}

// readJobLog reads the log; an absent one is empty.
func readJobLog(state string) (*jobLog, error) {
	l := &jobLog{dir: run.JobDirectory(state)}
	files, err := os.ReadDir(filepath.Join(l.dir, string(joblog.Prefix)))
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range files { // by name, which is by position
		p, ok := joblog.ParseKey(joblog.Prefix + blob.Key(f.Name()))
		if !ok {
			continue
		}
		b, err := os.ReadFile(filepath.Join(l.dir, string(joblog.Prefix), f.Name()))
		if err != nil {
			return nil, err
		}
		e, err := joblog.Decode(p, b)
		if err != nil {
			return nil, fmt.Errorf("job log in %s: %w", l.dir, err)
		}
		l.entries = append(l.entries, e)
	}
	return l, nil
}

// of tells a log that is not there, or of another job, before it is held against topics that it says nothing of.
func (l *jobLog) of(job, state string) error {
	switch owner := string(l.state().Job); {
	case len(l.entries) == 0:
		return fmt.Errorf("no job has run with --state %s: there is no log in %s; without --state everything in the input must be visible", state, l.dir)
	case !strings.HasPrefix(owner, job+"-"):
		return fmt.Errorf("--state %s is of job %s, not of %s", state, owner, job)
	}
	return nil
}

// state is the fold up to the newest entry.
func (l *jobLog) state() joblog.State {
	if len(l.entries) == 0 {
		return joblog.State{}
	}
	return l.entries[len(l.entries)-1].State
}

// object is what lies under a key; nil when it has been released.
func (l *jobLog) object(k blob.Key) []byte {
	b, err := os.ReadFile(filepath.Join(l.dir, filepath.FromSlash(string(k))))
	if err != nil {
		return nil
	}
	return b
}

// reached is the position of a checkpoint in each partition of its inputs; nothing when its manifest has been released.
func (l *jobLog) reached(ref *joblog.CheckpointRef) map[string]map[int32]int64 {
	at := map[string]map[int32]int64{}
	for _, p := range claim.Positions(ref.Manifest, l.object(ref.Manifest)) {
		if at[p.Topic] == nil {
			at[p.Topic] = map[int32]int64{}
		}
		at[p.Topic][p.Partition] = p.Position
	}
	return at
}

// claims turns the log into what the checker takes. A real log is truncated while the job runs, and its manifests are released.
func (l *jobLog) claims(h *checker.History) []checker.Claim {
	var all []checker.Claim
	completed := map[uint64][]checker.Position{}
	newest := uint64(0)
	for _, e := range l.entries {
		c, ok := claim.Of(h, e, l.object)
		if !ok {
			continue
		}
		switch c.Kind {
		case checker.CheckpointCompleted:
			completed[c.Checkpoint], newest = c.Positions, c.Checkpoint
		case checker.CheckpointConfirmed:
			if _, known := completed[c.Checkpoint]; !known {
				continue // its Completed was truncated
			}
		case checker.Loss:
			c.Inputs = spans(completed[c.Checkpoint-1], completed[newest])
		}
		all = append(all, c)
	}
	return all
}

// spans are the inputs between two checkpoints.
func spans(from, to []checker.Position) []checker.Span {
	var out []checker.Span
	for _, p := range to {
		s := checker.Span{Topic: p.Topic, Partition: p.Partition, To: p.Offset}
		for _, q := range from {
			if q.Topic == p.Topic && q.Partition == p.Partition {
				s.From = q.Offset
			}
		}
		out = append(out, s)
	}
	return out
}
