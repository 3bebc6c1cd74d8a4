package jobmanager_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
)

// held gives a test the JobManager of the node, which is remade at each start.
func (b *bench) held(name string, config func(*jobmanager.Config)) (*sim.Node, func() *jobmanager.JobManager) {
	var j *jobmanager.JobManager
	b.config = config
	n := b.w.NewNode(name, func(p *proc.Process) {
		j = jobmanager.New(p, b.jmConfig(name, false))
	})
	return n, func() *jobmanager.JobManager { return j }
}

// A savepoint is reported with its seal, which exists only after its Savepoint entry.
func TestSavepointIsSealed(t *testing.T) {
	b := newBench(t, 21)
	jm, j := b.held("jm1", nil)
	jm.Start()
	b.tm("tm1", "jm1").Start()
	b.tm("tm2", "jm1").Start()
	b.until(jobmanager.CheckpointConfirmed, 1)
	var seal blob.Key
	j().Savepoint(func(_ id.Checkpoint, k blob.Key, err error) { seal = k })
	e := b.until(jobmanager.SavepointSealed, 1)
	b.run(8 * time.Second)
	if seal != e.Key {
		t.Errorf("reported %q, sealed %q", seal, e.Key)
	}
	object, _ := b.store.Peek(seal)
	s, err := jobmanager.ReadSealed(seal, object)
	if err != nil || s.Ref.Checkpoint != e.Checkpoint {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, there := b.store.Peek(s.Ref.Manifest); !there {
		t.Errorf("the savepoint's manifest was deleted")
	}
	log := b.log()
	if last := log[len(log)-1].State; len(last.Savepoints) != 1 || last.Confirmed < e.Checkpoint+4 {
		t.Errorf("%+v", last)
	}
	b.sound()
}

// A stop with a savepoint ends the job after its confirmation. Started again, it goes on from there; restoring the
// savepoint after more was confirmed needs Rewind, and happens once.
func TestStopAndRewind(t *testing.T) {
	b := newBench(t, 22)
	var from blob.Key
	rewind := false
	jm, j := b.held("jm1", func(c *jobmanager.Config) { c.RestoreFrom, c.Rewind = from, rewind })
	jm.Start()
	b.tm("tm1", "jm1").Start()
	b.tm("tm2", "jm1").Start()
	b.until(jobmanager.CheckpointConfirmed, 1)
	j().Stop()
	stopped := b.until(jobmanager.Stopped, 1)
	if stopped.Err != nil || !strings.Contains(stopped.Reason, "savepoint") {
		t.Fatalf("%v", stopped)
	}

	jm.Restart()
	restored := b.until(jobmanager.Restored, 2)
	if restored.Checkpoint != stopped.Checkpoint {
		t.Fatalf("restored from %d, stopped at %d", restored.Checkpoint, stopped.Checkpoint)
	}
	b.until(jobmanager.CheckpointConfirmed, 5)

	from = jobmanager.SealKey(stopped.Checkpoint)
	jm.Restart()
	if e := b.until(jobmanager.Stopped, 2); e.Err == nil || !strings.Contains(e.Err.Error(), "--rewind") {
		t.Fatalf("restored below what is confirmed: %v", e)
	}
	rewind = true
	jm.Restart()
	if e := b.until(jobmanager.Restored, 3); e.Checkpoint != stopped.Checkpoint {
		t.Fatalf("restored from %d", e.Checkpoint)
	}
	n := b.until(jobmanager.CheckpointConfirmed, 8).Checkpoint
	b.sound()

	jm.Restart()
	if e := b.until(jobmanager.Restored, 4); e.Checkpoint < n {
		t.Errorf("rewound twice: %v", e)
	}
}

// A damaged manifest of the newest completed checkpoint stops the job and is named: nothing older is safe.
func TestCorruptManifestStops(t *testing.T) {
	b := newBench(t, 23)
	jm, _, _ := b.simple()
	e := b.until(jobmanager.CheckpointConfirmed, 3)
	jm.Crash()
	log := b.log()
	k := log[len(log)-1].State.Completed.Manifest
	object, _ := b.store.Peek(k)
	b.store.Put(k, bytes.Replace(object, []byte(`"in"`), []byte(`"ni"`), 1))
	jm.Start()
	s := b.until(jobmanager.Stopped, 1)
	if !errors.Is(s.Err, joblog.ErrCorrupt) || !strings.Contains(s.Err.Error(), string(k)) {
		t.Errorf("after %v: %v", e, s)
	}
}

// A damaged log entry stops the job and is named.
func TestCorruptLogStops(t *testing.T) {
	b := newBench(t, 24)
	jm, _, _ := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	jm.Crash()
	keys := b.store.Keys(joblog.Prefix)
	k := keys[len(keys)-1]
	object, _ := b.store.Peek(k)
	b.store.Put(k, object[:len(object)-3])
	jm.Start()
	s := b.until(jobmanager.Stopped, 1)
	if !errors.Is(s.Err, joblog.ErrCorrupt) || !strings.Contains(s.Err.Error(), string(k)) {
		t.Errorf("%v", s)
	}
}

// The state of another job is refused before anything is claimed, and both are named.
func TestStateOfAnotherJobIsRefused(t *testing.T) {
	b := newBench(t, 28)
	jm, _, _ := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	jm.Crash()
	b.job = fakeJob(b, "source", "out")
	b.job.Name = "other"
	jm.Start()
	if s := b.until(jobmanager.Stopped, 1); s.Err == nil || !strings.Contains(s.Err.Error(), "fake-") || !strings.Contains(s.Err.Error(), "other") {
		t.Errorf("%v", s)
	}
}

// A changed job graph is refused before anything is claimed, and the operator is named.
func TestChangedGraphIsRefused(t *testing.T) {
	b := newBench(t, 25)
	jm, _, _ := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	jm.Crash()
	b.job = fakeJob(b, "source", "other")
	jm.Start()
	n := len(b.log())
	if s := b.until(jobmanager.Stopped, 1); s.Err == nil || !strings.Contains(s.Err.Error(), "out") {
		t.Errorf("%v", s)
	}
	if len(b.log()) != n {
		t.Errorf("something was written")
	}
}

// A JobManager that dies between the Savepoint entry and the seal: the seal is made up for.
func TestSealIsMadeUpFor(t *testing.T) {
	b := newBench(t, 26)
	jm, j := b.held("jm1", nil)
	jm.Start()
	b.tm("tm1", "jm1").Start()
	b.tm("tm2", "jm1").Start()
	b.until(jobmanager.CheckpointConfirmed, 1)
	j().Savepoint(nil)
	if !b.w.RunUntil(func() bool {
		log := b.log()
		return log[len(log)-1].Kind == joblog.Savepoint
	}, b.w.Now().Add(time.Minute)) {
		t.Fatal("no savepoint")
	}
	n := b.log()[len(b.log())-1].Checkpoint
	jm.Crash()
	if _, there := b.store.Peek(jobmanager.SealKey(n)); there {
		t.Fatal("it is sealed already: this test shows nothing")
	}
	jm.Start()
	b.until(jobmanager.Running, 2)
	if _, there := b.store.Peek(jobmanager.SealKey(n)); !there {
		t.Errorf("savepoint %d is not sealed", n)
	}
}

// A restore that cannot be is refused before anything is written.
func TestImpossibleRestoreWritesNothing(t *testing.T) {
	b := newBench(t, 27)
	jm, _ := b.held("jm1", func(c *jobmanager.Config) { c.RestoreFrom = jobmanager.SealKey(5) })
	jm.Start()
	b.tm("tm1", "jm1").Start()
	b.tm("tm2", "jm1").Start()
	if e := b.until(jobmanager.Stopped, 1); e.Err == nil || !strings.Contains(e.Err.Error(), "savepoints/") {
		t.Errorf("%v", e)
	}
	if n := len(b.store.Keys("")); n != 0 {
		t.Errorf("%d objects were written", n)
	}
}
