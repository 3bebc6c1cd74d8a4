package localkafka

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// jars are those of a release, for tests that start brokers.
func jars(t *testing.T, version string) string {
	t.Helper()
	if os.Getenv("ONEFOLD_LOCAL_KAFKA") == "" {
		t.Skip("starts real brokers: ONEFOLD_LOCAL_KAFKA=1, after KAFKA_VERSION=" + version + " .ci/kafka fetch")
	}
	folder, err := Jars(version)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// What is missing must be said in words that help, before anything runs.
func TestWhatIsMissingIsSaid(t *testing.T) {
	fake := t.TempDir()
	if err := os.WriteFile(filepath.Join(fake, "kafka_2.13-9.9.9.jar"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	java := filepath.Join(fake, "java")
	if err := os.WriteFile(java, []byte("#!/bin/sh\necho a broken java >&2\nexit 3\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for _, x := range []struct {
		config Config
		want   string
	}{
		{Config{Jars: fake, Java: "no-such-java"}, "no java (no-such-java): install"},
		{Config{Java: java}, "no folder of jars"},
		{Config{Java: java, Jars: t.TempDir()}, "no jars of Kafka in"},
		{Config{Java: java, Jars: fake, Nodes: -1}, "at least one broker"},
		{Config{Java: java, Jars: fake, Settings: []string{"x"}}, `setting "x"`},
		{Config{Java: java, Jars: fake, Port: port}, "is taken"},
		{Config{Java: java, Jars: fake, Port: 20480}, "exit status 3:\n\ta broken java"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		x.config.Dir = dir
		c, err := Start(context.Background(), x.config)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.config, err, x.want)
		}
		if c != nil {
			t.Errorf("%+v: a cluster beside the error", x.config)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%+v: its data is left", x.config)
		}
	}
	t.Setenv("ONEFOLD_KAFKA_JARS", fake)
	if _, err := Jars("9.9.9"); err == nil || !strings.Contains(err.Error(), "KAFKA_VERSION=9.9.9 .ci/kafka fetch") {
		t.Error(err)
	}
}

// A broker that is killed, stopped, held or rolled must keep what it acknowledged, and no process may be left behind.
func TestBrokersAreUnderControl(t *testing.T) {
	old, now := jars(t, "4.1.2"), jars(t, "4.4.0")
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	for _, folder := range []string{old, now} {
		if err := Train(ctx, Config{Jars: folder, Port: 20440}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	c, err := Start(ctx, Config{Jars: old, Nodes: 3, Port: 20440, Features: []string{"transaction.version=1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for i, p := range c.brokers {
			if err := syscall.Kill(p.cmd.Process.Pid, 0); err == nil {
				t.Errorf("broker %d is left behind", i)
			}
		}
		if _, err := os.Stat(c.dir); err == nil {
			t.Error("the data is left behind")
		}
	})
	t.Logf("three brokers in %s", time.Since(began))
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...), kgo.ConsumeTopics("t"), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	if _, err := admin.CreateTopic(ctx, 1, 3, nil, "t"); err != nil {
		t.Fatal(err)
	}
	sent := 0
	write := func() {
		t.Helper()
		if err := cl.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint(sent))).FirstErr(); err != nil {
			t.Fatal(err)
		}
		sent++
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		write()
	}
	write()
	must(c.Kill(0))
	if c.Running(0) || !c.Running(1) {
		t.Fatal("running: 0 should not, 1 should")
	}
	must(c.Start(ctx, 0))
	must(c.Pause(1))
	must(c.Resume(1))
	must(c.Pause(2))
	must(c.Stop(ctx, 2))
	must(c.Start(ctx, 2))
	for i := range 3 {
		began := time.Now()
		must(c.Roll(ctx, i, now))
		t.Logf("broker %d rolled in %s", i, time.Since(began))
	}
	if err := c.Feature(ctx, "transaction.version", 2); err != nil {
		t.Fatal(err)
	}
	write()
	for got := 0; got < sent; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range fetches.Records() {
			if string(r.Value) != fmt.Sprint(got) {
				t.Fatalf("record %q, want %d", r.Value, got)
			}
			got++
		}
	}
	if err := c.Feature(ctx, "no.such.feature", 1); err == nil {
		t.Error("a feature that nobody knows was raised")
	}
	if err := c.Pause(7); err == nil || !strings.Contains(err.Error(), "there is no broker 7") {
		t.Error(err)
	}
}

// A broker that dies must be an error with the end of its log, not a wait.
func TestBrokerThatDiesSaysWhy(t *testing.T) {
	folder := jars(t, "4.4.0")
	began := time.Now()
	_, err := Start(context.Background(), Config{Jars: folder, Port: 20450, Settings: []string{"num.io.threads=none"}})
	if err == nil || !strings.Contains(err.Error(), "num.io.threads") || time.Since(began) > patience/2 {
		t.Fatal(time.Since(began), err)
	}
}
