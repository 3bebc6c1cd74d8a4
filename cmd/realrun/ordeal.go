package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/scenarios/outside"
)

// ordeal is one plan carried out on processes. All of it happens on the goroutine of run; what others see arrives by the
// mailbox. The nemesis is the simulator's own: only what it strikes is another.
type ordeal struct {
	plan  faults.Plan
	setup outside.Setup
	job   jobs.Spec
	names map[string]string // the cluster's names of the job's topics
	dir   string
	tell  func(format string, args ...any)

	brokers   brokers
	admin     *kadm.Client
	victims   []*victim
	proxies   [][]*proxy // by process and broker
	downs     []bool     // brokers that the plan took down
	nemesis   *faults.Nemesis
	mail      *mailbox
	begin     func()      // starts the plan's clock
	began     time.Time   // when the job ran for the first time: the zero of the plan
	generated bool        // the input is written
	awaited   atomic.Bool // the burn waits for a hook: input goes on
	failure   error       // the environment's: nothing can be judged
	lost      bool
	stopping  bool
	expired   bool   // a checkpoint was not complete in time
	failures  int    // ends of processes that nobody asked for, in a row
	panicked  string // what a process panicked with
	healed    time.Time
	timeline  []string
}

// ordealOutcome is what became of an ordeal.
type ordealOutcome struct {
	run      checker.Run // whether it settled, and what panicked
	faults   []faults.Outcome
	timeline []string
}

const (
	generatorBegins = time.Second
	backoffMax      = 10 * time.Second
	startMax        = time.Minute
	hookMax         = 20 * time.Second
	writeMax        = 4 * time.Minute // brokers of a busy machine take a while to start again
	// maxFailures is how often in a row a process may end by itself without a checkpoint in between.
	maxFailures = 8
)

// state is the directory of the job.
func (o *ordeal) state() string { return filepath.Join(o.dir, "state") }

// run carries the plan out. An error is about the environment.
func (o *ordeal) run(ctx context.Context) (ordealOutcome, error) {
	o.mail = newMailbox()
	o.downs = make([]bool, len(o.brokers.addresses()))
	defer o.close()
	if err := o.prepare(ctx); err != nil {
		return ordealOutcome{}, err
	}
	var err error
	if o.nemesis, err = faults.NewNemesis(o.plan, o.target()); err != nil {
		return ordealOutcome{}, err
	}
	for _, v := range o.victims {
		if err := v.start(); err != nil {
			return ordealOutcome{}, err
		}
		o.note("%s started, pid %d", v.name, v.pid())
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o.begin = func() {
		o.began = time.Now()
		o.nemesis.Arm()
		go o.generate(ctx)
	}
	waits := o.burnAndSettle(ctx)
	if err := errors.Join(ctx.Err(), o.failure); err != nil {
		return ordealOutcome{}, err
	}
	o.stop(waits == "")
	return ordealOutcome{
		run:      checker.Run{Settled: waits == "", Waits: waits, Panic: o.panicked},
		faults:   o.nemesis.Outcomes(),
		timeline: o.timeline,
	}, nil
}

// note adds to the timeline.
func (o *ordeal) note(format string, args ...any) {
	line := "   before    "
	if !o.began.IsZero() {
		line = fmt.Sprintf("%9.3f s  ", time.Since(o.began).Seconds())
	}
	line += fmt.Sprintf(format, args...)
	o.timeline = append(o.timeline, line)
	o.tell("%s", line)
}

// prepare makes topics, proxies and processes, and waits until the cluster has a coordinator to offer.
func (o *ordeal) prepare(ctx context.Context) error {
	cl, err := o.client(ctx)
	if err != nil {
		return err
	}
	o.admin = kadm.NewClient(cl)
	var topics []string
	for _, t := range slices.Concat(o.job.Inputs, o.job.Outputs) {
		topics = append(topics, o.names[t])
	}
	quiet := &console{out: io.Discard, err: io.Discard}
	if err := ensureTopics(ctx, quiet, cl, topics, int32(o.setup.Partitions)); err != nil {
		return err
	}
	if err := o.warm(ctx); err != nil {
		return err
	}
	for i := range o.setup.Processes {
		var row []*proxy
		for _, a := range o.brokers.addresses() {
			p, err := newProxy(a)
			if err != nil {
				return err
			}
			row = append(row, p)
		}
		o.proxies = append(o.proxies, row)
		o.victims = append(o.victims, o.victim(i))
	}
	return nil
}

func (o *ordeal) client(ctx context.Context) (*kgo.Client, error) {
	begin := time.Now()
	for {
		cl, err := cluster{brokers: o.brokers.addresses()}.witness(ctx)
		if err == nil || ctx.Err() != nil || time.Since(begin) > 30*time.Second {
			return cl, err
		}
	}
}

// warm waits for the internal topics, which Kafka makes when they are asked for: a plan's first seconds are not theirs.
func (o *ordeal) warm(ctx context.Context) error {
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		asked, cancel := context.WithTimeout(ctx, 5*time.Second)
		transactions := o.admin.FindTxnCoordinators(asked, "onefold-warm")
		groups := o.admin.FindGroupCoordinators(asked, "onefold-warm")
		cancel()
		err := errors.Join(transactions.Error(), groups.Error())
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(begin) > time.Minute {
			return fmt.Errorf("the brokers offer no coordinators: %w", err)
		}
	}
}

// victim is process number i, from 0.
func (o *ordeal) victim(i int) *victim {
	v := &victim{
		name: "process" + strconv.Itoa(i+1), dir: o.dir, post: o.mail.post, last: faults.NoHook,
		asks:   o.asks,
		passed: func(p faults.Passed) { o.nemesis.Passed(p) },
	}
	v.args = func() []string { return o.args(i, v.starts > 1) }
	v.heard = func(text string) { o.heard(v, text) }
	v.exited = func(code int, last string) { o.exited(v, code, last) }
	return v
}

// args are the flags of a process, as the simulated world has them.
func (o *ordeal) args(i int, again bool) []string {
	s := o.setup
	_, taskManagers := faults.Share(s.TaskManagers, s.Processes, i+1)
	args := []string{
		"run", o.job.Name, "--brokers", strings.Join(o.brokers.addresses(), ","), "--state", o.state(),
		"--parallelism", strconv.Itoa(s.Parallelism), "--taskmanagers", strconv.Itoa(taskManagers),
		"--interval", s.Interval.String(), "--checkpoint-timeout", s.CheckpointTimeout.String(),
		"--transaction-timeout", s.TransactionTimeout.String(), "--guarantee", s.Guarantee,
		"--heartbeat-timeout", outside.HeartbeatTimeout.String(), "--tolerated-failures", strconv.Itoa(outside.ToleratedFailures), "--debug",
	}
	for _, logical := range slices.Concat(o.job.Inputs, o.job.Outputs) {
		args = append(args, "--topic", logical+"="+o.names[logical])
	}
	for b, p := range o.proxies[i] {
		args = append(args, "--through", o.brokers.addresses()[b]+"="+p.address())
	}
	args = append(args, outside.EngineFlags(o.plan.Engine)...)
	if s.Processes > 1 && (i > 0 || again) {
		args = append(args, "--standby") // one that comes back must not fight the one that took over
	}
	return args
}

// asks are the hooks at which a plan's faults still wait.
func (o *ordeal) asks() []faults.Trigger {
	var all []faults.Trigger
	for i, f := range o.nemesis.Outcomes() {
		if t := o.plan.Faults[i].Trigger; t.OnHook && !f.Fired {
			all = append(all, t)
		}
	}
	return all
}

// heard is what a process says about its job.
func (o *ordeal) heard(v *victim, text string) {
	for _, worth := range []string{"claimed ", "restored ", "running ", "restarting ", "WARN restarting", "WARN checkpoint failed", "salvage", "standing by", "the job log stands still", "ERROR"} {
		if strings.HasPrefix(text, worth) {
			o.note("%s: %s", v.name, text)
			break
		}
	}
	if strings.HasPrefix(text, "WARN checkpoint failed") && strings.Contains(text, "expired") {
		o.expired = true
	}
	switch {
	case strings.HasPrefix(text, "checkpoint confirmed"):
		o.failures = 0
	case strings.HasPrefix(text, "running ") && o.began.IsZero():
		o.begin()
	}
}

// exited is the end of a process that nobody killed.
func (o *ordeal) exited(v *victim, code int, last string) {
	if o.stopping {
		return
	}
	again := func(after time.Duration) {
		time.AfterFunc(after, func() {
			o.mail.post(func() {
				if o.stopping || v.up() {
					return
				}
				if err := v.start(); err != nil {
					o.failure = err
				}
				o.note("%s started again, pid %d", v.name, v.pid())
			})
		})
	}
	switch {
	case code == exitAgainst:
		o.note("%s reports a loss and stops: %s", v.name, last)
		o.lost = true
	case strings.Contains(last, "took over"):
		o.note("%s is displaced, exit code %d, and stands by", v.name, code)
		again(time.Second)
	case strings.Contains(last, "panic") || code == 2 && strings.HasPrefix(last, "\t"):
		o.panicked = fmt.Sprintf("%s ended with a panic: %s", v.name, v.log())
		o.failures = maxFailures
	default:
		o.failures++
		o.note("%s ended by itself, exit code %d: %s", v.name, code, last)
		if o.failures == 1 && !o.worked() {
			o.failure = fmt.Errorf("%s did not start: %s\n  its log: %s", v.name, strings.TrimPrefix(last, "realrun: "), v.log())
		}
		again(time.Second)
	}
}

// worked reports whether anything was ever written to the job's log.
func (o *ordeal) worked() bool {
	l, err := readJobLog(o.state())
	return err == nil && len(l.entries) > 0
}

// generate writes the input at a steady pace over the burn, past all proxies.
func (o *ordeal) generate(ctx context.Context) {
	err := o.write(ctx)
	o.mail.post(func() {
		o.generated = true
		if err != nil && ctx.Err() == nil {
			o.failure = err
		}
	})
}

func (o *ordeal) write(ctx context.Context) error {
	time.Sleep(generatorBegins)
	cl, err := cluster{brokers: o.brokers.addresses()}.witness(ctx, kgo.ProducerLinger(5*time.Millisecond), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.MaxBufferedRecords(200_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	each := uint64(o.setup.Records / len(o.job.Inputs))
	g := &generator{records: each, rate: max(1, uint64(float64(each)/(o.setup.Burn-generatorBegins).Seconds())), accounts: uint64(o.setup.Accounts), patience: writeMax}
	quiet := &console{out: io.Discard, err: io.Discard}
	errs := make(chan error)
	for _, logical := range o.job.Inputs {
		go func() {
			n, err := g.write(ctx, quiet, cl, o.job, logical, o.names[logical], 0)
			for more := *g; err == nil && ctx.Err() == nil && o.awaited.Load(); n += more.records {
				more.records = more.rate // a second's
				_, err = more.write(ctx, quiet, cl, o.job, logical, o.names[logical], n)
			}
			errs <- err
		}()
	}
	for range o.job.Inputs {
		err = errors.Join(err, <-errs)
	}
	return err
}
