package localkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// patience is how long is waited for a broker where the context has no deadline; on a busy machine three take a minute and more.
const patience = 5 * time.Minute

// Cluster is a running cluster. Its methods may be called from several goroutines, for one broker by one at a time.
type Cluster struct {
	config  Config
	dir     string
	brokers []*process
}

// Start formats and starts all brokers and waits until they serve. A cluster that does not come up is closed.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, fmt.Errorf("local Kafka: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	dir := config.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "onefold-kafka-"); err != nil {
			return nil, fmt.Errorf("local Kafka: %w", err)
		}
	}
	c := &Cluster{config: config, dir: dir}
	for i := range config.Nodes {
		c.brokers = append(c.brokers, &process{config: config, number: i, dir: filepath.Join(dir, fmt.Sprint(i)), jars: config.Jars})
	}
	err := c.all((*process).format, ctx)
	if err == nil {
		err = c.all((*process).start, ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("local Kafka: %w", err), c.Close())
	}
	return c, nil
}

// bounded gives a context without a deadline one.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, patience)
}

// all does the same with all brokers at a time: a quorum comes up together.
func (c *Cluster) all(do func(*process, context.Context) error, ctx context.Context) error {
	errs := make([]error, len(c.brokers))
	var wait sync.WaitGroup
	for i, p := range c.brokers {
		wait.Go(func() { errs[i] = do(p, ctx) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (c *Cluster) broker(i int) (*process, error) {
	if i < 0 || i >= len(c.brokers) {
		return nil, fmt.Errorf("local Kafka: there is no broker %d, only 0 to %d", i, len(c.brokers)-1)
	}
	return c.brokers[i], nil
}

// Bootstrap is the addresses of all brokers.
func (c *Cluster) Bootstrap() []string {
	var all []string
	for i := range c.brokers {
		all = append(all, c.config.address(i))
	}
	return all
}

// Nodes is how many brokers there are.
func (c *Cluster) Nodes() int { return len(c.brokers) }

// Log is the file of what broker i has printed, through all its starts.
func (c *Cluster) Log(i int) string { return c.brokers[i].log() }

// Running reports whether broker i has a process; a paused one has.
func (c *Cluster) Running(i int) bool { return c.brokers[i].running() }

// Kill ends broker i at once, as a power cut does but for what the system has not yet written; its data stays.
func (c *Cluster) Kill(i int) error { return c.end(context.Background(), i, syscall.SIGKILL) }

// Stop ends broker i cleanly: it hands its leaders over first.
func (c *Cluster) Stop(ctx context.Context, i int) error { return c.end(ctx, i, syscall.SIGTERM) }

func (c *Cluster) end(ctx context.Context, i int, s syscall.Signal) error {
	p, err := c.broker(i)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	return p.end(ctx, s)
}

// Start starts broker i on its data and waits until it serves. It does nothing when it runs.
func (c *Cluster) Start(ctx context.Context, i int) error {
	p, err := c.broker(i)
	if err != nil || p.running() {
		return err
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	return p.start(ctx)
}

// Pause holds broker i: its connections stay open, and nothing is answered until Resume.
func (c *Cluster) Pause(i int) error { return c.signal(i, syscall.SIGSTOP) }

// Resume lets a paused broker go on.
func (c *Cluster) Resume(i int) error { return c.signal(i, syscall.SIGCONT) }

func (c *Cluster) signal(i int, s syscall.Signal) error {
	p, err := c.broker(i)
	if err != nil {
		return err
	}
	return p.signal(s)
}

// Roll stops broker i cleanly and starts it on the same data with the jars of another release, and waits until it serves.
func (c *Cluster) Roll(ctx context.Context, i int, jars string) error {
	p, err := c.broker(i)
	if err != nil {
		return err
	}
	if err := checkJars(jars); err != nil {
		return fmt.Errorf("roll broker %d: %w", i, err)
	}
	if err := c.Stop(ctx, i); err != nil {
		return err
	}
	p.jars = jars
	return c.Start(ctx, i)
}

// Close kills all brokers and removes their data.
func (c *Cluster) Close() error {
	var errs []error
	for i := range c.brokers {
		errs = append(errs, c.Kill(i))
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}
