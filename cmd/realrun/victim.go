package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/onefold/onefold/engine/real/subprocess"
	"github.com/onefold/onefold/faults"
)

// victim is a `realrun run` as a process of the operating system, started again and again. Its methods are called on the one
// goroutine of its ordeal, which also hears what it says.
type victim struct {
	name string
	dir  string // its logs
	args func() []string
	asks func() []faults.Trigger
	post func(func())

	heard  func(line string) // an event worth telling
	passed func(faults.Passed)
	exited func(code int, lastLine string)

	starts  int
	running *running // nil: none runs
	last    faults.Hook
}

// running is one start of a victim.
type running struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	asked  []faults.Trigger
	ended  chan struct{} // closed when the process is gone
	killed bool          // by the ordeal
	paused bool
	worked bool // its job has run
	last   string
}

func (v *victim) log() string {
	return filepath.Join(v.dir, fmt.Sprintf("%s.%d.log", v.name, v.starts))
}

func (v *victim) up() bool { return v.running != nil }

func (v *victim) start() error {
	if v.up() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	v.starts++
	r := &running{asked: v.asks(), ended: make(chan struct{})}
	args := v.args()
	for _, t := range r.asked {
		args = append(args, "--ask", askOf(t))
	}
	r.cmd = exec.Command(self, args...)
	r.cmd.Env = append(os.Environ(), "ONEFOLD_TEST=1")
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	said, err := r.cmd.StderrPipe()
	if err != nil {
		return err
	}
	log, err := os.Create(v.log())
	if err != nil {
		return err
	}
	r.cmd.Stdout = log
	if _, err := fmt.Fprintln(log, "$ ONEFOLD_TEST=1 realrun", strings.Join(args, " ")); err != nil {
		return err
	}
	if err := v.launch(r, said, log); err != nil {
		return err
	}
	v.running = r
	return nil
}

// launch starts the process and hears it out.
func (v *victim) launch(r *running, said io.Reader, log io.WriteCloser) error {
	return subprocess.Start(r.cmd, func() {
		lines := bufio.NewScanner(said)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			fmt.Fprintln(log, line)
			v.post(func() { v.hear(r, line) })
		}
		_ = r.cmd.Wait() // ProcessState tells
		log.Close()
		close(r.ended)
		v.post(func() {
			if v.running == r {
				v.running = nil
			}
			if !r.killed {
				v.exited(r.cmd.ProcessState.ExitCode(), r.last)
			}
		})
	})
}

// askOf writes the conditions of a trigger as --ask takes them. Which occurrence it is, the nemesis counts over all processes.
func askOf(t faults.Trigger) string {
	t.Nth = 0
	return strings.TrimPrefix(t.String(), "on ")
}

// hear is one line of a process.
func (v *victim) hear(r *running, line string) {
	if number, rest, ok := asking(line); ok {
		p, ok := v.parse(rest)
		if ok && !r.killed {
			v.passed(p)
		}
		if !r.killed {
			fmt.Fprintf(r.stdin, "go %d\n", number) // one that is stopped reads it when it goes on
		}
		return
	}
	r.last = line
	_, text, _ := strings.Cut(line, " ") // behind the time
	if rest, ok := strings.CutPrefix(text, "DEBUG hook "); ok {
		p, ok := v.parse(rest)
		if ok {
			v.last = p.Hook
		}
		for _, t := range r.asked {
			if t.Matches(p) {
				return // the question follows
			}
		}
		if ok && !r.killed {
			v.passed(p)
		}
		return
	}
	if strings.HasPrefix(text, "running ") {
		r.worked = true
	}
	if v.running == r {
		v.heard(text)
	}
}

func asking(line string) (number int, rest string, ok bool) {
	if rest, ok = strings.CutPrefix(line, "asking "); !ok {
		return 0, "", false
	}
	text, rest, _ := strings.Cut(rest, " ")
	number, err := strconv.Atoi(text)
	return number, rest, err == nil
}

// parse reads the fields of a hook, of a question or of the log.
func (v *victim) parse(fields string) (p faults.Passed, ok bool) {
	p = faults.Passed{Node: v.name, Vertex: -1}
	for _, f := range strings.Fields(fields) {
		key, value, _ := strings.Cut(f, "=")
		n, _ := strconv.ParseInt(value, 10, 64) // what is no number is not needed as one
		switch key {
		case "at":
			p.Hook, ok = faults.ParseHook(value)
		case "generation":
			p.Generation = uint64(n)
		case "checkpoint":
			p.Checkpoint = uint64(n)
		case "vertex":
			p.Vertex = int32(n)
		case "subtask":
			if _, err := fmt.Sscanf(value, "v%d/%d", &p.Vertex, &p.Subtask); err != nil {
				p.Subtask = int32(n)
			}
		}
	}
	return p, ok
}

// kill is kill -9. The process is gone when it returns.
func (v *victim) kill() bool {
	r := v.running
	if r == nil {
		return false
	}
	r.killed = true
	_ = r.cmd.Process.Signal(syscall.SIGKILL)
	<-r.ended
	v.running = nil
	return true
}

func (v *victim) pause() bool {
	if v.running == nil || v.running.paused {
		return false
	}
	v.running.paused = true
	return v.running.cmd.Process.Signal(syscall.SIGSTOP) == nil
}

func (v *victim) resume() bool {
	if v.running == nil || !v.running.paused {
		return false
	}
	v.running.paused = false
	return v.running.cmd.Process.Signal(syscall.SIGCONT) == nil
}

func (v *victim) pid() int {
	if v.running == nil {
		return 0
	}
	return v.running.cmd.Process.Pid
}
