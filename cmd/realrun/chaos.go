package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/faults"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/scenarios/outside"
)

// chaos is the command: a plan on processes of this machine.
type chaos struct {
	plan    string
	jars    string
	kfake   bool
	port    int
	brokers int
	records int
	dir     string
	keep    bool
}

// endured is the result of one plan.
type endured struct {
	Plan     string    `json:"plan"`
	Job      string    `json:"job"`
	Engine   string    `json:"engine"`
	Brokers  string    `json:"brokers"`
	Verdict  string    `json:"verdict"`
	Expected []string  `json:"expected"`
	Pass     bool      `json:"pass"`
	Missed   []string  `json:"missed,omitempty"` // faults whose moment never came, or that hit nothing
	Faults   []string  `json:"faults"`
	Timeline []string  `json:"timeline"`
	Verified *verified `json:"verified"`
	Seconds  float64   `json:"seconds"`
	Logs     string    `json:"logs,omitempty"`

	slow bool // the machine was too slow for the plan: nothing was shown
}

func newChaos(c *console) *cobra.Command {
	x := &chaos{}
	cmd := &cobra.Command{
		Use:   "chaos --plan FILE",
		Short: "carry a fault plan out on brokers and processes of this machine, and judge what came of it",
		Long: "chaos starts brokers and `realrun run` processes, writes input, strikes what the plan says when it says so, and lets the\n" +
			"checker judge the topics. The same file, byte for byte, runs in the simulator: `simrun repro FILE`. Both must come to the\n" +
			"same verdict.\n\n" +
			"What can be done from outside:\n" + strings.Join(doable(), "") +
			"Targets: process1 (jm1 with its share of the TaskManagers), processes, self (the one that passed the hook), broker0,\n" +
			"brokers, leader, coordinator. Times are wall time. A plan that asks for more is refused, with what to write instead.\n\n" +
			"Without --kafka-jars the broker is kfake, in a process of its own; it is never killed. These plans are kept, and can be\n" +
			"named without their path:\n  " + strings.Join(keptNames(), "\n  "),
		Example: "  realrun chaos --plan killed-at-commit\n" +
			"  realrun chaos --plan scenarios/outside/testdata/zombie.plan\n" +
			"  KAFKA_VERSION=4.4.0 .ci/kafka fetch\n" +
			"  realrun chaos --plan leader-killed --kafka-jars ~/.cache/onefold-ci/kafka-4.4.0/jars\n" +
			"  realrun chaos --plan my.plan --records 100000 --keep",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			result, err := x.run(cmd.Context(), c)
			if err != nil {
				return err
			}
			if err := c.document(result); err != nil {
				return err
			}
			return result.ending()
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.plan, "plan", "", "`FILE` with the plan, or the name of a kept one")
	f.StringVar(&x.jars, "kafka-jars", "", "`DIR` with the jars of an Apache Kafka: real brokers")
	f.BoolVar(&x.kfake, "kfake", false, "kfake as the broker, as without --kafka-jars")
	f.IntVar(&x.port, "port", 19592, "first port of the real brokers")
	f.IntVar(&x.brokers, "brokers", 0, "how many real brokers; 0: as the plan's world has")
	f.IntVar(&x.records, "records", 0, "records of input; 0: as the plan's world has")
	f.StringVar(&x.dir, "dir", "", "`DIR` for state and logs; default: a new one, removed when all is as expected")
	f.BoolVar(&x.keep, "keep", false, "keep state and logs in any case")
	_ = cmd.MarkFlagRequired("plan")
	cmd.MarkFlagsMutuallyExclusive("kafka-jars", "kfake")
	return cmd
}

func doable() []string {
	var all []string
	for k := range faults.KindCount {
		if how := outside.How(k); how != "" {
			all = append(all, fmt.Sprintf("  %-20s %s\n", k, how))
		}
	}
	return all
}

func keptNames() []string {
	var all []string
	for _, p := range outside.Plans() {
		all = append(all, p.Name)
	}
	return all
}

// text is the plan's file.
func (x *chaos) text() (string, error) {
	b, err := os.ReadFile(x.plan)
	if err == nil {
		return string(b), nil
	}
	for _, p := range outside.Plans() {
		if p.Name == x.plan {
			return p.Text, nil
		}
	}
	return "", fmt.Errorf("%w; the kept plans are %s", err, strings.Join(keptNames(), ", "))
}

// prepare reads the plan and refuses what cannot be done.
func (x *chaos) prepare() (*ordeal, error) {
	text, err := x.text()
	if err != nil {
		return nil, err
	}
	b := outside.Kafka
	if x.jars == "" {
		b = outside.Kfake
	}
	plan, setup, err := outside.Read(text, b)
	var at *faults.SyntaxError
	switch {
	case errors.As(err, &at):
		return nil, fmt.Errorf("%s:%d:%d: %s", x.plan, at.Line, at.Column, at.Reason)
	case err != nil:
		return nil, fmt.Errorf("%s: %w\n  in the simulator all of it can be done: simrun repro %s", x.plan, err, x.file())
	}
	switch {
	case x.records < 0, x.brokers < 0:
		return nil, errors.New("--records and --brokers: want whole numbers from 1 on; 0 is what the plan says")
	case x.brokers > 0 && b == outside.Kfake:
		return nil, errors.New("--brokers is for real brokers: --kafka-jars DIR; kfake is one")
	}
	if flags := outside.EngineFlags(plan.Engine); len(flags) > 0 && flags[0] == "--engine" {
		if _, err := engineOf(plan.Engine); err != nil {
			return nil, err
		}
	}
	if x.records > 0 {
		setup.Records = x.records
	}
	if x.brokers > 0 {
		setup.Brokers = x.brokers
	}
	job, err := find(setup.Job)
	if err != nil {
		return nil, err
	}
	if err := covered(job, setup); err != nil {
		return nil, fmt.Errorf("%s: %w", x.plan, err)
	}
	o := &ordeal{plan: plan, setup: setup, job: job, names: map[string]string{}}
	mark := strconv.FormatInt(time.Now().UnixNano(), 36)
	for _, t := range slices.Concat(job.Inputs, job.Outputs) {
		o.names[t] = t + "-" + mark
	}
	return o, nil
}

// covered refuses the world of a plan whose transactions could time out before their commit, which no process would start
// with. The simulated world has such on purpose, to have them salvaged.
func covered(job jobs.Spec, s outside.Setup) error {
	if s.Guarantee != "exactly-once" {
		return nil
	}
	b, err := run.Config{
		Job:              build(job, run.Options{TransactionTimeout: s.TransactionTimeout, ToleratedFailures: outside.ToleratedFailures}, altered{}),
		Parallelism:      int32(s.Parallelism),
		Checkpoint:       checkpoint.Config{Interval: s.Interval, Timeout: s.CheckpointTimeout, Tolerated: outside.ToleratedFailures},
		HeartbeatTimeout: outside.HeartbeatTimeout,
	}.Budget()
	if err != nil {
		return err
	}
	if err := b.Check(); err != nil {
		return fmt.Errorf("%w\n  instead: world transaction-timeout=%v, or lower interval or checkpoint-timeout", err, (b.Sum() + time.Second).Round(time.Second))
	}
	return nil
}

func (x *chaos) run(ctx context.Context, c *console) (*endured, error) {
	o, err := x.prepare() // what cannot be carried out is refused before anything is started
	if err != nil {
		return nil, err
	}
	dir := x.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "onefold-chaos-"); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	on, err := x.start(ctx, c, o.setup.Brokers, dir)
	if err != nil {
		if x.dir == "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return nil, err
	}
	defer on.close()
	result, err := x.carry(ctx, c, on, dir)
	if err != nil {
		return nil, fmt.Errorf("%w\n  logs: %s", err, dir)
	}
	switch {
	case result.Pass && x.dir == "" && !x.keep:
		on.close()
		err = os.RemoveAll(dir)
	default:
		result.Logs = dir
	}
	x.print(c, result)
	return result, err
}

// start starts the brokers.
func (x *chaos) start(ctx context.Context, c *console, n int, dir string) (brokers, error) {
	if x.jars == "" {
		return startKfake(dir)
	}
	c.say("starting %s", plural(n, "broker"))
	return startKafka(ctx, x.jars, n, x.port, filepath.Join(dir, "kafka"))
}

// tries is how often a plan is carried out for which the machine was too slow.
const tries = 3

// carry carries the plan out on brokers that run: again, with a new job, where a fault waited for a hook of a checkpoint that was
// not completed in time.
func (x *chaos) carry(ctx context.Context, c *console, b brokers, dir string) (*endured, error) {
	for try := 1; ; try++ {
		o, err := x.prepare()
		if err != nil {
			return nil, err
		}
		if o.brokers, o.dir = b, dir; try > 1 {
			o.dir = filepath.Join(dir, fmt.Sprint("try", try))
		}
		if err := os.MkdirAll(o.dir, 0o777); err != nil {
			return nil, err
		}
		r, err := x.endure(ctx, c, o)
		if err != nil || !r.slow || try == tries {
			return r, err
		}
		c.say("%s: a checkpoint expired, and a hook that a fault waited for never came: the machine was too slow for the plan; once more", x.plan)
	}
}

// endure carries a plan out on brokers that run, and has it judged.
func (x *chaos) endure(ctx context.Context, c *console, o *ordeal) (*endured, error) {
	began := time.Now()
	o.tell = c.say
	c.say("%s: job %s, engine %s, %s, %s, %d records", x.plan, o.job.Name, o.plan.Engine, plural(o.setup.Processes, "process"), o.brokers, o.setup.Records)
	out, err := o.run(ctx)
	if err != nil {
		return nil, err
	}
	v := &verification{place: place{brokers: strings.Join(o.brokers.addresses(), ","), state: o.state()}, guarantee: o.setup.Guarantee, told: &out.run}
	for _, t := range slices.Concat(o.job.Inputs, o.job.Outputs) {
		v.place.topics = append(v.place.topics, t+"="+o.names[t])
	}
	judged, err := v.run(ctx, c, o.job, cluster{brokers: o.brokers.addresses()})
	if err != nil {
		return nil, err
	}
	r := &endured{
		Plan: x.plan, Job: o.job.Name, Engine: o.plan.Engine, Brokers: o.brokers.String(), Verdict: judged.Verdict, Expected: o.plan.Expect,
		Timeline: out.timeline, Verified: judged, Seconds: time.Since(began).Seconds(),
	}
	if len(r.Expected) == 0 {
		r.Expected = []string{checker.Clean.String()}
	}
	waited := false // for a hook that never came
	for i, f := range o.plan.Faults {
		what := f.String() + ": " + became(out.faults[i])
		r.Faults = append(r.Faults, what)
		if !out.faults[i].Struck {
			r.Missed = append(r.Missed, what)
		}
		waited = waited || f.Trigger.OnHook && !out.faults[i].Fired
	}
	r.slow = o.expired && waited && r.Verdict == checker.Clean.String()
	r.Pass = len(r.Missed) == 0 && slices.ContainsFunc(r.Expected, func(e string) bool { return strings.EqualFold(e, r.Verdict) })
	return r, nil
}

// became says what became of a fault, in the simulator's words.
func became(o faults.Outcome) string {
	switch {
	case !o.Fired:
		return "never reached: its moment never came"
	case !o.Struck:
		return fmt.Sprintf("at %.3f s, hit nothing", o.At.Seconds())
	}
	return fmt.Sprintf("at %.3f s after %v, struck", o.At.Seconds(), o.Hook)
}

func (x *chaos) print(c *console, r *endured) {
	for _, f := range r.Faults {
		c.print("fault     %s", f)
	}
	r.Verified.print(c)
	for _, m := range r.Missed {
		c.print("not a pass: a fault that did not strike proves nothing: %s", m)
	}
	c.print("%s, expected %s, in %.1f s", r.Verdict, strings.Join(r.Expected, " or "), r.Seconds)
	if r.Logs != "" {
		c.print("state and logs: %s", r.Logs)
	}
	if !r.Pass {
		c.print("\nthe same plan in the simulator, step by step:  simrun repro %s --trace\nagain:  %s chaos --plan %s%s --keep", x.file(), me(), x.plan, x.flags())
	}
}

// file is where the simulator finds the plan.
func (x *chaos) file() string {
	if slices.Contains(keptNames(), x.plan) {
		return "scenarios/outside/testdata/" + x.plan + ".plan"
	}
	return x.plan
}

func (x *chaos) flags() string {
	s := ""
	if x.jars != "" {
		s += " --kafka-jars " + x.jars
	}
	if x.brokers > 0 {
		s += " --brokers " + strconv.Itoa(x.brokers)
	}
	if x.records > 0 {
		s += " --records " + strconv.Itoa(x.records)
	}
	return s
}

// ending is exit code 1 unless the plan struck and the verdict is the expected one.
func (r *endured) ending() error {
	if r.Pass {
		return nil
	}
	return exit{code: exitAgainst}
}
