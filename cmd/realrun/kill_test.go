package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/kafkatest"
)

// site is a Kafka with topics of its own and a state directory.
type site struct {
	t       *testing.T
	brokers string
	state   string
	in, out string
	kfake   bool
}

// newSite uses the Kafka that is asked for; with none it starts `realrun broker` as a process.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, state: filepath.Join(t.TempDir(), "state")}
	mark := strconv.FormatInt(time.Now().UnixNano(), 36)
	s.in, s.out = "in-"+mark, "out-"+mark
	if kafkatest.Which() == kafkatest.Kfake {
		port, err := embedded.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		s.kfake = true
		s.brokers = fmt.Sprintf("127.0.0.1:%d", port)
		start(t, "broker", "--data", filepath.Join(t.TempDir(), "kafka"), "--listen", s.brokers).says("Kafka at", 10*time.Second)
	} else {
		s.brokers = strings.Join(kafkatest.Brokers(t), ",")
	}
	return s
}

func (s *site) args(command string, more ...string) []string {
	return append([]string{command, "payments", "--brokers", s.brokers, "--topic", "payments=" + s.in, "--topic", "totals=" + s.out}, more...)
}

func (s *site) generate(records, rate int) *child {
	s.t.Helper()
	c := start(s.t, s.args("generate", "--records", strconv.Itoa(records), "--rate", strconv.Itoa(rate))...)
	c.says("made topic "+s.in, 20*time.Second)
	return c
}

// run starts the job with settings under which checkpoints are frequent.
func (s *site) run(more ...string) *child {
	return start(s.t, s.args("run", append([]string{"--state", s.state, "--interval", "300ms", "--debug", "--taskmanagers", "2", "--parallelism", "2"}, more...)...)...)
}

// verify must find the output clean and complete.
func (s *site) verify() {
	s.t.Helper()
	c := start(s.t, s.args("verify", "--state", s.state)...)
	if code := c.exit(2 * time.Minute); code != 0 {
		s.t.Fatalf("verify exits %d", code)
	}
	s.t.Logf("verify:\n%s", c.text())
	if !strings.Contains(c.text(), "CLEAN: all of the input") {
		s.t.Fatal("the input was not used up")
	}
}

// log is the job's log as it lies on the disk.
func (s *site) log() *jobLog {
	s.t.Helper()
	l, err := readJobLog(s.state)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// caughtUp waits until everything in the input is confirmed.
func (s *site) caughtUp(job *child) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	admin := s.admin()
	ends, err := admin.ListEndOffsets(ctx, s.in)
	if err != nil {
		s.t.Fatal(err)
	}
	want := int64(0)
	ends.Each(func(o kadm.ListedOffset) { want += o.Offset })
	for ; ; time.Sleep(200 * time.Millisecond) {
		state, got := s.log().state(), int64(0)
		if state.Completed != nil && state.Confirmed >= state.Completed.Checkpoint {
			for _, partitions := range s.log().reached(state.Completed) {
				for _, at := range partitions {
					got += at
				}
			}
		}
		if got >= want {
			return
		}
		if ctx.Err() != nil || job.over() {
			s.t.Fatalf("confirmed %d of %d inputs:\n%s", got, want, job.tail(40))
		}
	}
}

func (s *site) admin() *kadm.Client {
	s.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.brokers, ",")...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

// ongoing is how many transactions of the job are open at the broker, prepared ones included.
func (s *site) ongoing() int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	listed, err := s.admin().ListTransactions(ctx, nil, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	n, prefix := 0, "onefold."+string(s.log().state().Job)+"."
	for _, l := range listed.Sorted() {
		if strings.HasPrefix(l.TxnID, prefix) && (l.State == "Ongoing" || strings.HasPrefix(l.State, "Prepare")) {
			n++
		}
	}
	return n
}

// note is one line about a kill: what stood open when it struck.
func (s *site) note(what string, killed *child) string {
	s.t.Helper()
	state := s.log().state()
	completed := uint64(0)
	if state.Completed != nil {
		completed = uint64(state.Completed.Checkpoint)
	}
	prepared := len(state.Undecided)
	return fmt.Sprintf("%-22s generation %-3d completed %-4d confirmed %-4d last hook %-4s open %d, of them decided by the log but unconfirmed %d",
		what, state.Generation, completed, state.Confirmed, killed.lastHook(), s.ongoing(), prepared)
}

// within reports whether a hook lies on the way of a commit: from k3 up to before k14, or in a restore.
func within(hook string) bool {
	switch hook {
	case "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k13", "c1", "c2", "r0", "r1", "r2", "r3", "r4", "r5", "r6":
		return true
	}
	return false
}

// A kill at the wrong moment would lose or double records on a real cluster, whatever the simulator says.
func TestKill(t *testing.T) {
	kills := 3
	if n := os.Getenv("ONEFOLD_KILLS"); n != "" {
		var err error
		if kills, err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("kills processes; make test runs it")
	}
	s := newSite(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed of the moments: %d; %d kills on %s", seed, kills, kafkatest.Which())
	random := rand.New(rand.NewPCG(seed, 1))
	generator := s.generate(4000*(kills*2+4), 4000)
	var notes []string
	hot := 0
	strike := func(what string, c *child) {
		c.kill()
		notes = append(notes, s.note(what, c))
		if within(c.lastHook()) {
			hot++
		}
	}
	for i := 0; i < kills || hot*2 < i && i < 2*kills; i++ { // more where chance has struck beside the commits
		c := s.run()
		c.says(" running generation| hook at=r0", 30*time.Second)
		time.Sleep(time.Duration(random.Int64N(int64(1200 * time.Millisecond))))
		if i%3 != 0 { // two of three within a checkpoint, at a moment of its own
			// How long a commit takes depends on the machine: behind a hook of it, not by the clock, is on its way everywhere.
			at := " hook at=" + []string{"k3", "k4", "k6", "k7", "k9"}[random.IntN(5)]
			from := strings.Count(c.text(), at)
			for end := time.Now().Add(10 * time.Second); strings.Count(c.text(), at) == from && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(random.Int64N(int64(4 * time.Millisecond))))
		}
		strike(fmt.Sprintf("kill %d", i+1), c)
	}
	for range min(kills, 2) {
		next := s.log().state().Highest + 2
		c := s.run("--hold", fmt.Sprintf("k7@%d", next))
		c.says("holding at k7", 60*time.Second)
		strike("held after Completed", c)
	}
	if code := generator.exit(5 * time.Minute); code != 0 {
		t.Fatalf("generate exits %d:\n%s", code, generator.tail(10))
	}
	last := s.run()
	s.caughtUp(last)
	last.signal(syscall.SIGTERM)
	if code := last.exit(30 * time.Second); code != 0 {
		t.Fatalf("run exits %d after SIGTERM:\n%s", code, last.tail(30))
	}
	t.Logf("kills:\n%s\n%d of %d on the way of a commit or in a restore", strings.Join(notes, "\n"), hot, len(notes))
	if hot*2 < len(notes) {
		t.Errorf("only %d of %d kills struck on the way of a commit", hot, len(notes))
	}
	s.verify()
}

// A commit that comes after Kafka has given the transaction up is the hole of the usual design: the records must come back.
func TestHeldPastTheTransactionTimeout(t *testing.T) {
	if os.Getenv("ONEFOLD_KILLS") == "" {
		t.Skip("takes a transaction timeout; set ONEFOLD_KILLS=N to run it")
	}
	s := newSite(t)
	generator := s.generate(160_000, 4000) // so that a slow machine, too, has records in its fourth checkpoint
	hasty := []string{"--transaction-timeout", "32s", "--checkpoint-timeout", "1s", "--tolerated-failures", "1", "--heartbeat-timeout", "2s"}
	c := s.run(append(hasty, "--hold", "k7@4")...)
	c.says("holding at k7", 60*time.Second)
	began := time.Now()
	for s.ongoing() > 0 {
		if time.Since(began) > 2*time.Minute {
			t.Fatal("the broker never gave the transactions up")
		}
		time.Sleep(time.Second)
	}
	t.Logf("held for %v, until no transaction was open", time.Since(began).Round(time.Second))
	c.kill()
	t.Log(s.note("held past the timeout", c))
	if code := generator.exit(2 * time.Minute); code != 0 {
		t.Fatal("generate")
	}
	c = s.run(hasty...)
	s.caughtUp(c)
	c.signal(syscall.SIGTERM)
	if code := c.exit(30 * time.Second); code != 0 {
		t.Fatalf("run exits %d", code)
	}
	if !strings.Contains(c.text(), "salvage") {
		t.Errorf("no salvage was told of:\n%s", c.tail(60))
	}
	s.verify()
}

// A process that was stopped and comes back must find that it is no longer the one, wherever it stood.
func TestZombies(t *testing.T) {
	if testing.Short() {
		t.Skip("stops processes; make test runs it")
	}
	for _, hold := range []string{"", "r2", "k7@2", "k9@2"} {
		name := "running"
		if hold != "" {
			name = "at " + hold
		}
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			generator := s.generate(15_000, 5000)
			var one *child
			switch hold {
			case "":
				one = s.run()
				one.says("checkpoint confirmed", 30*time.Second)
			case "r2": // a restore that has tokens to decide
				c := s.run("--hold", "k7@2")
				c.says("holding at k7", 30*time.Second)
				c.kill()
				one = s.run("--hold", hold)
				one.says("holding at", 30*time.Second)
			default:
				one = s.run("--hold", hold)
				one.says("holding at", 30*time.Second)
			}
			one.signal(syscall.SIGSTOP)
			two := s.run()
			two.says("checkpoint confirmed", 60*time.Second)
			one.signal(syscall.SIGCONT)
			one.signal(syscall.SIGUSR1)
			if code := one.exit(60 * time.Second); code != 2 || !strings.Contains(one.text(), "took over") {
				t.Errorf("the zombie exits %d:\n%s", code, one.tail(20))
			}
			t.Logf("the zombie: %s", one.tail(1))
			generator.exit(time.Minute)
			s.caughtUp(two)
			two.signal(syscall.SIGTERM)
			if code := two.exit(30 * time.Second); code != 0 {
				t.Errorf("run exits %d:\n%s", code, two.tail(30))
			}
			s.verify()
		})
	}
}

// The embedded Kafka dies with the job and aborts what is prepared: what was completed must come back by a salvage.
func TestEmbeddedKilledAfterCompletedSalvages(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes; make test runs it")
	}
	s := &site{t: t, brokers: "embedded", state: filepath.Join(t.TempDir(), "state"), in: "payments", out: "totals", kfake: true}
	if code := start(t, s.args("generate", "--state", s.state, "--records", "20000")...).exit(time.Minute); code != 0 {
		t.Fatal("generate")
	}
	c := s.run("--bounded", "--hold", "k7", "--interval", "3s") // all of the input is in the checkpoint by then
	c.says("holding at k7", 30*time.Second)
	state := s.log().state()
	records := int64(0)
	for _, u := range state.Undecided {
		for _, r := range u.Ranges {
			records += r.Count
		}
	}
	t.Logf("killed at k7: checkpoint %d is completed, %d transactions with %d records are prepared", state.Completed.Checkpoint, len(state.Undecided), records)
	if records == 0 {
		t.Fatal("nothing was prepared")
	}
	c.kill()
	c = s.run("--bounded")
	if code := c.exit(time.Minute); code != 0 {
		t.Fatalf("run exits %d:\n%s", code, c.tail(40))
	}
	if !strings.Contains(c.text(), "salvage") {
		t.Errorf("no salvage was told of:\n%s", c.tail(60))
	}
	s.verify()
}
