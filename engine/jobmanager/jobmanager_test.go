package jobmanager_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/probe"
)

// Without it nothing works: slots, claim, deployment, checkpoints that are confirmed, and old ones released.
func TestJobRuns(t *testing.T) {
	b := newBench(t, 1)
	b.simple()
	b.until(jobmanager.CheckpointConfirmed, 5)
	b.run(time.Second)
	b.sound()
	log := b.log()
	s := log[len(log)-1].State
	if s.Generation != 1 || s.Confirmed < 5 || len(s.Undecided) > 0 && s.Completed.Checkpoint == s.Confirmed {
		t.Fatalf("unexpected state %+v\n%s", s, b)
	}
	if n := len(s.Retained); n < 2 || n > 3 {
		t.Errorf("%d checkpoints are retained", n)
	}
	if n := len(b.store.Keys("checkpoints/")); n > 4 {
		t.Errorf("released checkpoints are still there: %v", b.store.Keys("checkpoints/"))
	}
}

// A TaskManager that dies takes its tasks with it: the job goes on from the newest checkpoint in a new generation.
func TestRestartAfterTaskManagerDies(t *testing.T) {
	b := newBench(t, 2)
	_, tm1, _ := b.simple()
	b.until(jobmanager.CheckpointConfirmed, 2)
	tm1.Crash()
	b.until(jobmanager.Restarting, 1)
	b.run(time.Second)
	if b.count(jobmanager.Claimed) != 1 {
		t.Fatalf("a generation was claimed without slots\n%s", b)
	}
	tm1.Start()
	restored := b.until(jobmanager.Restored, 2)
	if restored.Checkpoint < 2 {
		t.Errorf("restored from %d", restored.Checkpoint)
	}
	b.until(jobmanager.CheckpointConfirmed, 4)
	b.sound()
	for _, s := range b.starts[2:] {
		for _, p := range s.Splits {
			if p.Position != int64(restored.Checkpoint)*10 {
				t.Errorf("split %d goes on at %d after checkpoint %d", p.Partition, p.Position, restored.Checkpoint)
			}
		}
		if len(s.Restored) == 0 {
			t.Errorf("%v got no state", s.Subtask)
		}
	}
}

// A JobManager that was held, and displaced meanwhile, must not complete a checkpoint when it wakes up.
func TestZombieJobManagerCannotComplete(t *testing.T) {
	refused := false
	for _, at := range []hook.Point{hook.K6AllAcked, hook.K7Completed, hook.K8NoticeSent, hook.K14Confirmed} {
		b := newBench(t, 3)
		jm1, jm2 := b.jm("jm1", true), b.jm("jm2", true)
		tm1, tm2 := b.tm("tm1", "jm1", "jm2"), b.tm("tm2", "jm1", "jm2")
		jm1.Start()
		tm1.Start()
		tm2.Start()
		b.run(7 * time.Second)
		jm2.Start()
		held := false
		b.w.OnHook(func(node string, e hook.Event) {
			if !held && node == "jm1" && e.Point == at && e.Checkpoint == 2 {
				held = true
				jm1.Pause(b.w.Now().Add(30 * time.Second))
			}
		})
		b.until(jobmanager.Claimed, 2)
		if !held {
			t.Fatalf("%v was not passed\n%s", at, b)
		}
		b.run(40 * time.Second)
		b.sound()
		if n := b.count(jobmanager.Superseded); n != 1 {
			t.Errorf("%v: %d JobManagers were displaced\n%s", at, n, b)
		}
		if n := b.count(jobmanager.Claimed); n != 2 {
			t.Errorf("%v: %d claims: they displace each other\n%s", at, n, b)
		}
		for _, p := range b.w.Reached() {
			refused = refused || probe.Name(p) == "taskmanager: message of an older generation refused"
		}
	}
	if !refused {
		t.Error("no TaskManager was sent anything of an older generation: the zombies were harmless")
	}
}

// The standby takes over when the TaskManagers miss the active JobManager, and not before.
func TestStandbyTakesOver(t *testing.T) {
	b := newBench(t, 4)
	jm1, jm2 := b.jm("jm1", false), b.jm("jm2", true)
	tm1, tm2 := b.tm("tm1", "jm1", "jm2"), b.tm("tm2", "jm1", "jm2")
	jm1.Start()
	jm2.Start()
	tm1.Start()
	tm2.Start()
	b.run(60 * time.Second)
	if b.count(jobmanager.Claimed) != 1 {
		t.Fatalf("the standby claimed beside a healthy JobManager\n%s", b)
	}
	died := b.w.Now()
	jm1.Crash()
	e := b.until(jobmanager.Claimed, 2)
	if after := e.At.Sub(died); e.node != "jm2" || after < 4*time.Second || after > 10*time.Second {
		t.Errorf("%s claimed after %v\n%s", e.node, after, b)
	}
	n := b.count(jobmanager.CheckpointConfirmed)
	b.until(jobmanager.CheckpointConfirmed, n+2)
	// One that comes back without being a standby claims at once; the displaced one waits and does not claim back.
	jm1.Start()
	if e := b.until(jobmanager.Claimed, 3); e.node != "jm1" {
		t.Errorf("%s claimed", e.node)
	}
	b.run(60 * time.Second)
	if b.count(jobmanager.Claimed) != 3 {
		t.Errorf("they displace each other\n%s", b)
	}
	b.sound()
}

// A checkpoint that nobody acks expires; after too many of them the generation is started again.
func TestExpiredCheckpoints(t *testing.T) {
	b := newBench(t, 5)
	b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	b.mute = true
	b.until(jobmanager.CheckpointFailed, 1)
	b.mute = false
	b.until(jobmanager.CheckpointConfirmed, 3)
	if b.count(jobmanager.Restarting) != 0 {
		t.Errorf("one expired checkpoint is tolerated\n%s", b)
	}
	b.mute = true
	b.until(jobmanager.Restarting, 1)
	b.mute = false
	b.until(jobmanager.CheckpointConfirmed, 5)
	b.sound()
}

// The reply of the store gets lost after the effect: "it exists" must be taken for one's own success.
func TestLostBlobReplies(t *testing.T) {
	for seed := uint64(1); seed <= 20; seed++ {
		b := newBench(t, seed)
		_, tm1, _ := b.simple()
		b.blobFaults()
		b.until(jobmanager.CheckpointConfirmed, 2)
		tm1.Restart()
		b.until(jobmanager.CheckpointConfirmed, 5)
		b.sound()
		if b.count(jobmanager.Superseded)+b.count(jobmanager.Stopped) > 0 {
			t.Errorf("seed %d: stopped by a lost reply\n%s", seed, b)
		}
	}
}

// A refused commit restarts the job, so that the restore resolves it.
func TestRefusedCommitRestarts(t *testing.T) {
	b := newBench(t, 6)
	b.simple()
	b.until(jobmanager.CheckpointConfirmed, 1)
	b.refuse = 1
	if e := b.until(jobmanager.Restarting, 1); !strings.Contains(e.Reason, "refused") {
		t.Errorf("restarted because of %s", e.Reason)
	}
	b.until(jobmanager.CheckpointConfirmed, 3)
	b.sound()
}

// What retention deleted before it was visible is named in the log by the confirm that finds it: once the transaction has
// ended, nothing else would ever say it. A loss that is accepted lets the job go on, any other one stops it.
func TestLossFoundByConfirmIsLogged(t *testing.T) {
	for _, accepted := range []bool{true, false} {
		b := newBench(t, 9)
		loss := &joblog.Loss{Checkpoint: 1, Accepted: accepted, Items: []joblog.LostRange{{Reason: "deleted while its transaction was open"}}}
		b.deleted = &operator.ConfirmOutcome{Lost: loss}
		if !accepted {
			b.deleted.Err = errors.New("records are lost")
		}
		b.simple()
		if e := b.until(jobmanager.LossReported, 1); e.Loss == nil || len(e.Loss.Items) != 1 || (e.Err == nil) != accepted {
			t.Errorf("accepted %v: reported as %v with %+v", accepted, e.Event, e.Loss)
		}
		if accepted {
			b.until(jobmanager.CheckpointConfirmed, 2)
			b.sound()
		} else {
			b.until(jobmanager.Stopped, 1)
		}
		var after []joblog.Kind
		for _, e := range b.log() {
			if e.Kind == joblog.Lost || len(after) > 0 {
				after = append(after, e.Kind)
			}
		}
		if want := []joblog.Kind{joblog.Lost, joblog.Confirmed}; accepted && (len(after) < 2 || !slices.Equal(after[:2], want)) {
			t.Errorf("accepted: the log goes on with %v", after)
		}
		if !accepted && !slices.Equal(after, []joblog.Kind{joblog.Lost}) {
			t.Errorf("not accepted: the log goes on with %v", after)
		}
	}
}

// Bounded input: the job ends when its final checkpoint is confirmed, and starting it again says so.
func TestBoundedJobEnds(t *testing.T) {
	b := newBench(t, 7)
	b.stop = 100
	jm, _, _ := b.simple()
	e := b.until(jobmanager.Ended, 1)
	if last := b.log()[len(b.log())-1]; last.Kind != joblog.Stopped || !last.Ended || last.State.Confirmed != e.Checkpoint {
		t.Errorf("the log ends with %+v", last)
	}
	claims := b.count(jobmanager.Claimed)
	jm.Restart()
	if again := b.until(jobmanager.Ended, 2); again.Checkpoint != e.Checkpoint || b.count(jobmanager.Claimed) != claims {
		t.Errorf("started again: %v", again)
	}
	b.sound()
}

// A standby learns from the log that the job is over, and does not start it again.
func TestStandbyEndsWithTheJob(t *testing.T) {
	b := newBench(t, 8)
	b.stop = 100
	b.jm("jm1", false).Start()
	b.jm("jm2", true).Start()
	b.tm("tm1", "jm1", "jm2").Start()
	b.tm("tm2", "jm1", "jm2").Start()
	b.until(jobmanager.Ended, 2)
	if b.count(jobmanager.Claimed) != 1 {
		t.Errorf("an ended job was claimed\n%s", b)
	}
}

// A crash of the JobManager at each of its hooks: what is completed is committed once, nothing else is.
func TestJobManagerDiesAtEachHook(t *testing.T) {
	for _, at := range []hook.Point{hook.K6AllAcked, hook.K7Completed, hook.K8NoticeSent, hook.K14Confirmed, hook.R0Claimed} {
		b := newBench(t, 9)
		jm, _, _ := b.simple()
		struck := false
		b.w.OnHook(func(node string, e hook.Event) {
			if !struck && e.Point == at && (e.Checkpoint == 2 || e.Point == hook.R0Claimed) {
				struck = true
				jm.Crash()
				b.w.At(b.w.Now().Add(2*time.Second), jm.Start)
			}
		})
		b.until(jobmanager.CheckpointConfirmed, 5)
		b.sound()
		if !struck {
			t.Errorf("%v was not passed", at)
		}
	}
}

// Numbers and generations never come back, over any number of restarts.
func TestNumbersOnlyRise(t *testing.T) {
	b := newBench(t, 10)
	_, tm1, _ := b.simple()
	for i := 1; i <= 4; i++ {
		b.until(jobmanager.CheckpointCompleted, 2*i)
		tm1.Restart()
	}
	b.until(jobmanager.CheckpointConfirmed, 9)
	b.sound()
	last, gen := id.Checkpoint(0), id.Generation(0)
	for _, e := range b.log() {
		if e.State.Highest < last || e.State.Generation < gen {
			t.Fatalf("entry %d: highest %d after %d, generation %d after %d", e.Position, e.State.Highest, last, e.State.Generation, gen)
		}
		last, gen = e.State.Highest, e.State.Generation
	}
}
