package checker

import (
	"slices"
	"time"
)

func (j *judge) settles() {
	if !j.h.Run.Settled {
		j.find(Finding{Detail: "the run did not settle within its bound; it waits for " + j.h.Run.Waits})
	}
}

// partitionsStable: at rest nothing is held back from readers.
func (j *judge) partitionsStable() {
	if j.opts.Running {
		return
	}
	f := Finding{}
	for _, p := range j.h.Partitions {
		if p.Stable < p.High && j.h.Topics[p.Topic].Role == Output {
			f.Place = j.h.Topics[p.Topic].Name
			f.evidence("%s: last stable offset %d, high watermark %d", j.where(p.Topic, p.Partition, p.Stable), p.Stable, p.High)
		}
	}
	j.settle(&f, "partitions held back by an open transaction")
}

// transactionsOwned: no open transaction is left that nobody alive will end.
func (j *judge) transactionsOwned() {
	f := Finding{}
	for _, t := range j.h.Transactions {
		if t.Owner == "" {
			f.Place = j.h.Topics[t.Topic].Name
			if x := j.transaction(t.ProducerID, t.ProducerEpoch); x != nil && f.Token == "" {
				f.Token = x.state
			}
			f.evidence("producer %d epoch %d, open from %s", t.ProducerID, t.ProducerEpoch, j.where(t.Topic, t.Partition, t.First))
		}
	}
	j.settle(&f, "open transactions without an owner")
}

func (j *judge) stableOffsetAdvances() {
	if gap := j.h.Run.LongestUnstable; j.opts.MaxUnstable > 0 && gap > j.opts.MaxUnstable {
		f := Finding{}
		f.Detail = "a last stable offset stood still for " + time.Duration(gap).String() + " in a healthy stretch; the bound is " + time.Duration(j.opts.MaxUnstable).String()
		j.find(f)
	}
}

// restartsAdvance: restarts from one checkpoint for one reason, over and over, are a loop.
func (j *judge) restartsAdvance() {
	most := j.opts.MaxRestarts
	if most == 0 {
		most = 8
	}
	n := 0
	var last *Claim
	for i := range j.h.Claims {
		switch c := &j.h.Claims[i]; c.Kind {
		case CheckpointCompleted:
			n, last = 0, nil
		case Restarted:
			if last == nil || last.Checkpoint != c.Checkpoint || last.Reason != c.Reason {
				n = 0
			}
			last = c
			if n++; n == most+1 {
				f := Finding{}
				f.evidence("%d restarts in a row from checkpoint %d: %s", n, c.Checkpoint, c.Reason)
				j.settle(&f, "loops of restarts")
				return
			}
		}
	}
}

func (j *judge) accepted() {
	if j.h.Run.Refused != "" {
		j.find(Finding{Detail: j.h.Run.Refused})
	}
}

func (j *judge) noPanic() {
	if j.h.Run.Panic != "" {
		j.find(Finding{Detail: j.h.Run.Panic})
	}
}

func (j *judge) sameHash() {
	for _, x := range j.h.Run.Hashes {
		if x != j.h.Run.Hashes[0] {
			f := Finding{}
			f.evidence("trace hashes %016x and %016x", j.h.Run.Hashes[0], x)
			j.settle(&f, "runs of one seed that differ")
			return
		}
	}
}

// generationsRise: whoever acts in the job log belongs to its newest generation.
func (j *judge) generationsRise() {
	f := Finding{}
	newest := uint64(0)
	for i := range j.h.Claims {
		c := &j.h.Claims[i]
		switch {
		case c.Generation == 0 && c.Kind != GenerationClaimed:
		case c.Kind == Restarted: // no act in the log: one that slept may see its tasks gone before it learns who has claimed
		case c.Kind == GenerationClaimed:
			if c.Generation <= newest && i > 0 {
				f.evidence("generation %d was claimed after %d", c.Generation, newest)
			}
			newest = max(newest, c.Generation)
		case c.Generation < newest:
			f.evidence("generation %d acts on checkpoint %d after %d was claimed", c.Generation, c.Checkpoint, newest)
		}
	}
	j.settle(&f, "generations that do not rise")
}

// checkpointsRise: numbers never come back.
func (j *judge) checkpointsRise() {
	f := Finding{}
	completed, confirmed := uint64(0), uint64(0)
	for i := range j.h.Claims {
		switch c := &j.h.Claims[i]; c.Kind {
		case CheckpointCompleted:
			if c.Checkpoint <= completed {
				f.evidence("checkpoint %d completed after %d", c.Checkpoint, completed)
			}
			completed = max(completed, c.Checkpoint)
		case CheckpointConfirmed:
			if c.Checkpoint <= confirmed {
				f.evidence("checkpoint %d confirmed after %d", c.Checkpoint, confirmed)
			}
			confirmed = max(confirmed, c.Checkpoint)
		}
	}
	j.settle(&f, "checkpoint numbers that do not rise")
}

// confirmedWasCompleted: a checkpoint is confirmed after it was completed. In a log that was truncated the completion may be
// gone; it is not when that of an older checkpoint is still there.
func (j *judge) confirmedWasCompleted() {
	f := Finding{}
	truncated := slices.ContainsFunc(j.h.JobLog, func(op LogOperation) bool { return op.Kind == LogDelete })
	older := false
	for i := range j.h.Claims {
		c := &j.h.Claims[i]
		older = older || c.Kind == CheckpointCompleted
		if c.Kind != CheckpointConfirmed || truncated && !older {
			continue
		}
		if at, ok := j.claims.completed[c.Checkpoint]; !ok || at > i {
			f.evidence("checkpoint %d was confirmed and had not been completed", c.Checkpoint)
		}
	}
	j.settle(&f, "confirmed checkpoints that were not completed")
}
