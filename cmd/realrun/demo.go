package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/scenarios/jobs"
)

// demo is everything in one command: input, a bounded run, a verdict.
type demo struct {
	on      bool
	records uint64
}

func (d demo) run(ctx context.Context, c *console, job jobs.Spec, x run.Flags, log *slog.Logger) error {
	began := time.Now()
	if x.State == "" {
		return errors.New("name a directory for the demo's data: --state DIR")
	}
	if _, err := config(job, x, "", log); err != nil {
		return err
	}
	if log, err := readJobLog(x.State); err == nil && log.state().Ended {
		return fmt.Errorf("the demo has run in %s to its end: remove it, or name another --state DIR", x.State)
	}
	at := place{brokers: x.Brokers, state: x.State, topics: x.Topics, secure: x.Security}
	k, shut, err := at.open()
	if err != nil {
		return err
	}
	defer shut()
	x.Bounded = true
	if x.Brokers == "embedded" {
		x.Brokers = k.brokers[0]
	}
	c.say("1. %d records of input, written by franz-go's client", d.records)
	g := &generator{place: at, records: d.records, partitions: 8, accounts: 1000, from: -1}
	if _, err := g.run(ctx, c, job, k); err != nil {
		return err
	}
	c.say("2. the job, until it has read them all (an audit warns where the cluster has one broker only)")
	cfg, err := config(job, x, "", log)
	if err != nil {
		return err
	}
	r, err := run.Start(cfg)
	if err != nil {
		return err
	}
	o := r.WaitWithSignals()
	if o.Ending != run.Ended {
		if err := ending(o); err != nil {
			return err
		}
		return exit{code: exitUsage, text: "stopped before the end: nothing was judged; the same command goes on"}
	}
	c.print("%s", o)
	c.say("3. the verdict, by a reader and a checker that share no code with the engine")
	v := &verification{place: at}
	verdict, err := v.run(ctx, c, job, k)
	if err != nil {
		return err
	}
	verdict.print(c)
	c.print("\nall of it in %.1f s. Next, the same with a broker of its own, and a kill:", time.Since(began).Seconds())
	c.print("  %s broker --data /tmp/onefold-kafka &", me())
	c.print("  %s generate %s --records 1000000 --rate 20000 --brokers 127.0.0.1:21092 &", me(), job.Name)
	c.print("  %s run %s --brokers 127.0.0.1:21092 --state /tmp/onefold-state --interval 1s   # kill -9 it, start it again", me(), job.Name)
	c.print("  %s verify %s --brokers 127.0.0.1:21092 --state /tmp/onefold-state", me(), job.Name)
	if err := c.document(map[string]any{"run": report(job, o, r), "verify": verdict}); err != nil {
		return err
	}
	return verdict.ending()
}
