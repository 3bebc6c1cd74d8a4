package scenarios

import (
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/task"
	"github.com/onefold/onefold/engine/taskmanager"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios/controls"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/scenarios/jobs/option"
	"github.com/onefold/onefold/scenarios/oracle"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simblob"
	"github.com/onefold/onefold/sim/simbroker"
)

// Timing of the engine in the simulated world; the budget that follows from it stays below the transaction timeout.
const (
	heartbeatInterval = time.Second
	heartbeatTimeout  = 4 * time.Second
	backoffMax        = 5 * time.Second
	toleratedFailures = 2
	generatorBegins   = time.Second
)

// World is one scenario on a simulated world, ready to run.
type World struct {
	Sim      *sim.World
	Cluster  *simbroker.Cluster
	Store    *simblob.Store
	Nemesis  *faults.Nemesis
	Scenario Scenario
	Engine   controls.Engine
	Plan     faults.Plan
	Shape    Shape
	Job      jobs.Spec
	Graph    *graph.Job
	Oracle   checker.Oracle
	History  *checker.History

	// Story is a scripted scenario's account of itself, in lines.
	Story string

	inherited  id.Position // entries of the job log below are of a past
	guarantee  operator.Guarantee
	jobOptions option.Options
	generated  generator
	reader     reader
	log        logRecorder
	healed     bool   // the burn is over
	settle     string // see Result.Settle
	ended      string // the job stopped for good: why
	lost       bool
	events     []string
	told       []jobmanager.Event // as events, for a story
	passed     []passage          // hooks, for a story
	entries    []joblog.Entry     // of the job log, in order
	writers    writers
	stages     stages
}

// newWorld assembles a world from a plan. Its errors are the user's: what is wrong with the plan.
func newWorld(p faults.Plan, o Options) (*World, error) {
	s, ok := Find(p.Scenario)
	if !ok {
		return nil, fmt.Errorf("there is no scenario %q; `simrun list` shows all", p.Scenario)
	}
	e, ok := controls.Find(p.Engine)
	if !ok {
		return nil, fmt.Errorf("there is no engine %q; \"sound\" is the one that users get, `simrun list` shows the known-bad ones", p.Engine)
	}
	w := &World{Scenario: s, Engine: e, Plan: p, Shape: defaultShape(), History: checker.NewHistory(), guarantee: o.guarantee(s)}
	for _, world := range [][]faults.Setting{s.World, e.World, p.World} {
		if err := w.Shape.apply(world); err != nil {
			return nil, err
		}
	}
	if s := &w.Shape; w.guarantee == operator.ExactlyOnce && s.TransactionTimeout <= s.Interval {
		return nil, fmt.Errorf("world: want transaction-timeout > interval; there are transaction-timeout=%v interval=%v, so that a transaction could end before the checkpoint that commits it begins", s.TransactionTimeout, s.Interval)
	}
	var err error
	w.Job, _ = jobs.Find(s.Job)
	w.Oracle, _ = oracle.Find(s.Job)
	var past *World
	if w.Shape.Preloaded > 0 && !o.past {
		if past, err = w.past(); err != nil {
			return nil, err
		}
	}
	w.Sim = sim.New(sim.Options{Seed: p.Seed, Checks: !o.Fast, KeepTrace: o.KeepTrace || s.Tell != nil, Start: past.end()})
	profile, _ := simbroker.ProfileOf(w.Shape.Profile)
	profile.MaxEpoch = int16(w.Shape.MaxEpoch)
	w.Store = simblob.New(w.Sim)
	w.log.attach(w)
	w.Cluster = simbroker.New(w.Sim, simbroker.Config{
		Brokers: w.Shape.Brokers, Profile: profile, ScanInterval: w.Shape.Scan, Record: !o.Fast,
		IDExpiration: w.Shape.IDExpiration, IDScan: w.Shape.Scan,
		Replication: simbroker.Replication{Factor: w.Shape.Replication}, MinISR: w.Shape.MinISR, UncleanElection: w.Shape.Unclean,
		NoClusterRights: w.Shape.NoRights > 0,
	})
	w.Sim.BrokerPort = w.brokerPort
	w.writers.attach(w)
	w.stages.w = w
	if s, ok := w.stages.now(); ok && s.Parallelism > 0 {
		w.Shape.Parallelism = s.Parallelism
	}
	w.topics()
	w.buildJob()
	if past != nil {
		w.inherit(past)
	}
	w.processes()
	w.meddle()
	if s.Prepare != nil {
		s.Prepare(w)
	}
	if err := checkReleases(p.Faults); err != nil {
		return nil, err
	}
	n, err := faults.NewNemesis(p, w.Sim.Target())
	if err != nil {
		return nil, err
	}
	w.Nemesis = n
	w.Sim.OnHook(func(node string, e hook.Event) {
		w.writers.passed(node, e)
		if s.Tell != nil {
			w.passed = append(w.passed, passage{w.Sim.Now(), node, e})
		}
		n.Passed(faults.Passed{
			Node: node, Hook: faults.Hook(e.Point), Generation: uint64(e.Generation),
			Checkpoint: uint64(e.Checkpoint), Vertex: int32(e.Subtask.Vertex), Subtask: e.Subtask.Index,
		})
	})
	return w, nil
}

// brokerPort is the port of a loop to the cluster, as the engine under test has it.
func (w *World) brokerPort(n *sim.Node, l env.Loop, class broker.Class) broker.Requests {
	port := w.Cluster.Requests(n, l, class)
	if w.Engine.Port != nil && n.Name() != outsider {
		port = w.Engine.Port(port)
	}
	return port
}

// topics makes the job's topics and puts them into the history, inputs first: oracles count on that order.
func (w *World) topics() {
	for _, t := range w.Job.Inputs {
		w.Cluster.CreateTopic(simbroker.TopicSpec{Name: t, Partitions: w.Shape.Partitions, Starts: w.Shape.Offsets})
		w.History.AddTopic(t, checker.Input, int32(w.Shape.Partitions))
	}
	output := simbroker.TopicConfig{AppendTime: w.Shape.AppendTime > 0}
	if w.Shape.Compact > 0 {
		output.Cleanup, output.DeleteRetention = "compact", -1
	}
	for _, t := range w.Job.Outputs {
		w.Cluster.CreateTopic(simbroker.TopicSpec{Name: t, Partitions: w.Shape.Partitions, Config: output})
		w.History.AddTopic(t, checker.Output, int32(w.Shape.Partitions))
	}
}

func (w *World) buildJob() {
	w.jobOptions = option.Options{
		Guarantee: w.guarantee, TransactionTimeout: w.Shape.TransactionTimeout, ToleratedFailures: toleratedFailures,
		DeliveryTimeout: 12 * time.Second, MaxEpoch: int16(w.Shape.MaxEpoch),
	}
	if w.Engine.Effects {
		w.jobOptions.Effect = func(topic string, partition int32, offset int64) {
			w.History.Effects = append(w.History.Effects, checker.Effect{
				Name:   "operator",
				Source: checker.Source{Topic: w.History.TopicIndex(topic), Partition: partition, Offset: offset},
			})
		}
	}
	if w.Engine.Job != nil {
		w.Engine.Job(&w.jobOptions)
	}
	w.Graph = w.Job.Build(w.jobOptions)
}

func (w *World) parallelism() graph.Parallelism {
	return graph.Parallelism{Default: int32(w.Shape.Parallelism)}
}

// processes makes the nodes of the engine: jm1 (and standbys), tm1 and so on.
func (w *World) processes() {
	var managers []env.Addr
	for i := range w.Shape.JobManagers {
		managers = append(managers, env.Addr(fmt.Sprintf("jm%d", i+1)))
	}
	for i := range managers {
		var n *sim.Node
		n = w.Sim.NewNode(string(managers[i]), func(p *proc.Process) { w.stages.booted(n, jobmanager.New(p, w.jobManager(p))) })
		n.Start()
	}
	for i := range w.Shape.TaskManagers {
		name := fmt.Sprintf("tm%d", i+1)
		w.Sim.NewNode(name, func(p *proc.Process) { taskmanager.New(p, w.taskManager(name, managers)) }).Start()
	}
}

func (w *World) jobManager(p *proc.Process) jobmanager.Config {
	c := jobmanager.Config{
		Job: w.Graph, Parallelism: w.parallelism(),
		// A JobManager that comes back must not fight the one that took over: all wait while another is active.
		Standby:           w.Shape.JobManagers > 1,
		Checkpoint:        checkpoint.Config{Interval: w.Shape.Interval, Timeout: w.Shape.CheckpointTimeout, Tolerated: toleratedFailures, Force: w.Shape.TransactionTimeout * 7 / 10},
		HeartbeatInterval: heartbeatInterval, HeartbeatTimeout: heartbeatTimeout, BackoffMax: backoffMax,
		LogKeep: uint64(w.Shape.LogKeep),
		OnEvent: func(e jobmanager.Event) { w.event(string(p.Name), e) },
	}
	if s, ok := w.stages.now(); ok && s.Restore {
		c.RestoreFrom, c.Rewind = w.stages.seal, s.Rewind
	}
	if w.guarantee == operator.ExactlyOnce {
		c.NewCommitter = w.committer
	}
	if w.Engine.JobManager != nil {
		w.Engine.JobManager(&c)
	}
	return c
}

func (w *World) committer(x jobmanager.CommitterContext) operator.Committer {
	c := sink.CommitterConfig{
		Process: x.Process, Loop: x.Loop, Job: x.Job, Generation: x.Generation, AcceptLoss: x.AcceptLoss,
		Sinks: sink.SpecsOf(x.Plan), ConfirmTimeout: 30 * time.Second, MaxEpoch: int16(w.Shape.MaxEpoch),
	}
	if w.Engine.Committer != nil {
		w.Engine.Committer(&c)
	}
	return sink.NewCommitter(c)
}

func (w *World) taskManager(name string, managers []env.Addr) taskmanager.Config {
	o := task.Options{DrawBatch: w.Shape.Budget, CostPerRecord: w.Shape.Cost, Check: w.Sim.Checks()}
	if w.Engine.Task != nil {
		w.Engine.Task(&o)
	}
	return taskmanager.Config{
		Job: w.Graph, Parallelism: w.parallelism(), JobManagers: managers, Slots: int32(w.Shape.Slots), Task: o,
		HeartbeatInterval: heartbeatInterval, HeartbeatTimeout: heartbeatTimeout,
	}
}

// event notes what a JobManager tells.
func (w *World) event(node string, e jobmanager.Event) {
	w.told = append(w.told, e)
	w.events = append(w.events, fmt.Sprintf("%v %s %v", time.Duration(w.Sim.Now()), node, e))
	if w.stages.heard(e) {
		return
	}
	switch e.Kind {
	case jobmanager.Restarting:
		if w.healed { // before, restarts are the faults' doing
			c := checker.Claim{Kind: checker.Restarted, Generation: uint64(e.Generation), At: int64(w.Sim.Now()), Reason: e.Reason}
			if state, ok := w.newest(); ok && state.Completed != nil {
				c.Checkpoint = uint64(state.Completed.Checkpoint)
			}
			w.readLog()
			w.History.Claims = append(w.History.Claims, c)
		}
	case jobmanager.LossReported:
		w.lost = true
	case jobmanager.Ended, jobmanager.Stopped:
		if state, ok := w.newest(); !ok || e.Generation >= state.Generation {
			if errors.Is(e.Err, operator.ErrPermanent) {
				w.History.Run.Refused = e.Err.Error()
			}
			w.ended = e.String() // what a displaced JobManager says of itself does not end the job
		}
	}
}
