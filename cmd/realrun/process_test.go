package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/scenarios/controls"
)

// TestMain lets the test binary be the program: the tests start it as a process, to stop and to kill.
func TestMain(m *testing.M) {
	if os.Getenv("ONEFOLD_TEST_REALRUN") == "1" {
		os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Setenv("ONEFOLD_TEST_REALRUN", "1") // for what chaos starts
	os.Exit(m.Run())
}

func init() {
	knownBad = func(name string) (altered, bool) {
		e, ok := controls.Find(name)
		return altered{e.Job, run.Alterations{JobManager: e.JobManager, Committer: e.Committer, Task: e.Task}}, ok
	}
}

// child is a realrun process. Its stderr is kept in a file, whole up to the instant of a kill.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  string
	done chan struct{}

	mu   sync.Mutex
	code int
}

var children int

func start(t *testing.T, args ...string) *child {
	t.Helper()
	children++
	c := &child{t: t, log: filepath.Join(t.TempDir(), fmt.Sprintf("%03d-%s.log", children, args[0])), done: make(chan struct{})}
	f, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c.cmd = exec.Command(os.Args[0], args...)
	c.cmd.Env = append(os.Environ(), "ONEFOLD_TEST_REALRUN=1", "ONEFOLD_TEST=1")
	c.cmd.Stdout, c.cmd.Stderr = f, f
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		c.mu.Lock()
		c.code = c.cmd.ProcessState.ExitCode()
		c.mu.Unlock()
		close(c.done)
	}()
	t.Cleanup(func() {
		if !c.over() {
			c.signal(syscall.SIGCONT)
			c.signal(syscall.SIGKILL)
			<-c.done
		}
		if t.Failed() {
			t.Logf("%v (%s):\n%s", args, c.log, c.tail(40))
			if dir := os.Getenv("ONEFOLD_TEST_LOGS"); dir != "" { // whole logs, for whoever looks into a failure
				_ = os.WriteFile(filepath.Join(dir, filepath.Base(c.log)), []byte(c.text()), 0o666)
			}
		}
	})
	return c
}

func (c *child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

func (c *child) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

func (c *child) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// exit waits for the end and returns the exit code.
func (c *child) exit(within time.Duration) int {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(within):
		c.t.Fatalf("%v does not end within %v:\n%s", c.cmd.Args[1:], within, c.tail(40))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code
}

func (c *child) text() string {
	b, _ := os.ReadFile(c.log)
	return string(b)
}

func (c *child) tail(n int) string {
	lines := strings.Split(strings.TrimSpace(c.text()), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// says waits until the process has printed something that matches, counted from a byte of its output, and returns the match.
func (c *child) says(pattern string, within time.Duration) string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	for end := time.Now().Add(within); ; time.Sleep(2 * time.Millisecond) {
		if m := re.FindString(c.text()); m != "" {
			return m
		}
		if c.over() || time.Now().After(end) {
			c.t.Fatalf("%v never said %q:\n%s", c.cmd.Args[1:], pattern, c.tail(40))
		}
	}
}

// lastHook is the last hook that the process passed.
func (c *child) lastHook() string {
	last := "none"
	s := bufio.NewScanner(strings.NewReader(c.text()))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if _, rest, ok := strings.Cut(s.Text(), " hook at="); ok {
			last, _, _ = strings.Cut(rest, " ")
		}
	}
	return last
}
