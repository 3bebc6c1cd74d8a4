package run

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/onefold/onefold/engine/operator"
)

// Flags are the settings of a run on a command line. Names, bounds and guarantee become part of the job before it is built.
type Flags struct {
	Brokers            string
	State              string
	Topics             []string // LOGICAL=NAME
	Bounded            bool
	Guarantee          string
	TransactionTimeout time.Duration
	Security           Security

	config    Config
	tolerated int
	through   []string // FROM=TO
}

// Add puts the flags into a set.
func (x *Flags) Add(f *pflag.FlagSet) {
	c := &x.config
	f.StringVar(&x.Brokers, "brokers", "embedded", "`HOST:PORT,...` of the cluster, or embedded: a Kafka inside this process, its data under --state")
	f.StringVar(&x.State, "state", "", "`DIR`ectory of the job's log and checkpoints (made if missing)")
	f.StringArrayVar(&x.Topics, "topic", nil, "`LOGICAL=NAME`: the cluster's name of one of the job's topics (repeat)")
	f.BoolVar(&x.Bounded, "bounded", false, "end at what the input holds now")
	f.StringVar(&x.Guarantee, "guarantee", "exactly-once", "exactly-once, at-least-once or at-most-once")
	f.DurationVar(&x.TransactionTimeout, "transaction-timeout", 5*time.Minute, "how long Kafka keeps a transaction open")

	f.DurationVar(&c.Checkpoint.Interval, "interval", 5*time.Second, "from checkpoint to checkpoint: output becomes visible so often")
	f.DurationVar(&c.Checkpoint.Timeout, "checkpoint-timeout", 30*time.Second, "a checkpoint that takes longer is given up")
	f.DurationVar(&c.Checkpoint.Pause, "pause", 0, "at least so long between two checkpoints")
	f.IntVar(&x.tolerated, "tolerated-failures", 2, "checkpoints that may fail in a row before the job restarts")
	f.IntVar(&c.Checkpoint.Retain, "retain", 2, "completed checkpoints that are kept")
	f.Int32Var(&c.Parallelism, "parallelism", 0, "subtasks of each operator; 0: as many as processors")
	f.Int32Var(&c.TaskManagers, "taskmanagers", 1, "TaskManagers in this process")
	f.IntVar(&c.RestartLimit, "restart-limit", 0, "restarts in a row before the job fails; 0: no limit")
	f.DurationVar(&c.HeartbeatTimeout, "heartbeat-timeout", 5*time.Second, "silence after which a TaskManager or JobManager counts as dead")
	f.StringVar(&c.MirrorGroup, "mirror-group", "", "consumer `GROUP` that is told the positions, for lag tools; never read back")
	f.StringVar(&c.Restore, "restore", "", "`SAVEPOINT` to start from, as its command printed it")
	f.BoolVar(&c.Rewind, "rewind", false, "allow --restore to repeat output that is visible already")
	f.BoolVar(&c.AcceptLoss, "accept-loss", false, "go on after a loud loss; the report stays in the job log")
	f.BoolVar(&c.Standby, "standby", false, "wait until the active process is gone")
	f.DurationVar(&c.WaitTopics, "wait-topics", 10*time.Second, "how long topics that do not exist are waited for")

	x.Security.Add(f)

	f.StringVar(&c.Hold, "hold", "", "`HOOK[@CHECKPOINT]` to park at until SIGUSR1")
	f.StringArrayVar(&c.Ask, "ask", nil, "`HOOK [CONDITION...]` at which to ask the parent process (repeat)")
	f.StringArrayVar(&x.through, "through", nil, "`HOST:PORT=HOST:PORT`: a broker's address, and the one to dial instead (repeat)")
	for _, name := range []string{"hold", "ask", "through"} {
		_ = f.MarkHidden(name)
	}
}

// Options are what the job is built with.
func (x *Flags) Options() (Options, error) {
	o := Options{Topics: map[string]string{}, Bounded: x.Bounded, TransactionTimeout: x.TransactionTimeout, ToleratedFailures: int32(max(x.tolerated, 0))}
	for _, t := range x.Topics {
		logical, name, ok := strings.Cut(t, "=")
		if !ok || logical == "" || name == "" {
			return o, fmt.Errorf("--topic %q: not of the form LOGICAL=NAME", t)
		}
		if other, ok := o.Topics[logical]; ok && other != name {
			return o, fmt.Errorf("--topic %q: %s is named %s already", t, logical, other)
		}
		o.Topics[logical] = name
	}
	switch x.Guarantee {
	case "exactly-once":
		o.Guarantee = operator.ExactlyOnce
	case "at-least-once":
		o.Guarantee = operator.AtLeastOnce
	case "at-most-once":
		o.Guarantee = operator.AtMostOnce
	default:
		return o, fmt.Errorf("--guarantee %q: exactly-once, at-least-once or at-most-once", x.Guarantee)
	}
	return o, nil
}

// check refuses the zeros that Config takes for its defaults, and what is below them.
func (x *Flags) check() error {
	c := x.config
	for _, d := range []struct {
		flag string
		is   time.Duration
	}{
		{"interval", c.Checkpoint.Interval},
		{"checkpoint-timeout", c.Checkpoint.Timeout},
		{"heartbeat-timeout", c.HeartbeatTimeout},
		{"transaction-timeout", x.TransactionTimeout},
	} {
		if d.is <= 0 {
			return fmt.Errorf("--%s %v: want a time above zero, as 1s", d.flag, d.is)
		}
	}
	switch {
	case c.TaskManagers < 1:
		return fmt.Errorf("--taskmanagers %d: want a whole number from 1 on", c.TaskManagers)
	case c.Checkpoint.Retain < 1:
		return fmt.Errorf("--retain %d: want a whole number from 1 on", c.Checkpoint.Retain)
	case x.tolerated < 0:
		return fmt.Errorf("--tolerated-failures %d: want a whole number; 0 restarts the job at the first", x.tolerated)
	case c.WaitTopics < 0:
		return fmt.Errorf("--wait-topics %v: cannot be negative", c.WaitTopics)
	}
	return nil
}

// Config is the rest, for Start; the job is still to be set.
func (x *Flags) Config() (Config, error) {
	if err := x.check(); err != nil {
		return Config{}, err
	}
	c := x.config
	c.State = x.State
	if x.Brokers != "embedded" {
		for b := range strings.SplitSeq(x.Brokers, ",") {
			c.Brokers = append(c.Brokers, strings.TrimSpace(b))
		}
	}
	if c.Checkpoint.Tolerated = x.tolerated; x.tolerated == 0 {
		c.Checkpoint.Tolerated = -1 // zero would be the default
	}
	for _, t := range x.through {
		from, to, ok := strings.Cut(t, "=")
		if !ok || from == "" || to == "" {
			return c, fmt.Errorf("--through %q: not of the form HOST:PORT=HOST:PORT", t)
		}
		if c.Through == nil {
			c.Through = map[string]string{}
		}
		c.Through[from] = to
	}
	var err error
	c.TLS, c.SASL, err = x.Security.Config()
	return c, err
}
