package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/onefold/onefold/engine/graph"
)

// Main runs one job as the whole of a program: flags, signals, log, exit code. It does not return. The job obeys the options
// whether build looks at them or not. build may be called twice, and must do nothing but build the same job.
func Main(build func(Options) *graph.Job) {
	var x Flags
	f := pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	x.Add(f)
	debugLog := f.Bool("debug", false, "log hooks and probes")
	err := f.Parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("%q is no flag; --help shows all", f.Arg(0))
	}
	code := 2
	if err == nil {
		code, err = x.main(build, *debugLog)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
	}
	os.Exit(code)
}

func (x *Flags) main(build func(Options) *graph.Job, debugLog bool) (int, error) {
	o, err := x.Options()
	if err != nil {
		return 2, err
	}
	c, err := x.Config()
	if err != nil {
		return 2, err
	}
	c.Log = NewLog(os.Stderr, debugLog)
	if c.Job, err = o.build(build); err != nil {
		return 2, err
	}
	outcome, err := RunWithSignals(c, func(*Running) {})
	if err != nil {
		return 2, err
	}
	fmt.Fprintln(os.Stderr, outcome)
	return outcome.ExitCode(), nil
}

// RunWithSignals is Run for a program: SIGTERM and SIGINT stop the job with a savepoint, a second one at once. started is called
// when the job runs, for a standby after it has taken over.
func RunWithSignals(c Config, started func(*Running)) (Outcome, error) {
	wait := func(r *Running) Outcome {
		started(r)
		return r.WaitWithSignals()
	}
	if c.Standby {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		defer stop()
		return RunStandby(ctx, c, wait)
	}
	r, err := Start(c)
	if err != nil {
		return Outcome{Ending: Failed, Err: err}, err
	}
	return wait(r), nil
}

// WaitWithSignals is Wait for a program: SIGTERM and SIGINT stop the job with a savepoint, a second one at once.
func (r *Running) WaitWithSignals() Outcome {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	go func() {
		for first := true; ; first = false {
			select {
			case <-r.over:
				return
			case <-signals:
			}
			if !first {
				r.Kill()
				return
			}
			r.log.Info("stopping with a savepoint; once more stops at once")
			r.Stop()
		}
	}()
	return r.Wait()
}
