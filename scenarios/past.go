package scenarios

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/sim/simbroker"
)

// past runs the part of a job's life that lies before this world: from a checkpoint with empty state at the first offsets,
// through one interval of the stream, to the confirmation of the checkpoint that this world is preloaded with. Everything
// is then as the engine wrote it: job log, manifest, keyed state, and the output of that interval. Earlier records are gone
// from the topics, as retention would have it, so nothing that can be compared is missing.
func (w *World) past() (*World, error) {
	p := w.Plan.Clone()
	p.Faults, p.Engine = nil, ""
	past, err := newWorld(p, Options{Fast: true, past: true})
	if err != nil {
		return nil, err
	}
	defer past.Sim.Close()
	perSecond := int64(0)
	for _, r := range w.Shape.Rates {
		perSecond += r
	}
	past.Shape.Records = int(perSecond * int64(len(past.Job.Inputs)) * int64(w.Shape.Interval/time.Second))
	past.begin(id.Checkpoint(w.Shape.Preloaded - 1))
	past.generate()
	limit := past.Sim.Now().Add(2*w.Shape.Interval + time.Minute)
	for {
		past.Sim.RunFor(50 * time.Millisecond)
		s, ok := past.newest()
		switch {
		case past.Sim.Failure() != nil:
			return nil, fmt.Errorf("the past of the job: %w", past.Sim.Failure())
		case past.Sim.Now() > limit:
			return nil, fmt.Errorf("the past of the job did not reach checkpoint %d", w.Shape.Preloaded)
		case ok && s.Confirmed == id.Checkpoint(w.Shape.Preloaded):
			return past, nil
		}
	}
}

// end is when a past ends on the wall clock; the default for a job without one.
func (w *World) end() time.Time {
	if w == nil {
		return time.Time{}
	}
	return w.Sim.Wall().Truncate(time.Second).Add(time.Second)
}

// begin writes the job log of a job that has confirmed checkpoint n at the first offsets and holds no state.
func (w *World) begin(n id.Checkpoint) {
	plan, err := w.Graph.Plan(w.parallelism())
	if err != nil {
		panic(err) // the catalogue's jobs have plans
	}
	log := logWriter{w: w}
	log.append(joblog.Entry{Kind: joblog.Created, Job: id.Job(w.Graph.Name + "-past"), Graph: jobmanager.Shape(w.Graph)})
	log.append(joblog.Entry{Kind: joblog.Claimed})
	if n > 0 {
		log.append(joblog.Entry{Kind: joblog.Completed, Ref: w.emptyCheckpoint(plan, log.state, n)})
		log.append(joblog.Entry{Kind: joblog.Confirmed, Checkpoint: n})
	}
}

// emptyCheckpoint stores the manifest of a checkpoint that holds nothing but positions.
func (w *World) emptyCheckpoint(plan *graph.Plan, s joblog.State, n id.Checkpoint) *joblog.CheckpointRef {
	m := checkpoint.Manifest{Job: s.Job, Checkpoint: n, Generation: s.Generation, Graph: s.Graph, Parallelism: plan.Parallelism()}
	input := 0
	for op, o := range w.Graph.Operators {
		if o.Kind != graph.Source {
			continue
		}
		state := checkpoint.OperatorState{Operator: o.UID}
		for p, first := range w.Shape.Offsets {
			state.Positions = append(state.Positions, checkpoint.Position{Topic: w.Job.Inputs[input], Partition: int32(p), Position: first, Stop: -1})
		}
		m.Subtasks = append(m.Subtasks, checkpoint.SubtaskState{Vertex: plan.VertexOf(op), Operators: []checkpoint.OperatorState{state}})
		input++
	}
	document, err := json.Marshal(m)
	if err != nil {
		panic(err) // plain data always encodes
	}
	object, k := joblog.Seal(document), jobmanager.ManifestKey(m.Generation, n)
	w.Store.Put(k, object)
	return &joblog.CheckpointRef{Checkpoint: n, Generation: m.Generation, Manifest: k, CRC: crc32.Checksum(object, crc32.MakeTable(crc32.Castagnoli))}
}

// logWriter writes a job log from outside, with the engine's own fold and encoding.
type logWriter struct {
	w     *World
	next  id.Position
	state joblog.State
}

func (l *logWriter) append(e joblog.Entry) {
	e.Position, e.Generation, e.Nonce = l.next, l.state.Generation, uint64(l.next)+1
	if e.Kind == joblog.Claimed {
		e.Generation = id.Generation(l.next)
	}
	s, err := l.state.Fold(e)
	if err != nil {
		panic(err) // begin writes what can follow
	}
	e.State, l.state = s, s
	l.w.Store.Put(joblog.Key(l.next), joblog.Encode(e))
	l.next++
}

// inherit takes over what a past left: the blob store, the records in the topics, and where the stream stands.
func (w *World) inherit(past *World) {
	for _, k := range past.Store.Keys("") {
		object, _ := past.Store.Peek(k)
		w.Store.Put(k, object)
		if p, ok := joblog.ParseKey(k); ok {
			w.log.ops = append(w.log.ops, checker.LogOperation{
				Client: w.log.clients, Return: 0, Kind: checker.LogCreate, Position: uint64(p),
				Nonce: nonceOf(object), Result: checker.LogDone,
			})
			w.inherited = p + 1
			w.log.clients++
		}
	}
	for _, topics := range [][]string{w.Job.Inputs, w.Job.Outputs} {
		for _, topic := range topics {
			for p := range w.Shape.Partitions {
				w.copyRecords(past, topic, int32(p))
			}
		}
	}
	w.generated.cursors = append([]uint64(nil), past.generated.cursors...)
}

// copyRecords copies what a reader could see. The transactions of the past are over.
func (w *World) copyRecords(past *World, topic string, p int32) {
	var records []simbroker.Record
	for _, r := range past.Cluster.ReadCommitted(topic, p) {
		records = append(records, r.Record)
	}
	if len(records) > 0 {
		w.Cluster.Append(topic, p, records)
	}
}

// guarantee is the job's; the past of a contrast is sound, so that all damage is the contrast's own.
func (o Options) guarantee(s Scenario) operator.Guarantee {
	if o.past {
		return operator.ExactlyOnce
	}
	return s.Guarantee
}
