package localkafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/onefold/onefold/engine/real/subprocess"
)

// clusterID is the same for all: what differs is the port.
const clusterID = "T25lZm9sZC1sb2NhbC1LYQ"

// process is one broker.
type process struct {
	config Config
	number int
	dir    string
	jars   string

	mu    sync.Mutex
	cmd   *exec.Cmd       // nil: none was started
	ended <-chan struct{} // closed when cmd has ended
}

func (p *process) log() string { return filepath.Join(p.dir, "out.log") }

func (p *process) properties() string { return filepath.Join(p.dir, "server.properties") }

// command is java with a class of the jars, as fast to start and as small as it can be.
func (p *process) command(class string, args ...string) *exec.Cmd {
	flags := p.config.flags
	if flags == nil {
		flags = archived(p.jars)
	}
	return exec.Command(p.config.Java, append(append([]string{
		"-Xmx" + p.config.Heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
		"-Djava.awt.headless=true", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config.AbstractConfig=warn",
	}, flags...), append([]string{"-cp", filepath.Join(p.jars, "*"), class}, args...)...)...)
}

// format writes the properties, and prepares the data folder where there is none.
func (p *process) format(ctx context.Context) error {
	data := filepath.Join(p.dir, "data")
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(p.properties(), []byte(p.config.properties(p.number, p.dir)), 0o666); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(data, "meta.properties")); err == nil {
		return nil
	}
	args := []string{"format", "--cluster-id", clusterID, "--config", p.properties()}
	for _, f := range p.config.Features {
		args = append(args, "--feature", f)
	}
	cmd := p.command("kafka.tools.StorageTool", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	ended, err := launch(cmd)
	if err != nil {
		return fmt.Errorf("format broker %d: %w", p.number, err)
	}
	select {
	case <-ended:
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-ended
		return fmt.Errorf("format broker %d: %w", p.number, ctx.Err())
	}
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("format broker %d: %s:\n%s", p.number, cmd.ProcessState, last(out.Bytes()))
	}
	return nil
}

// launch starts a command whose process ends with this one.
func launch(cmd *exec.Cmd) (<-chan struct{}, error) {
	ended := make(chan struct{})
	return ended, subprocess.Start(cmd, func() {
		_ = cmd.Wait() // ProcessState tells
		close(ended)
	})
}

// start starts the broker and waits until it serves.
func (p *process) start(ctx context.Context) error {
	out, err := os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer out.Close()
	from, err := out.Seek(0, 2)
	if err != nil {
		return err
	}
	cmd := p.command("kafka.Kafka", p.properties())
	cmd.Stdout, cmd.Stderr = out, out
	ended, err := launch(cmd)
	if err != nil {
		return fmt.Errorf("start broker %d: %w", p.number, err)
	}
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
	return p.serving(ctx, ended, from)
}

// serving waits until the broker says so in its log, from a position on.
func (p *process) serving(ctx context.Context, ended <-chan struct{}, from int64) error {
	for {
		said, err := p.said(from)
		if err != nil {
			return err
		}
		if bytes.Contains(said, []byte("Kafka Server started")) {
			return nil
		}
		select {
		case <-ended:
			said, _ = p.said(from)
			return fmt.Errorf("broker %d at %s ended (%s); the last lines of its log:\n%s", p.number, p.config.address(p.number), p.cmd.ProcessState, last(said))
		case <-ctx.Done():
			return fmt.Errorf("broker %d at %s does not serve: %w; the last lines of its log:\n%s", p.number, p.config.address(p.number), ctx.Err(), last(said))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// said is the log from a position on.
func (p *process) said(from int64) ([]byte, error) {
	all, err := os.ReadFile(p.log())
	if err != nil {
		return nil, err
	}
	return all[min(from, int64(len(all))):], nil
}

// last is the last lines of a log that say something: its errors, and how it ends.
func last(log []byte) string {
	const most = 15
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return "\t" + strings.Join(lines[max(0, len(lines)-most):], "\n\t")
}

func (p *process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("broker %d does not run", p.number)
	}
	return p.cmd.Process.Signal(s)
}

// end sends a signal that ends the broker, and waits until it is gone.
func (p *process) end(ctx context.Context, s syscall.Signal) error {
	if !p.running() {
		return nil
	}
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if s == syscall.SIGTERM {
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // a paused one would never see it
	}
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("broker %d does not end: %w; Kill does", p.number, ctx.Err())
	}
}
