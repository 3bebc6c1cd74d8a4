package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/localkafka"
	"github.com/onefold/onefold/engine/real/subprocess"
)

// brokers is a cluster of processes that a plan strikes; brokers are numbered from 0.
type brokers interface {
	addresses() []string
	crash(i int) error
	restart(i int) error // returns when it serves
	pause(i int) error
	resume(i int) error
	close()
	String() string
}

// kafkaBrokers are Apache Kafka's.
type kafkaBrokers struct {
	*localkafka.Cluster
	jars string
}

func startKafka(ctx context.Context, jars string, nodes, port int, dir string) (*kafkaBrokers, error) {
	c, err := localkafka.Start(ctx, localkafka.Config{Jars: jars, Nodes: nodes, Port: port, Dir: dir})
	if err != nil {
		return nil, err
	}
	return &kafkaBrokers{c, jars}, nil
}

func (k *kafkaBrokers) addresses() []string { return k.Bootstrap() }
func (k *kafkaBrokers) crash(i int) error   { return k.Kill(i) }
func (k *kafkaBrokers) pause(i int) error   { return k.Pause(i) }
func (k *kafkaBrokers) resume(i int) error  { return k.Resume(i) }
func (k *kafkaBrokers) close()              { _ = k.Close() }
func (k *kafkaBrokers) restart(i int) error { return k.Start(context.Background(), i) }

func (k *kafkaBrokers) String() string {
	found, _ := filepath.Glob(filepath.Join(k.jars, "kafka_2.13-*.jar"))
	version := "of " + k.jars
	if len(found) > 0 {
		version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "kafka_2.13-"), ".jar")
	}
	return fmt.Sprintf("Apache Kafka %s, %s", version, plural(k.Nodes(), "broker"))
}

// kfakeBroker is `realrun broker` as a process.
type kfakeBroker struct {
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
}

func startKfake(dir string) (*kfakeBroker, error) {
	port, err := embedded.FreePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "broker0.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	b := &kfakeBroker{address: fmt.Sprintf("127.0.0.1:%d", port), ended: make(chan struct{})}
	b.cmd = exec.Command(self, "broker", "--data", filepath.Join(dir, "kafka"), "--listen", b.address)
	b.cmd.Stdout, b.cmd.Stderr = log, log
	return b, subprocess.Start(b.cmd, func() {
		_ = b.cmd.Wait()
		close(b.ended)
	})
}

func (b *kfakeBroker) addresses() []string { return []string{b.address} }
func (b *kfakeBroker) crash(int) error     { return errors.New("kfake is not killed: it forgets") }
func (b *kfakeBroker) restart(int) error   { return nil }
func (b *kfakeBroker) pause(int) error     { return b.cmd.Process.Signal(syscall.SIGSTOP) }
func (b *kfakeBroker) resume(int) error    { return b.cmd.Process.Signal(syscall.SIGCONT) }
func (b *kfakeBroker) String() string      { return "kfake, 1 broker" }

func (b *kfakeBroker) close() {
	_ = b.cmd.Process.Signal(syscall.SIGCONT)
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.ended:
	case <-time.After(5 * time.Second):
		_ = b.cmd.Process.Kill()
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if what == "process" {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
