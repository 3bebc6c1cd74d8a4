package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/scenarios/jobs"
	"github.com/onefold/onefold/scenarios/oracle"
)

type verification struct {
	place
	follow    bool
	every     time.Duration
	guarantee string
	told      *checker.Run // what is known of the run from outside of its topics; nil: nothing
}

// verified is the result of a verification.
type verified struct {
	Job      string         `json:"job"`
	Verdict  string         `json:"verdict"`
	Complete bool           `json:"complete"`        // all of the input had to be visible
	Running  bool           `json:"running"`         // judged while the job may run: open transactions are legal
	Records  map[string]int `json:"records"`         // data records by topic, aborted ones included
	Aborted  map[string]int `json:"aborted"`         // those of them that no read_committed reader sees
	Twice    map[string]int `json:"twice,omitempty"` // numbers that an input holds more than once: its producer's doing; counted when the verdict is against
	Report   checker.Report `json:"report"`
	Log      logSummary     `json:"log"`
	Seconds  float64        `json:"seconds"`
}

// logSummary says what the job's log holds.
type logSummary struct {
	Generations int    `json:"generations"`
	Completed   int    `json:"completed"`
	Confirmed   uint64 `json:"confirmed"` // newest
	Losses      int    `json:"losses"`
	Ended       bool   `json:"ended"`
}

func newVerify(c *console) *cobra.Command {
	v := &verification{}
	cmd := &cobra.Command{
		Use:   "verify JOB",
		Short: "judge a job's output topics with the simulator's checker",
		Long: "verify reads the input and output topics with franz-go's client and lets the checker judge them. It uses nothing of the\n" +
			"engine. With --state the job's own log is held against the topics, too: what it claims must be true. Without it\n" +
			"everything in the input must be visible. Exit code 1 is a verdict against.",
		Example: "  realrun verify payments --brokers 127.0.0.1:9092 --state /tmp/payments\n" +
			"  realrun verify payments --brokers 127.0.0.1:9092 --topic payments=in --topic totals=another-engines-output\n" +
			"  realrun verify payments --brokers 127.0.0.1:9092 --state /tmp/payments --follow",
		Args: oneJob, ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := find(args[0])
			if err != nil {
				return err
			}
			if err := v.there(); err != nil {
				return err
			}
			k, shut, err := v.open()
			if err != nil {
				return err
			}
			defer shut()
			result, err := v.run(cmd.Context(), c, job, k)
			if err != nil {
				return err
			}
			result.print(c)
			if err := c.document(result); err != nil {
				return err
			}
			return result.ending()
		},
	}
	v.flags(cmd.Flags())
	cmd.Flags().BoolVar(&v.follow, "follow", false, "judge again and again until the job has ended or Ctrl-C")
	cmd.Flags().DurationVar(&v.every, "every", 2*time.Second, "pause of --follow")
	cmd.Flags().StringVar(&v.guarantee, "guarantee", "exactly-once", "what the job promised: exactly-once, at-least-once or at-most-once")
	return cmd
}

func (v *verification) run(ctx context.Context, c *console, job jobs.Spec, k cluster) (*verified, error) {
	names, err := v.names(job)
	if err != nil {
		return nil, err
	}
	o, ok := oracle.Find(job.Name)
	if !ok {
		return nil, fmt.Errorf("there is no oracle for job %s", job.Name)
	}
	col := newCollector(k, o)
	if err := v.topics(ctx, col, job, names); err != nil {
		return nil, err
	}
	for {
		result, err := v.judge(ctx, col, job)
		if err != nil || !v.follow || !result.Running {
			return result, err
		}
		if result.Log.Confirmed == 0 && result.Report.Verdict == checker.Vacuous {
			c.say("nothing is confirmed yet")
		} else {
			c.say("%s: checkpoint %d confirmed, %d records compared", result.Verdict, result.Log.Confirmed, result.Report.Compared.Records)
		}
		if result.Report.Verdict != checker.Clean && result.Report.Verdict != checker.Vacuous {
			return result, nil
		}
		select {
		case <-ctx.Done():
			return result, nil
		case <-time.After(v.every):
		}
	}
}

// topics adds the job's topics in its own order.
func (v *verification) topics(ctx context.Context, col *collector, job jobs.Spec, names map[string]string) error {
	cl, err := col.cluster.witness(ctx)
	if err != nil {
		return err
	}
	defer cl.Close()
	var all []string
	for _, t := range slices.Concat(job.Inputs, job.Outputs) {
		all = append(all, names[t])
	}
	details, err := kadm.NewClient(cl).ListTopics(ctx, all...)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	for i, name := range all {
		d, ok := details[name]
		if !ok || d.Err != nil {
			return fmt.Errorf("no topic %s: %w\n  `realrun generate %s` makes the topics, --topic LOGICAL=NAME names others", name, d.Err, job.Name)
		}
		role := checker.Input
		if i >= len(job.Inputs) {
			role = checker.Output
		}
		col.add(name, role, int32(len(d.Partitions)))
	}
	return nil
}

// judge does one round.
func (v *verification) judge(ctx context.Context, col *collector, job jobs.Spec) (*verified, error) {
	began := time.Now()
	// The log first: what it claims now must be visible in what is read afterwards.
	log := &jobLog{}
	if v.state != "" {
		var err error
		if log, err = readJobLog(v.state); err != nil {
			return nil, err
		}
		if err := log.of(job.Name, v.state); err != nil {
			return nil, err
		}
	}
	if err := col.round(ctx); err != nil {
		return nil, err
	}
	result := &verified{Job: job.Name, Records: map[string]int{}, Aborted: map[string]int{}}
	state := log.state()
	result.Running = len(log.entries) > 0 && state.Stopped == "" && !state.Ended
	result.Complete = v.complete(col, log)
	owner := ""
	if result.Running {
		owner = "the job, which may still run"
	}
	if err := col.transactions(ctx, owner); err != nil {
		return nil, err
	}
	col.h.Claims = log.claims(col.h)
	if v.told != nil {
		col.h.Run = *v.told
	}
	opts := checker.Options{Complete: result.Complete, Running: result.Running, NoEpochs: len(log.entries) == 0}
	switch v.guarantee {
	case "", "exactly-once":
	case "at-least-once":
		opts.AtLeastOnce = true
	case "at-most-once":
		opts.AtMostOnce = true
	default:
		return nil, errors.New("--guarantee: exactly-once, at-least-once or at-most-once")
	}
	result.Report = checker.Check(col.h, col.oracle, opts)
	result.Verdict = result.Report.Verdict.String()
	for _, r := range col.h.Records {
		result.Records[col.topics[r.Topic]]++
		if r.Outcome == checker.Aborted {
			result.Aborted[col.topics[r.Topic]]++
		}
	}
	if result.Report.Verdict != checker.Clean {
		result.Twice = twice(col.h, func(topic int16) string { return col.topics[topic] })
	}
	result.Log = summary(log)
	result.Seconds = time.Since(began).Seconds()
	return result, nil
}

// complete reports whether all of the input must be visible: the newest confirmed checkpoint says that it was read to the end, or
// nothing is known of the job.
func (v *verification) complete(col *collector, log *jobLog) bool {
	state := log.state()
	if len(log.entries) == 0 {
		return true
	}
	if state.Completed == nil || state.Confirmed < state.Completed.Checkpoint {
		return false
	}
	done := log.reached(state.Completed)
	for _, p := range col.parts {
		if !p.output && done[p.name][p.number] < p.high {
			return false
		}
	}
	return true
}

// twice counts the visible records of each input whose number an earlier one had.
func twice(h *checker.History, name func(topic int16) string) map[string]int {
	numbers := make([][]int64, len(h.Topics))
	for i := range h.Records {
		r := &h.Records[i]
		if h.Topics[r.Topic].Role == checker.Input && r.Number >= 0 && (r.Outcome == checker.Plain || r.Outcome == checker.Committed) {
			numbers[r.Topic] = append(numbers[r.Topic], r.Number)
		}
	}
	found := map[string]int{}
	for t, all := range numbers {
		slices.Sort(all)
		if n := len(all) - len(slices.Compact(all)); n > 0 {
			found[name(int16(t))] = n
		}
	}
	return found
}

func summary(l *jobLog) logSummary {
	s := logSummary{Confirmed: uint64(l.state().Confirmed), Losses: len(l.state().Losses), Ended: l.state().Ended}
	for _, e := range l.entries {
		switch e.Kind {
		case joblog.Claimed:
			s.Generations++
		case joblog.Completed:
			s.Completed++
		}
	}
	return s
}

func (r *verified) print(c *console) {
	for _, name := range sortedKeys(r.Records) {
		aborted := ""
		if n := r.Aborted[name]; n > 0 {
			aborted = fmt.Sprintf(", %d of them aborted: no read_committed reader sees those", n)
		}
		c.print("%9d records in %s%s", r.Records[name], name, aborted)
	}
	if r.Log.Generations > 0 {
		c.print("%9d generations, %d checkpoints completed, the newest confirmed is %d", r.Log.Generations, r.Log.Completed, r.Log.Confirmed)
	}
	k := r.Report.Compared
	c.print("%9d records compared, %d transactions, %d epochs, in %.1f s", k.Records, k.Transactions, k.Epochs, r.Seconds)
	for _, name := range sortedKeys(r.Twice) {
		c.print("%9d records of the input %s have the number of an earlier one: its producer wrote them twice, as it does over a kill of the\n"+
			"          embedded Kafka; sequence numbers that do not rise follow from that, and are not the job's", r.Twice[name], name)
	}
	for _, f := range r.Report.Findings {
		detail := f.Detail
		if len(f.Evidence) > 0 { // which begins with the first
			detail = strings.TrimSuffix(detail, "; first: "+f.Evidence[0])
		}
		c.print("%s %s: %s", f.Verdict, f.Property, detail)
		for _, e := range f.Evidence {
			c.print("    %s", e)
		}
	}
	switch {
	case r.Complete:
		c.print("%s: all of the input was to be visible", r.Verdict)
	default:
		c.print("%s: everything up to checkpoint %d was to be visible", r.Verdict, r.Log.Confirmed)
	}
}

// ending is exit code 1 unless the verdict is CLEAN.
func (r *verified) ending() error {
	if r.Report.Verdict == checker.Clean {
		return nil
	}
	return exit{code: exitAgainst}
}
