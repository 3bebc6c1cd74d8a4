package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/real/localkafka"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios"
	"github.com/onefold/onefold/scenarios/outside"
)

// quick are the plans that run wherever processes may be killed; the others take a transaction timeout or show less on kfake.
var quick = map[string]bool{"killed-at-commit": true, "killed-twice-in-restore": true, "replies-lost": true, "known-bad-at-least-once": true}

// The same plan in both worlds: if the verdicts differ, one of the worlds is not what the other is taken for.
//
// Without anything set some plans run on kfake. ONEFOLD_KILLS=N runs all that kfake can; ONEFOLD_LOCAL_KAFKA=1 runs all on three
// brokers of a real Kafka (KAFKA_VERSION, 4.4.0).
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes; make test runs it")
	}
	var shared brokers
	if os.Getenv("ONEFOLD_LOCAL_KAFKA") != "" {
		shared = realBrokers(t)
	}
	for _, p := range outside.Plans() {
		_, _, refused := outside.Read(p.Text, outside.Kfake)
		switch {
		case shared == nil && refused != nil: // needs brokers that can be killed
			continue
		case shared == nil && !quick[p.Name] && os.Getenv("ONEFOLD_KILLS") == "":
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			if shared == nil {
				t.Parallel()
			}
			want := simulated(t, p.Text)
			got := endured1(t, &chaos{plan: p.Name, jars: jarsOf(shared)}, shared)
			if got.Verdict != want || !got.Pass {
				t.Errorf("%s; in the simulator %s, expected %v; missed %v\n%s\n%+v", got.Verdict, want, got.Expected, got.Missed, strings.Join(got.Timeline, "\n"), got.Verified.Report.Findings)
				keep(t, got)
			}
			t.Logf("%s in both worlds; %s\n%s", got.Verdict, got.Brokers, strings.Join(got.Faults, "\n"))
		})
	}
}

// simulated is the verdict of the simulator.
func simulated(t *testing.T, text string) string {
	t.Helper()
	p, err := faults.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	r, err := scenarios.Run(p, scenarios.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Report.Verdict.String()
}

func realBrokers(t *testing.T) brokers {
	t.Helper()
	version := os.Getenv("KAFKA_VERSION")
	if version == "" {
		version = "4.4.0"
	}
	jars, err := localkafka.Jars(version)
	if err != nil {
		t.Fatal(err)
	}
	k, err := startKafka(t.Context(), jars, 3, 20560, filepath.Join(t.TempDir(), "kafka"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.close)
	return k
}

func jarsOf(b brokers) string {
	if k, ok := b.(*kafkaBrokers); ok {
		return k.jars
	}
	return ""
}

// endured1 carries a plan out on brokers that run, or on a kfake of its own.
func endured1(t *testing.T, x *chaos, on brokers) *endured {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	if on == nil {
		b, err := startKfake(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		on = b
	}
	r, err := x.carry(ctx, &console{out: testWriter{t}, err: testWriter{t}}, on, dir)
	if err != nil {
		t.Fatal(err)
	}
	r.Logs = dir
	return r
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

// keep copies the logs of the processes to where whoever looks into a failure wants them.
func keep(t *testing.T, r *endured) {
	t.Helper()
	to := os.Getenv("ONEFOLD_TEST_LOGS")
	if to == "" {
		return
	}
	if err := os.CopyFS(filepath.Join(to, filepath.Base(r.Plan)), os.DirFS(r.Logs)); err != nil {
		t.Error(err)
	}
}

// planFile is a file with a plan in it.
func planFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.plan")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// A world that no process starts with is refused before any broker is started, in the words of the plan.
func TestChaosRefusesATransactionTimeoutThatIsTooShort(t *testing.T) {
	text := "onefold plan 1\nscenario payments\nseed 1\nworld interval=10s transaction-timeout=5s\nengine sound\nat 5s crash process1 for 1s\n"
	for _, c := range []struct{ text, want string }{
		{text, "instead: world transaction-timeout=1m12s, or lower interval or checkpoint-timeout"},
		{strings.Replace(text, "payments", "at-least-once", 1), ""},
		{strings.Replace(text, "=5s", "=72s", 1), ""},
	} {
		_, err := (&chaos{plan: planFile(t, c.text)}).prepare()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A plan that never came to strike must not pass for one that was survived.
func TestChaosThatNeverStrikesIsNoPass(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; make test runs it")
	}
	t.Parallel()
	file := planFile(t, "onefold plan 1\nscenario payments\nworld taskmanagers=1 jobmanagers=1 parallelism=1 partitions=1 records=100 burn=2s interval=500ms checkpoint-timeout=2s transaction-timeout=50s\non k9 checkpoint=900 crash process1 for 1s\n")
	r := endured1(t, &chaos{plan: file}, nil)
	if r.Verdict != "CLEAN" || r.Pass || len(r.Missed) != 1 || !strings.Contains(r.Missed[0], "never reached") {
		t.Errorf("%+v", r)
	}
	if r.ending() == nil {
		t.Error("exit code 0")
	}
}

// On a machine that is slower than the plan a hook comes when all of the input would be written: input goes on until then, or
// what the fault does would not be seen.
func TestChaosWaitsForAHook(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; make test runs it")
	}
	t.Parallel()
	file := planFile(t, "onefold plan 1\nscenario payments\nworld taskmanagers=1 jobmanagers=1 parallelism=1 partitions=1 records=800 burn=10s interval=3s checkpoint-timeout=6s transaction-timeout=70s\nengine at-least-once\nexpect DUP\non k5 checkpoint=5 crash process1 for 1s\n")
	if r := endured1(t, &chaos{plan: file}, nil); !r.Pass {
		t.Errorf("%+v", r)
	}
}

// Where the machine is too slow for a checkpoint, the hook that a fault waits for never comes, and the plan has shown nothing: it is
// carried out again, and is no pass in the end. Here it is the broker that is slow each time.
func TestChaosIsRepeatedWhereCheckpointsExpire(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; make test runs it")
	}
	t.Parallel()
	file := planFile(t, "onefold plan 1\nscenario payments\nworld taskmanagers=1 jobmanagers=1 parallelism=1 partitions=1 records=400 burn=4s interval=500ms checkpoint-timeout=1s transaction-timeout=50s\nat 1200ms pause broker0 for 8s\non k9 checkpoint=4 crash process1 for 1s\n")
	r := endured1(t, &chaos{plan: file}, nil)
	if _, err := os.Stat(filepath.Join(r.Logs, fmt.Sprint("try", tries))); err != nil || r.Pass || r.Verdict != "CLEAN" {
		t.Errorf("%v, %+v", err, r)
	}
}

// A cut that lets bytes through, or one that goes on after its end, makes a plan say what did not happen.
func TestProxyCutsAndJoins(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	arrived := make(chan string, 10)
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				b := make([]byte, 100)
				for {
					n, err := c.Read(b)
					if err != nil {
						return
					}
					arrived <- string(b[:n])
					if _, err := c.Write(b[:n]); err != nil {
						return
					}
				}
			}()
		}
	}()
	p, err := newProxy(echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ask := func(c net.Conn, text string, patience time.Duration) error {
		if _, err := fmt.Fprint(c, text); err != nil {
			return err
		}
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 100))
		return err
	}
	hits := make(chan bool, 100)
	hit := func() { hits <- true }

	whole := dial()
	if err := ask(whole, "a", 10*time.Second); err != nil || <-arrived != "a" {
		t.Fatal(err)
	}
	p.set(toProcess, way{cut: true, hit: hit})
	if err := ask(whole, "b", 10*time.Second); err == nil {
		t.Error("a connection outlives a cut")
	}
	deaf := dial()
	if err := ask(deaf, "c", 100*time.Millisecond); err == nil {
		t.Error("an answer passes a cut")
	}
	if got := <-arrived; got != "c" {
		t.Errorf("%q arrived: only answers were to be lost", got)
	}
	p.set(toBroker, way{cut: true, hit: hit})
	if err := ask(dial(), "d", 100*time.Millisecond); err == nil {
		t.Error("an answer passes two cuts")
	}
	p.set(toBroker, way{})
	p.set(toProcess, way{})
	if err := ask(deaf, "e", 10*time.Second); err == nil {
		t.Error("a connection with a gap goes on")
	}
	joined := dial()
	if err := ask(joined, "f", 10*time.Second); err != nil {
		t.Error(err)
	}
	if got := <-arrived; got != "f" {
		t.Errorf("%q arrived through a cut", got)
	}
	if len(hits) < 3 {
		t.Errorf("%d strikes were told, want one for each connection broken and each loss", len(hits))
	}
	p.set(toBroker, way{delay: 80 * time.Millisecond})
	if began := time.Now(); ask(joined, "g", 10*time.Second) != nil || time.Since(began) < 80*time.Millisecond {
		t.Error("a slow link is not slow")
	}
}
