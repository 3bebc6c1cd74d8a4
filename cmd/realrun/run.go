package main

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/scenarios/jobs/option"
)

// ran is the result of a run.
type ran struct {
	Job        string           `json:"job"`
	Outcome    run.Ending       `json:"outcome"`
	Checkpoint uint64           `json:"checkpoint"` // newest confirmed
	Generation uint64           `json:"generation"`
	Savepoint  string           `json:"savepoint,omitempty"`
	Detail     string           `json:"detail"`
	Probes     map[string]int64 `json:"probes,omitempty"`
}

func newRun(c *console) *cobra.Command {
	var x run.Flags
	var d demo
	var debug bool
	var profile, engine string
	cmd := &cobra.Command{
		Use:   "run JOB",
		Short: "run a job until it ends or is stopped",
		Long: "run starts a JobManager and TaskManagers in this process. Started again with the same --state it goes on where it was.\n" +
			"SIGTERM or Ctrl-C stops it with a savepoint, a second one at once. A process that a newer one displaced exits 2.\n" +
			"--demo makes input, runs the job over it, verifies the output and says what happened.",
		Example: "  realrun run payments --demo --state /tmp/demo\n" +
			"  realrun run payments --brokers 127.0.0.1:9092 --state /tmp/payments --interval 1s\n" +
			"  realrun run payments --brokers 127.0.0.1:9092 --state /tmp/payments --topic payments=in --topic totals=out --bounded",
		Args: oneJob, ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := find(args[0])
			if err != nil {
				return err
			}
			log := run.NewLog(c.err, debug)
			if d.on {
				return d.run(cmd.Context(), c, job, x, log)
			}
			return profiled(profile, func() error { return runJob(c, job, x, engine, log) })
		},
	}
	x.Add(cmd.Flags())
	cmd.Flags().BoolVar(&d.on, "demo", false, "generate, run, verify, and say what happened")
	cmd.Flags().Uint64Var(&d.records, "demo-records", 100_000, "records of --demo")
	cmd.Flags().BoolVar(&debug, "debug", false, "log hooks and probes")
	cmd.Flags().StringVar(&profile, "cpuprofile", "", "`FILE` for a CPU profile of the process")
	_ = cmd.Flags().MarkHidden("cpuprofile")
	cmd.Flags().StringVar(&engine, "engine", "", "a known-bad engine, to see it convicted")
	_ = cmd.Flags().MarkHidden("engine")
	return cmd
}

// config builds the job and all that starting it needs.
func config(job jobs.Spec, x run.Flags, engine string, log *slog.Logger) (run.Config, error) {
	bad, err := engineOf(engine)
	if err != nil {
		return run.Config{}, err
	}
	if _, err := (&place{topics: x.Topics}).names(job); err != nil {
		return run.Config{}, err
	}
	o, err := x.Options()
	if err != nil {
		return run.Config{}, err
	}
	c, err := x.Config()
	c.Job, c.Log = build(job, o, bad), log
	c.Alter = bad.parts
	return c, err
}

// altered is an engine whose decisions are replaced.
type altered struct {
	job   func(*option.Options)
	parts run.Alterations
}

// knownBad finds an engine that is known to lose or double records. This program has none; the tests' has.
var knownBad func(name string) (altered, bool)

func engineOf(name string) (altered, error) {
	if name == "" {
		return altered{}, nil
	}
	if knownBad != nil {
		if e, ok := knownBad(name); ok {
			return e, nil
		}
	}
	return altered{}, fmt.Errorf("--engine %s: this program has the sound engine only; `go test ./cmd/realrun -run TestChaos` has known-bad ones", name)
}

func build(job jobs.Spec, o run.Options, e altered) *graph.Job {
	x := option.Options{
		Topics: o.Topics, Guarantee: o.Guarantee, Bounded: o.Bounded,
		TransactionTimeout: o.TransactionTimeout, ToleratedFailures: o.ToleratedFailures,
	}
	if e.job != nil {
		e.job(&x)
	}
	return job.Build(x)
}

func runJob(c *console, job jobs.Spec, x run.Flags, engine string, log *slog.Logger) error {
	cfg, err := config(job, x, engine, log)
	if err != nil {
		return err
	}
	var running *run.Running
	o, err := run.RunWithSignals(cfg, func(r *run.Running) {
		running = r
		c.say("%s runs on %s; stop it with SIGTERM or Ctrl-C", job.Name, strings.Join(r.Brokers, ","))
	})
	if err != nil {
		return err
	}
	result := report(job, o, running)
	if o.ExitCode() == 0 {
		c.print("%s", result.Detail)
		c.print("\nnext: %s verify %s --brokers %s --state %s%s", me(), job.Name, x.Brokers, x.State, (&place{topics: x.Topics, secure: x.Security}).repeat())
	}
	if err := c.document(result); err != nil {
		return err
	}
	return ending(o)
}

func report(job jobs.Spec, o run.Outcome, r *run.Running) ran {
	result := ran{
		Job: job.Name, Outcome: o.Ending, Checkpoint: uint64(o.Checkpoint), Generation: uint64(o.Generation),
		Savepoint: string(o.Savepoint), Detail: o.String(), Probes: map[string]int64{},
	}
	if r == nil { // a standby that never took over
		return result
	}
	r.Probes(func(name string, n int64) { result.Probes[name] = n })
	return result
}

// ending is the error that carries an outcome's exit code and says what happened; nil for a clean one.
func ending(o run.Outcome) error {
	if o.ExitCode() == 0 {
		return nil
	}
	return exit{code: o.ExitCode(), text: o.String()}
}
