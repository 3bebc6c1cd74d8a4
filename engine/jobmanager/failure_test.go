package jobmanager_test

import (
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
)

// A user function that fails restarts the job; the reason names operator and record. With a limit the job stops.
func TestFailedTask(t *testing.T) {
	b := newBench(t, 31)
	b.config = func(c *jobmanager.Config) { c.RestartLimit = 2 }
	b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	b.failing = true
	e := b.until(jobmanager.Restarting, 1)
	for _, want := range []string{"operator out", "source partition 1 offset 42", "boom"} {
		if !strings.Contains(e.Reason, want) {
			t.Errorf("%q is missing in %q", want, e.Reason)
		}
	}
	if e := b.until(jobmanager.Stopped, 1); e.Err == nil || !strings.Contains(e.Err.Error(), "2 restarts") {
		t.Errorf("%v\n%s", e, b)
	}
	b.sound()
}

// A TaskManager that hears no JobManager stops its tasks by itself, although it can still be heard.
func TestSilenceStopsTasks(t *testing.T) {
	b := newBench(t, 32)
	jm, tm1, tm2 := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	b.w.Cut(jm, tm1)
	b.w.Cut(jm, tm2)
	b.run(8 * time.Second)
	for _, f := range b.tasks {
		if !f.stopped {
			t.Errorf("task %v of generation %d still runs\n%s", f.spec.Subtask, f.spec.Generation, b)
		}
	}
	b.w.MendAll()
	n := b.count(jobmanager.CheckpointConfirmed)
	b.until(jobmanager.CheckpointConfirmed, n+2)
	b.sound()
}

// A task that does not react to a cancel fails its process, with the operator's name.
func TestStuckTaskFailsItsProcess(t *testing.T) {
	b := newBench(t, 33)
	_, tm1, _ := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	b.deaf = true
	tm1.Crash()
	b.until(jobmanager.Restarting, 1)
	b.run(12 * time.Second)
	if len(b.fatal) != 1 || !strings.Contains(b.fatal[0].Error(), "source") {
		t.Errorf("%v", b.fatal)
	}
}

// A deployment waits for the last task of the generation before.
func TestGenerationsDoNotOverlap(t *testing.T) {
	b := newBench(t, 34)
	b.lag = 3 * time.Second
	_, tm1, _ := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	tm1.Restart()
	b.until(jobmanager.Running, 2)
	b.until(jobmanager.CheckpointConfirmed, 3)
	for _, f := range b.tasks {
		for _, g := range b.tasks {
			if f.node == g.node && f.spec.Generation < g.spec.Generation && f.node == "tm2" && (!f.stopped || f.stoppedAt > g.startedAt) {
				t.Errorf("generation %d runs beside %d", f.spec.Generation, g.spec.Generation)
			}
		}
	}
	b.sound()
}

// The log is cut from the front, and restarts do not need what was cut.
func TestLogIsCutFromTheFront(t *testing.T) {
	b := newBench(t, 35)
	b.config = func(c *jobmanager.Config) { c.LogKeep = 6 }
	jm, _, _ := b.simple()
	for i := 1; i <= 3; i++ {
		b.until(jobmanager.CheckpointConfirmed, 10*i)
		jm.Restart()
	}
	b.until(jobmanager.CheckpointConfirmed, 32)
	b.run(time.Second)
	if n := len(b.store.Keys(joblog.Prefix)); n > 14 {
		t.Errorf("%d entries are left", n)
	}
	if f := b.w.Failure(); f != nil {
		t.Fatal(f)
	}
	if n := b.count(jobmanager.Claimed); n != 4 {
		t.Errorf("%d claims\n%s", n, b)
	}
}

// The same world twice is the same run.
func TestDeterminism(t *testing.T) {
	run := func() uint64 {
		b := newBench(t, 36)
		_, tm1, _ := b.simple()
		b.blobFaults()
		b.until(jobmanager.CheckpointConfirmed, 2)
		tm1.Restart()
		b.until(jobmanager.CheckpointConfirmed, 5)
		return b.w.TraceHash()
	}
	if x, y := run(), run(); x != y {
		t.Errorf("%x and %x", x, y)
	}
}
