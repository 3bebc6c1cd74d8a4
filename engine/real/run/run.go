package run

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/fsblob"
	realkafka "github.com/onefold/onefold/engine/real/kafka"
	"github.com/onefold/onefold/engine/real/process"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/taskmanager"
)

// jobManagerAddr names this process's JobManager. It is what another process says that it was displaced by.
func jobManagerAddr() env.Addr {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return env.Addr(fmt.Sprintf("jobmanager-%s-%d", host, os.Getpid()))
}

// JobDirectory is where a job's log and checkpoints live below a state directory.
func JobDirectory(state string) string { return filepath.Join(state, "job") }

// KafkaDirectory is where the embedded Kafka's data live below a state directory.
func KafkaDirectory(state string) string { return filepath.Join(state, "kafka") }

// Running is a job that runs in this process.
type Running struct {
	Brokers []string // of the cluster in use

	cfg       Config
	log       *slog.Logger
	probes    *probes
	embedded  *embedded.Broker
	processes []*process.Process
	manager   *jobmanager.JobManager
	over      chan struct{}

	mu        sync.Mutex
	outcome   Outcome
	confirmed id.Checkpoint
	own       id.Generation
	savepoint blob.Key
	heard     time.Time // when the job went forward last
}

// Start starts a job. An error means that nothing runs, and that nothing was written but the state directory itself.
func Start(c Config) (*Running, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	plan, err := c.plan()
	if err != nil {
		return nil, err
	}
	sinks := sink.SpecsOf(plan)
	if err := apart(c.Job, sinks); err != nil {
		return nil, err
	}
	if c.Job.Guarantee == operator.ExactlyOnce {
		if err := c.auditBudget(sinks); err != nil {
			return nil, err
		}
	}
	held, err := parseHold(c.Hold, os.Stderr)
	if err != nil {
		return nil, err
	}
	asks, err := parseAsks(c.Ask, os.Stdin, os.Stderr)
	if err != nil {
		return nil, err
	}
	store, err := fsblob.Open(JobDirectory(c.State))
	if err != nil {
		return nil, err
	}
	r := &Running{cfg: c, log: c.Log, probes: newProbes(), over: make(chan struct{}), Brokers: c.Brokers}
	if err := r.start(plan, sinks, store, held, asks); err != nil {
		r.close()
		return nil, err
	}
	go r.watchQuiet()
	return r, nil
}

func (r *Running) start(plan *graph.Plan, sinks []sink.Spec, store *fsblob.Directory, held *hold, asks *asker) error {
	c := r.cfg
	if len(r.Brokers) == 0 {
		b, err := embedded.Start(KafkaDirectory(c.State), "")
		if err != nil {
			return err
		}
		r.embedded, r.Brokers = b, []string{b.Address}
	}
	kafkaCluster, err := realkafka.New(realkafka.Config{Bootstrap: r.Brokers, ClientID: "onefold-" + c.Job.Name, TLS: c.TLS, SASL: c.SASL, Through: c.Through})
	if err != nil {
		return err
	}
	machine := process.NewMachine()
	start := func(name env.Addr) *process.Process {
		p := machine.Start(process.Config{
			Name:     name,
			Observer: observer{r.log, name, held, asks, r.probes},
			Blob:     store.Store,
			Broker:   func(l env.Loop, class broker.Class) broker.Requests { return kafkaCluster.Requests(l, class) },
		})
		r.processes = append(r.processes, p)
		return p
	}
	checks := start("check")
	at := newCluster(checks, r.Brokers, r.embedded != nil, c.WaitTopics)
	if _, err := at.topics(topicsOf(c.Job, sinks), c.WaitTopics); err != nil {
		return err
	}
	if c.Job.Guarantee == operator.ExactlyOnce {
		if err := c.audit(checks.Process, at.loop, sinks); err != nil {
			return err
		}
	}
	checks.Close()

	manager := jobManagerAddr()
	var tasks task.Options
	if c.Alter.Task != nil {
		c.Alter.Task(&tasks)
	}
	for i := range c.TaskManagers {
		p := start(env.Addr(fmt.Sprintf("taskmanager-%d", i+1)))
		taskmanager.New(p.Process, taskmanager.Config{
			Job: c.Job, Parallelism: graph.Parallelism{Default: c.Parallelism}, JobManagers: []env.Addr{manager},
			Slots: c.slots(plan), HeartbeatInterval: c.HeartbeatTimeout / 5, HeartbeatTimeout: c.HeartbeatTimeout, CancelTimeout: c.CancelTimeout, Fatal: r.fatal, Task: tasks,
		})
	}
	p := start(manager)
	cfg := jobmanager.Config{
		Job: c.Job, Parallelism: graph.Parallelism{Default: c.Parallelism}, Checkpoint: c.Checkpoint,
		HeartbeatInterval: c.HeartbeatTimeout / 5, HeartbeatTimeout: c.HeartbeatTimeout, RestartLimit: c.RestartLimit,
		RestoreFrom: blob.Key(c.Restore), Rewind: c.Rewind, AcceptLoss: c.AcceptLoss, OnEvent: r.event,
	}
	if len(sinks) > 0 {
		cfg.Checkpoint.Force = sink.ForceAfter(sinks)
		cfg.NewCommitter = func(x jobmanager.CommitterContext) operator.Committer {
			k := sink.CommitterConfig{
				Process: x.Process, Loop: x.Loop, Job: x.Job, Generation: x.Generation, Sinks: sink.SpecsOf(x.Plan), AcceptLoss: x.AcceptLoss,
			}
			if c.Alter.Committer != nil {
				c.Alter.Committer(&k)
			}
			return sink.NewCommitter(k)
		}
	}
	if c.MirrorGroup != "" {
		cfg.Mirror = newMirror(p.Process, c.MirrorGroup).confirmed
	}
	if c.Alter.JobManager != nil {
		c.Alter.JobManager(&cfg)
	}
	r.manager = jobmanager.New(p.Process, cfg)
	return nil
}

// Stop stops the job with a savepoint; Wait tells when it is done.
func (r *Running) Stop() { r.manager.Stop() }

// Kill stops at once: nothing is finished, the next start goes on from the newest checkpoint.
func (r *Running) Kill() { r.finish(Outcome{Ending: AtOnce}) }

// Wait returns when the job has come to its end and nothing of it runs any more.
func (r *Running) Wait() Outcome {
	<-r.over
	r.close()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcome
}

// Probes calls fn for every probe that was reached.
func (r *Running) Probes(fn func(name string, n int64)) { r.probes.Each(fn) }

// Run runs a job to its end. When ctx is done the job is stopped with a savepoint.
func Run(ctx context.Context, c Config) (Outcome, error) {
	wait := func(r *Running) Outcome {
		go func() {
			select {
			case <-ctx.Done():
				r.Stop()
			case <-r.over:
			}
		}()
		return r.Wait()
	}
	if c.Standby {
		return RunStandby(ctx, c, wait)
	}
	r, err := Start(c)
	if err != nil {
		return Outcome{Ending: Failed, Err: err}, err
	}
	return wait(r), nil
}

// finish notes the first ending; later ones follow from it.
func (r *Running) finish(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.outcome.Ending != "" {
		return
	}
	if o.Checkpoint == 0 {
		o.Checkpoint = r.confirmed
	}
	if o.Generation == 0 {
		o.Generation = r.own
	}
	r.outcome = o
	close(r.over)
}

// fatal is called on a TaskManager's loop, which must not go on: the process ends around it.
func (r *Running) fatal(op id.Operator, err error) {
	r.finish(Outcome{Ending: Watchdog, Operator: op, Err: err})
	select {}
}

// close ends all processes. One that is parked or whose user function hangs is left behind.
func (r *Running) close() {
	closed := make(chan struct{})
	go func() {
		for i := len(r.processes) - 1; i >= 0; i-- {
			r.processes[i].Close()
		}
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(3 * time.Second):
		r.log.Warn("a process of the job does not end; it is left behind")
	}
	if r.embedded != nil {
		r.embedded.Close()
		r.embedded = nil
	}
}
