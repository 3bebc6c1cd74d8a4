package run

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/task"
)

// Config says what to run and how. Zero values are the defaults named.
type Config struct {
	Job *graph.Job
	// Brokers are HOST:PORT of the cluster. Empty: a Kafka inside this process, its data under State.
	Brokers []string
	TLS     *tls.Config
	SASL    sasl.Mechanism
	// Through are addresses to dial in place of the brokers' own: tunnels, and the proxies of tests.
	Through map[string]string
	// State is the directory of the job's log and checkpoints. Invariant: not empty.
	State string

	Parallelism  int32 // subtasks of each operator that does not say itself; default: as many as processors
	TaskManagers int32 // in this process; default 1

	Checkpoint       checkpoint.Config
	HeartbeatTimeout time.Duration // default 5 s
	CancelTimeout    time.Duration // how long user functions have to react when the job restarts or stops; default 30 s
	RestartLimit     int           // restarts in a row; default: without limit

	Restore    string // key of a savepoint's seal
	Rewind     bool
	AcceptLoss bool
	Standby    bool // Run waits until nobody runs the job

	// MirrorGroup is a consumer group that is told the positions of each confirmed checkpoint, for lag tools.
	MirrorGroup string
	// WaitTopics is how long topics that do not exist are waited for. Default 10 s.
	WaitTopics time.Duration
	// Hold parks the job at a hook, as "k7" or "k7@3" (from checkpoint 3 on); for tests.
	Hold string
	// Ask are hooks at which the job asks whoever started its process, as "k7 checkpoint=3"; for tests.
	Ask []string
	// Alter replaces decisions of the engine; for tests that must show that damage would be seen.
	Alter Alterations

	Log *slog.Logger // default: slog.Default
	// OnEvent is told what happens to the job, on a loop of the JobManager.
	OnEvent func(jobmanager.Event)
}

// Alterations change what the parts of a job are configured with. The zero value changes nothing.
type Alterations struct {
	JobManager func(*jobmanager.Config)
	Committer  func(*sink.CommitterConfig)
	Task       func(*task.Options)
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Job == nil:
		return c, errors.New("no job")
	case c.State == "":
		return c, errors.New("no state directory: --state DIR is where the job's log and checkpoints live")
	case c.Parallelism < 0:
		return c, fmt.Errorf("--parallelism %d: want a whole number from 1 on; 0 is as many as processors", c.Parallelism)
	case c.TaskManagers < 0:
		return c, fmt.Errorf("--taskmanagers %d: want a whole number from 1 on", c.TaskManagers)
	case c.Checkpoint.Interval < 0, c.Checkpoint.Timeout < 0, c.Checkpoint.Pause < 0, c.HeartbeatTimeout < 0:
		return c, errors.New("--interval, --checkpoint-timeout, --heartbeat-timeout and --pause cannot be negative")
	case c.RestartLimit < 0:
		return c, fmt.Errorf("--restart-limit %d: want a whole number; 0 is no limit", c.RestartLimit)
	}
	if c.Parallelism == 0 {
		c.Parallelism = int32(runtime.GOMAXPROCS(0))
	}
	if c.TaskManagers == 0 {
		c.TaskManagers = 1
	}
	if c.HeartbeatTimeout == 0 {
		c.HeartbeatTimeout = 5 * time.Second
	}
	if c.WaitTopics == 0 {
		c.WaitTopics = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, nil
}

// slots of each TaskManager: enough for the widest vertex of the plan.
func (c Config) slots(plan *graph.Plan) int32 {
	widest := c.Parallelism
	for _, v := range plan.Vertices {
		widest = max(widest, v.Parallelism)
	}
	return (widest + c.TaskManagers - 1) / c.TaskManagers
}

func (c Config) plan() (*graph.Plan, error) {
	plan, err := c.Job.Plan(graph.Parallelism{Default: c.Parallelism})
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", c.Job.Name, err)
	}
	return plan, nil
}
