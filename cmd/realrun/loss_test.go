package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/engine/token"
)

// prepared brings a job on the embedded Kafka to k7 with prepared transactions and hands the address of its Kafka to act, then
// kills it and deletes all records of the output.
func prepared(t *testing.T, act func(cl *kgo.Client, tokens []token.Token)) *site {
	t.Helper()
	s := &site{t: t, brokers: "embedded", state: filepath.Join(t.TempDir(), "state"), in: "payments", out: "totals"}
	if code := start(t, s.args("generate", "--state", s.state, "--records", "5000")...).exit(time.Minute); code != 0 {
		t.Fatal("generate")
	}
	c := s.run("--bounded", "--hold", "k7", "--interval", "3s") // all of the input is in the checkpoint by then
	c.says("holding at k7", 30*time.Second)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(c.text())
	cl, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	act(cl, s.log().state().Undecided)
	c.kill()

	b := start(t, "broker", "--data", run.KafkaDirectory(s.state), "--listen", address)
	b.says("Kafka at", 10*time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	admin := kadm.NewClient(cl)
	ends, err := admin.ListEndOffsets(ctx, s.out)
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := admin.DeleteRecords(ctx, ends.Offsets())
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.signal(syscall.SIGTERM)
	if code := b.exit(20 * time.Second); code != 0 {
		t.Fatalf("broker exits %d", code)
	}
	return s
}

// What is committed in one part and gone in another cannot be saved: the job must name it and stop, at each start.
func TestLoudLossNamesAndStops(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes; make test runs it")
	}
	s := prepared(t, func(cl *kgo.Client, tokens []token.Token) {
		if len(tokens) < 2 {
			t.Fatalf("%d transactions are prepared, two are needed", len(tokens))
		}
		end := kmsg.NewPtrEndTxnRequest()
		end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = tokens[0].TransactionalID, tokens[0].ProducerID, tokens[0].ProducerEpoch, true
		r, err := end.RequestWith(context.Background(), cl)
		if err != nil || r.ErrorCode != 0 {
			t.Fatal(r, err)
		}
	})
	for range 2 {
		c := s.run("--bounded")
		if code := c.exit(time.Minute); code != 1 {
			t.Fatalf("run exits %d, want 1:\n%s", code, c.tail(30))
		}
		for _, want := range []string{"loud loss", "records of totals/0", "--accept-loss"} {
			if !strings.Contains(c.text(), want) {
				t.Errorf("%q is not in:\n%s", want, c.tail(30))
			}
		}
		t.Logf("%s", c.tail(14))
	}
}

// A standby waits while the other process lives, takes over when it is killed, and does not start what was stopped on purpose.
func TestStandby(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes; make test runs it")
	}
	s := newSite(t)
	generator := s.generate(20_000, 5000)
	hasty := []string{"--checkpoint-timeout", "3s", "--heartbeat-timeout", "3s"} // a log that stands still for 6.6 s is nobody's
	one := s.run(hasty...)
	one.says("checkpoint confirmed", 30*time.Second)
	two := s.run(append(hasty, "--standby")...)
	two.says("standing by", 10*time.Second)
	time.Sleep(7 * time.Second)
	if strings.Contains(two.text(), "claimed") {
		t.Fatalf("the standby claimed while the other lives:\n%s", two.tail(20))
	}
	one.kill()
	began := time.Now()
	two.says("checkpoint confirmed", 30*time.Second)
	t.Logf("the standby confirmed a checkpoint %v after the kill", time.Since(began).Round(10*time.Millisecond))
	generator.exit(time.Minute)
	s.caughtUp(two)
	three := s.run(append(hasty, "--standby")...)
	three.says("standing by", 10*time.Second)
	two.signal(syscall.SIGTERM)
	if code := two.exit(30 * time.Second); code != 0 {
		t.Errorf("run exits %d:\n%s", code, two.tail(30))
	}
	three.exit(20 * time.Second)
	if strings.Contains(three.text(), "claimed") {
		t.Errorf("a standby started what was stopped on purpose:\n%s", three.tail(20))
	}
	s.verify()
}

// What a newcomer types wrongly must come back with what to type instead, and exit code 2.
func TestUsage(t *testing.T) {
	cases := []struct {
		args string
		want string
	}{
		{"run", "name one job"},
		{"run paymentz --state x", "payments, copy, fraud, ledger"},
		{"run payments", "--state DIR"},
		{"run payments --state x --guarantee twice", "exactly-once, at-least-once or at-most-once"},
		{"run payments --state x --topic nothing=y", "it has payments, totals"},
		{"run payments --state x --topic nothing", "LOGICAL=NAME"},
		{"run payments --state x --interval 10m", "raise --transaction-timeout above"},
		{"run payments --state x --sasl magic", "ONEFOLD_SASL_USER"},
		{"run payments --state x --interval 0", "--interval 0s: want a time above zero"},
		{"run payments --state x --heartbeat-timeout -1s", "--heartbeat-timeout -1s"},
		{"run payments --state x --taskmanagers 0", "from 1 on"},
		{"run payments --state x --parallelism -1", "0 is as many as processors"},
		{"run payments --state x --retain 0", "--retain 0"},
		{"run payments --state x --restart-limit -1", "0 is no limit"},
		{"run payments --state x --topic totals=payments", "both input and output"},
		{"run payments --demo", "name a directory"},
		{"run payments --demo --brokers 127.0.0.1:9", "name a directory"},
		{"topic", "name the topics"},
		{"topic counts --partitions 0", "from 1 on"},
		{"topic counts --brokers 127.0.0.1:9", "is it running"},
		{"run payments --frobnicate", "unknown flag: --frobnicate"},
		{"generate payments --brokers 127.0.0.1:9", "is it running"},
		{"generate payments --brokers 127.0.0.1:9 --partitions 0", "at least 1"},
		{"verify payments", "name a directory"},
		{"verify payments --state /no-such", "no job has run with --state /no-such"},
		{"broker", `"data" not set`},
		{"fly", "unknown command"},
		{"chaos", `"plan" not set`},
		{"chaos --plan no-such", "the kept plans are broker-paused"},
		{"chaos --plan leader-killed", "line 8, \"at 6s crash leader for 5s\": kfake forgets"},
		{"chaos --plan killed-at-commit --brokers 3", "--kafka-jars DIR"},
		{"chaos --plan killed-at-commit --records -1", "whole numbers"},
		{"chaos --plan killed-at-commit --kafka-jars x --kfake", "none of the others can be"},
		{"chaos --plan killed-at-commit --kafka-jars /no-such", "no jars of Kafka in /no-such; `.ci/kafka fetch`"},
		{"chaos --plan ../../scenarios/testdata/commit-reply-lost.plan", "instead: partition-one-way brokers process1 for 5s"},
		{"conform", "name the cluster"},
		{"conform --brokers 127.0.0.1:9", "no Kafka answers at 127.0.0.1:9: unable to dial"},
		{"conform --brokers 127.0.0.1:9", "is it running"},
		{"conform --profile k36", "there is no profile \"k36\""},
		{"conform --brokers 127.0.0.1:9 --lanes 0", "--lanes 0: want a whole number from 1 on"},
		{"conform --brokers 127.0.0.1:9 --operations -1", "--operations -1: want a whole number from 1 on"},
		{"run payments --state x --ask k7", "ONEFOLD_TEST=1"},
		{"run payments --state x --through a", "HOST:PORT=HOST:PORT"},
	}
	for _, x := range cases {
		t.Run(x.args, func(t *testing.T) {
			dir, temporary := t.TempDir(), t.TempDir()
			t.Setenv("TMPDIR", temporary)
			var out, errOut strings.Builder
			args := strings.Fields(strings.ReplaceAll(x.args, "--state x", "--state "+dir))
			if code := execute(args, &out, &errOut); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(errOut.String(), x.want) {
				t.Errorf("%q is not in: %s%s", x.want, out.String(), errOut.String())
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "job", "log", "*")); len(files) > 0 {
				t.Errorf("written: %v", files)
			}
			if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A file is there whole or as it was before: a recording that is cut short does not take the one before with it.
func TestReplaceIsWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "traces", "4.4.0.txt")
	for _, content := range []string{"", "one\n", "", "two\n"} {
		before, _ := os.ReadFile(file)
		want := string(before)
		var write []byte
		if content != "" {
			write, want = []byte(content), content
		}
		if err := replace(file, write); err != nil {
			t.Fatal(err)
		}
		if after, _ := os.ReadFile(file); string(after) != want {
			t.Errorf("it has %q, want %q", after, want)
		}
	}
	if files, _ := os.ReadDir(filepath.Dir(file)); len(files) != 1 {
		t.Errorf("%v are there", files)
	}
	if err := replace(filepath.Join(file, "in-a-file"), nil); err == nil {
		t.Error("a place that cannot be written to is not told")
	}
}

// The whole tour in one process, with the documents that scripts read.
func TestDemo(t *testing.T) {
	var out, errOut strings.Builder
	args := []string{"run", "payments", "--demo", "--demo-records", "20000", "--state", t.TempDir(), "--json"}
	if code := execute(args, &out, &errOut); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out.String(), errOut.String())
	}
	for _, want := range []string{`"outcome": "ended"`, `"verdict": "CLEAN"`, fmt.Sprintf(`"records": %d`, 20000)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in:\n%s", want, out.String())
		}
	}
}
