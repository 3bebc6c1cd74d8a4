package scenarios

import (
	"slices"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim/simbroker"
)

const readEvery = time.Second

// reader is the judge's eye: it follows the logs of all topics, learns each record's outcome from the control records that
// follow it, and keeps what a read_committed reader sees at each moment it looks.
type reader struct {
	partitions []*followed
	id         int16
	scratch    []simbroker.Logged
	cuts       int // of the cluster's truncations that were seen
}

// followed is one partition under observation.
type followed struct {
	topic     int16
	name      string
	partition int32
	output    bool
	scanned   int64 // next offset to look at
	shown     int   // index into records: all before were shown to the reader, or are not for it
	records   []int // indexes into History.Records, by offset
	undecided []int // indexes into History.Records of open transactions

	ends   []int64     // high watermark at each look, for retention
	stable int64       // last stable offset when it last moved, or nothing was open
	moved  env.Instant // when that was
}

// follow starts the reader.
func (w *World) follow() {
	w.reader.id = w.History.AddReader("read_committed", true)
	w.History.Records = make([]checker.Record, 0, w.Shape.Records*(1+len(w.Job.Outputs))*9/8)
	w.History.Reads = make([]checker.Read, 0, w.Shape.Records*len(w.Job.Outputs)*9/8)
	for i, t := range w.History.Topics {
		for p := range t.Partitions {
			w.reader.partitions = append(w.reader.partitions, &followed{
				topic: int16(i), name: t.Name, partition: p, output: t.Role == checker.Output,
				scanned: w.Cluster.Bounds(t.Name, p).Start,
			})
		}
	}
	w.Sim.At(env.Instant(readEvery), w.lookAgain)
}

func (w *World) lookAgain() {
	w.look()
	w.Sim.At(w.Sim.Now().Add(readEvery), w.lookAgain)
}

// look reads what is new in every partition.
func (w *World) look() {
	w.cut()
	for _, f := range w.reader.partitions {
		seen := w.Cluster.AppendScan(w.reader.scratch[:0], f.name, f.partition, f.scanned)
		for i := range seen {
			w.scan(f, &seen[i])
			f.scanned = seen[i].Offset + 1
		}
		w.reader.scratch = seen
		if f.output {
			w.show(f)
			w.pinned(f)
			w.expire(f)
		}
	}
	w.readLog()
}

// cut takes back what an unclean election has taken away: those records will never be visible again, and others come in
// their place.
func (w *World) cut() {
	all := w.Cluster.Truncations()
	for _, c := range all[w.reader.cuts:] {
		for _, f := range w.reader.partitions {
			if f.name == c.Topic && f.partition == c.Partition {
				w.cutFrom(f, c.From)
			}
		}
	}
	w.reader.cuts = len(all)
}

func (w *World) cutFrom(f *followed, offset int64) {
	h := w.History
	gone := func(i int) bool { return h.Records[i].Offset >= offset }
	for len(f.records) > 0 && gone(f.records[len(f.records)-1]) {
		h.Records[f.records[len(f.records)-1]].Outcome = checker.Aborted
		f.records = f.records[:len(f.records)-1]
	}
	f.undecided = slices.DeleteFunc(f.undecided, gone)
	f.scanned, f.shown = min(f.scanned, offset), min(f.shown, len(f.records))
}

// expire deletes what is older than the output's retention, whatever became of its transaction, as Kafka does.
func (w *World) expire(f *followed) {
	if w.Shape.Retention == 0 {
		return
	}
	f.ends = append(f.ends, w.Cluster.Bounds(f.name, f.partition).High)
	if n := len(f.ends) - 1 - int(w.Shape.Retention/readEvery); n >= 0 {
		w.deleteBelow(f, f.ends[n])
	}
}

// deleteBelow deletes records, right after the judge has seen them. Those of a transaction that is still open are never visible,
// whatever its end will be.
func (w *World) deleteBelow(f *followed, offset int64) {
	w.Cluster.DeleteRecords(f.name, f.partition, offset)
	open := f.undecided[:0]
	for _, i := range f.undecided {
		if w.History.Records[i].Offset < offset {
			w.History.Records[i].Outcome = checker.Aborted
			continue
		}
		open = append(open, i)
	}
	f.undecided = open
}

// pinned measures how long a last stable offset stands still below the end of its partition, once the world has healed.
func (w *World) pinned(f *followed) {
	b, now := w.Cluster.Bounds(f.name, f.partition), w.Sim.Now()
	if b.Stable > f.stable || b.Stable == b.High || !w.healed {
		f.stable, f.moved = b.Stable, now
		return
	}
	w.History.Run.LongestUnstable = max(w.History.Run.LongestUnstable, int64(now.Sub(f.moved)))
}

// scan puts one record of a log into the history.
func (w *World) scan(f *followed, r *simbroker.Logged) {
	h := w.History
	if r.Control {
		h.Controls = append(h.Controls, checker.Control{
			Topic: f.topic, Partition: f.partition, Offset: r.Offset,
			ProducerID: r.ProducerID, ProducerEpoch: r.Epoch, Commit: r.Commit,
		})
		open := f.undecided[:0]
		for _, i := range f.undecided {
			if h.Records[i].ProducerID != r.ProducerID {
				open = append(open, i)
				continue
			}
			h.Records[i].Outcome = checker.Aborted
			if r.Commit {
				h.Records[i].Outcome = checker.Committed
			}
		}
		f.undecided = open
		return
	}
	i := len(h.Records)
	h.Records = append(h.Records, checker.Record{
		Topic: f.topic, Partition: f.partition, Offset: r.Offset, Outcome: checker.Plain,
		ProducerID: r.ProducerID, ProducerEpoch: r.Epoch, Event: h.Decode(w.Oracle, f.topic, r.Record.Key, r.Record.Value),
	})
	if r.Txn {
		h.Records[i].Outcome = checker.Open
		f.undecided = append(f.undecided, i)
	}
	f.records = append(f.records, i)
}

// show lets the reader see what has become stable. A reader of an engine that is configured to read uncommitted sees all.
func (w *World) show(f *followed) {
	h, stable := w.History, w.Cluster.Bounds(f.name, f.partition).Stable
	if w.Engine.Uncommitted {
		stable = w.Cluster.Bounds(f.name, f.partition).High
	}
	for f.shown < len(f.records) {
		r := &h.Records[f.records[f.shown]]
		if r.Offset >= stable {
			return
		}
		f.shown++
		if r.Outcome == checker.Plain || r.Outcome == checker.Committed || w.Engine.Uncommitted {
			h.Reads = append(h.Reads, checker.Read{
				Reader: w.reader.id, Topic: f.topic, Partition: f.partition, Offset: r.Offset,
				At: int64(w.Sim.Now()), Event: r.Event,
			})
		}
	}
}

// truth puts what the broker knows at the end into the history.
func (w *World) truth() {
	h := w.History
	for _, f := range w.reader.partitions {
		b := w.Cluster.Bounds(f.name, f.partition)
		h.Partitions = append(h.Partitions, checker.Partition{Topic: f.topic, Partition: f.partition, Start: b.Start, Stable: b.Stable, High: b.High})
	}
	for _, o := range w.Cluster.OpenTransactions() {
		if t := h.TopicIndex(o.Topic); t >= 0 {
			owner := ""
			if h.Run.Refused != "" && h.Topics[t].Role == checker.Input {
				owner = "the generator" // which was stopped in the middle, since nobody reads what it writes
			}
			h.Transactions = append(h.Transactions, checker.OpenTransaction{
				Topic: t, Partition: o.Partition, ProducerID: o.ProducerID,
				ProducerEpoch: o.Epoch, First: o.First, Owner: owner,
			})
		}
	}
}
