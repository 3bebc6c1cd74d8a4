package jobmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sort"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/wire"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// choose finds the checkpoint to restore once all tokens are decided: the newest completed one, or the user's savepoint.
func (r *generation) choose(from id.Checkpoint) {
	if r.wanted.Ref.Checkpoint != 0 {
		r.rewind(from)
		return
	}
	c := r.state.Completed
	switch {
	case from == 0:
		r.discover()
	case c == nil || c.Checkpoint != from:
		r.halt(fmt.Errorf("restore from checkpoint %d, which is not the newest completed one in the job log", from))
	case c.Final && r.state.Confirmed >= c.Checkpoint:
		r.conclude(c.Checkpoint, true)
	default:
		r.load(*c)
	}
}

// load reads the manifest.
func (r *generation) load(ref joblog.CheckpointRef) {
	r.get(ref.Manifest, 0, func(object []byte, err error) {
		if err == nil {
			r.restored, err = readManifest(ref, object)
		}
		if err == nil && r.restored.Job != r.state.Job {
			err = fmt.Errorf("%s: it belongs to job %s, the log to %s", ref.Manifest, r.restored.Job, r.state.Job)
		}
		if err == nil {
			err = sameShape(r.restored.Graph, r.cfg.Job)
		}
		if err != nil {
			r.halt(fmt.Errorf("manifest of completed checkpoint %d: %w: nothing older is safe", ref.Checkpoint, err))
			return
		}
		r.discover()
	})
}

// readManifest checks an object against what the log says about it.
func readManifest(ref joblog.CheckpointRef, object []byte) (checkpoint.Manifest, error) {
	var m checkpoint.Manifest
	if got := crc32.Checksum(object, castagnoli); got != ref.CRC {
		return m, fmt.Errorf("%s: %w: crc %08x, the job log says %08x", ref.Manifest, joblog.ErrCorrupt, got, ref.CRC)
	}
	document, err := joblog.Unseal(ref.Manifest, object)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(document, &m); err != nil {
		return m, fmt.Errorf("%s: %w: %w", ref.Manifest, joblog.ErrCorrupt, err)
	}
	if m.Checkpoint != ref.Checkpoint || m.Generation != ref.Generation {
		return m, fmt.Errorf("%s: %w: it is checkpoint %d of generation %d", ref.Manifest, joblog.ErrCorrupt, m.Checkpoint, m.Generation)
	}
	return m, nil
}

// get reads an object, whatever it takes; only its absence is an error.
func (r *generation) get(k blob.Key, try int, done func([]byte, error)) {
	r.store.Get(k, func(b []byte, err error) {
		switch {
		case errors.Is(err, blob.ErrNotFound):
			done(nil, fmt.Errorf("%s: %w", k, err))
		case err != nil:
			r.loop.After(retryWait(try), func() { r.get(k, try+1, done) })
		default:
			done(b, nil)
		}
	})
}

// create creates an object, whatever it takes. One that exists is taken for ours: keys carry generation and number.
func (r *generation) create(k blob.Key, object []byte, try int, done func()) {
	r.store.Create(k, object, func(err error) {
		if err != nil && !errors.Is(err, blob.ErrExists) {
			r.loop.After(retryWait(try), func() { r.create(k, object, try+1, done) })
			return
		}
		done()
	})
}

func retryWait(try int) time.Duration {
	return backoff(50*time.Millisecond, 2*time.Second, try+1)
}

// discover asks every source for its splits, known ones at the restored positions, one source after the other.
func (r *generation) discover() {
	r.reseal()
	r.event(Event{Kind: Restored, Checkpoint: r.restored.Checkpoint, Positions: positions(r.restored)})
	var sources []int
	for op := range r.cfg.Job.Operators {
		if r.cfg.Job.Operators[op].Kind == graph.Source {
			sources = append(sources, op)
		}
	}
	assigned := assignments(r.subtasks)
	var next func(i int)
	next = func(i int) {
		if i == len(sources) {
			r.deploy(assigned)
			return
		}
		o := &r.cfg.Job.Operators[sources[i]]
		known := knownSplits(r.restored, o.UID)
		if f := r.cfg.Rules.Positions; f != nil {
			known = f(o.UID, known)
		}
		o.Source.Enumerator().Discover(r.loop, r.p, known, func(splits []operator.Split, err error) {
			if err != nil {
				r.undiscovered(o.UID, err)
				return
			}
			v := r.plan.VertexOf(sources[i])
			assign(assigned, v, r.plan.Vertices[v].Parallelism, splits)
			next(i + 1)
		})
	}
	next(0)
}

func (r *generation) undiscovered(source id.Operator, err error) {
	err = fmt.Errorf("splits of source %s: %w", source, err)
	if errors.Is(err, operator.ErrPermanent) {
		r.halt(err)
		return
	}
	r.fail(err.Error())
}

// knownSplits is where a source stood in a checkpoint, sorted.
func knownSplits(m checkpoint.Manifest, source id.Operator) []operator.Split {
	var known []operator.Split
	for _, s := range m.Subtasks {
		for _, o := range s.Operators {
			if o.Operator != source {
				continue
			}
			for _, p := range o.Positions {
				known = append(known, operator.Split(p))
			}
		}
	}
	sortSplits(known)
	return known
}

func sortSplits(s []operator.Split) {
	sort.SliceStable(s, func(i, j int) bool {
		return s[i].Topic < s[j].Topic || s[i].Topic == s[j].Topic && s[i].Partition < s[j].Partition
	})
}

func positions(m checkpoint.Manifest) []checkpoint.Position {
	var all []checkpoint.Position
	for _, s := range m.Subtasks {
		for _, o := range s.Operators {
			all = append(all, o.Positions...)
		}
	}
	return all
}

func assignments(subtasks []id.Subtask) []wire.Assignment {
	var all []wire.Assignment
	for _, s := range subtasks {
		all = append(all, wire.Assignment{Subtask: s})
	}
	return all
}

// assign deals splits out to the subtasks of a source in turn, in the order of topic and partition.
func assign(all []wire.Assignment, v id.Vertex, parallelism int32, splits []operator.Split) {
	splits = slices.Clone(splits)
	sortSplits(splits)
	parts := graph.Assign(splits, parallelism)
	for i := range all {
		if s := all[i].Subtask; s.Vertex == v {
			all[i].Splits = parts[s.Index]
		}
	}
}

// deploy hands the tasks to the TaskManagers and makes the coordinator, whose first fact is that all of them run.
func (r *generation) deploy(assigned []wire.Assignment) {
	plan := r.plan
	place := checkpoint.Place{
		Job: r.state.Job, Generation: r.number, Graph: Shape(r.cfg.Job), Parallelism: plan.Parallelism(),
		Subtasks: r.subtasks, Sources: plan.SourceSubtasks(),
		Highest: r.state.Highest, Confirmed: r.state.Confirmed, Retained: r.state.Retained,
	}
	r.coord = checkpoint.New(r.cfg.Checkpoint, r.cfg.Rules.Core, place)
	for _, stop := range r.asks {
		r.step(checkpoint.SavepointAsked{Stop: stop})
	}
	d := wire.Deploy{
		Generation: r.number, Job: r.state.Job, Checkpoint: r.restored.Checkpoint, Parallelism: plan.Parallelism(),
		Graph: r.cfg.Job.Fingerprint(), Subtasks: assigned, States: states(r.restored),
	}
	r.tell(func(j *JobManager) { j.deploy(r, d) })
}

// states is what tasks restore from: positions went into the splits, and every token is decided.
func states(m checkpoint.Manifest) []checkpoint.SubtaskState {
	var out []checkpoint.SubtaskState
	for _, s := range m.Subtasks {
		s.Tokens = nil
		kept := s.Operators
		s.Operators = nil
		for _, o := range kept {
			o.Positions = nil
			if len(o.Keyed) > 0 || o.Plain != nil || o.Watermark != nil {
				s.Operators = append(s.Operators, o)
			}
		}
		if len(s.Operators) > 0 || len(s.Channel) > 0 {
			out = append(out, s)
		}
	}
	return out
}
