package run

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

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

	config     Config
	tolerated  int
	tls        bool
	ca, method string
	through    []string // FROM=TO
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

	f.BoolVar(&x.tls, "tls", false, "speak TLS with the brokers")
	f.StringVar(&x.ca, "tls-ca", "", "`FILE` with the authorities (PEM) that sign the brokers' certificates; implies --tls")
	f.StringVar(&x.method, "sasl", "", "plain, scram-sha-256 or scram-sha-512; user and password come from ONEFOLD_SASL_USER and ONEFOLD_SASL_PASSWORD")

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
	if x.tls || x.ca != "" {
		if c.TLS, err = tlsConfig(x.ca); err != nil {
			return c, err
		}
	}
	c.SASL, err = mechanism(x.method)
	return c, err
}

func tlsConfig(ca string) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	t.RootCAs = x509.NewCertPool()
	if !t.RootCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--tls-ca %s: no certificate in it", ca)
	}
	return t, nil
}

func mechanism(method string) (sasl.Mechanism, error) {
	user, password := os.Getenv("ONEFOLD_SASL_USER"), os.Getenv("ONEFOLD_SASL_PASSWORD")
	if method != "" && user == "" {
		return nil, fmt.Errorf("--sasl %s (one of plain, scram-sha-256, scram-sha-512): set ONEFOLD_SASL_USER and ONEFOLD_SASL_PASSWORD", method)
	}
	switch method {
	case "":
		return nil, nil
	case "plain":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("--sasl %q: plain, scram-sha-256 or scram-sha-512", method)
}
