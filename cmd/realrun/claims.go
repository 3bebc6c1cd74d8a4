package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/real/run"
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

// positions are those of a completed checkpoint; none when its manifest has been released.
func (l *jobLog) positions(ref *joblog.CheckpointRef) []checkpoint.Position {
	if ref == nil {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(l.dir, filepath.FromSlash(string(ref.Manifest))))
	if err != nil {
		return nil
	}
	document, err := joblog.Unseal(ref.Manifest, b)
	if err != nil {
		return nil
	}
	var m checkpoint.Manifest
	if json.Unmarshal(document, &m) != nil {
		return nil
	}
	var all []checkpoint.Position
	for _, s := range m.Subtasks {
		for _, o := range s.Operators {
			all = append(all, o.Positions...)
		}
	}
	return all
}

// claims turns the log into what the checker takes.
func (l *jobLog) claims(h *checker.History) []checker.Claim {
	var all []checker.Claim
	before := map[id.Checkpoint][]checker.Position{}
	newest := id.Checkpoint(0)
	completed := map[id.Checkpoint]bool{}
	for _, e := range l.entries {
		c := checker.Claim{Generation: uint64(e.Generation), Checkpoint: uint64(e.Checkpoint), Reason: e.Reason}
		switch e.Kind {
		case joblog.Claimed:
			c.Kind = checker.GenerationClaimed
		case joblog.Completed:
			c.Kind, c.Checkpoint = checker.CheckpointCompleted, uint64(e.Ref.Checkpoint)
			c.Positions = toChecker(h, l.positions(e.Ref))
			before[e.Ref.Checkpoint], completed[e.Ref.Checkpoint] = c.Positions, true
			newest = e.Ref.Checkpoint
			for _, t := range e.Tokens {
				c.Transactions = append(c.Transactions, checker.Transaction{Sink: string(t.Sink), Subtask: t.Subtask, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch})
			}
		case joblog.Confirmed:
			if !completed[e.Checkpoint] {
				continue // its Completed was truncated
			}
			c.Kind = checker.CheckpointConfirmed
		case joblog.Abandoned:
			c.Kind = checker.CheckpointAbandoned
		case joblog.Rewound:
			c.Kind = checker.RewoundTo
		case joblog.Lost:
			c.Kind = checker.Loss
			c.Checkpoint = uint64(e.Loss.Checkpoint)
			c.Lost = lostRanges(h, e.Loss)
			c.Inputs = spans(before[e.Loss.Checkpoint-1], before[newest])
		case joblog.Stopped:
			if !e.State.Ended {
				continue
			}
			c.Kind = checker.Ended
		default:
			continue
		}
		all = append(all, c)
	}
	return all
}

func toChecker(h *checker.History, positions []checkpoint.Position) []checker.Position {
	var out []checker.Position
	for _, p := range positions {
		if t := h.TopicIndex(p.Topic); t >= 0 {
			out = append(out, checker.Position{Topic: t, Partition: p.Partition, Offset: p.Position})
		}
	}
	return out
}

func lostRanges(h *checker.History, l *joblog.Loss) []checker.LostRange {
	var out []checker.LostRange
	for _, i := range l.Items {
		out = append(out, checker.LostRange{
			Topic: h.TopicIndex(i.Range.Topic), Partition: i.Range.Partition, First: i.Range.First,
			Last: i.Range.Last, Count: i.Range.Count, ProducerID: i.Token.ProducerID, ProducerEpoch: i.Token.ProducerEpoch,
		})
	}
	return out
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
