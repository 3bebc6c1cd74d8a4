package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/scenarios/jobs"
)

// generator writes a job's input.
type generator struct {
	place
	records    uint64
	rate       uint64
	partitions int32
	accounts   uint64
	from       int64
	patience   time.Duration // how long the last answers are waited for; 0: a minute
}

// generated is what a generator has written.
type generated struct {
	Job     string            `json:"job"`
	Brokers []string          `json:"brokers"`
	Topics  map[string]uint64 `json:"topics"` // records written, by the cluster's name
	Seconds float64           `json:"seconds"`
}

func newGenerate(c *console) *cobra.Command {
	g := &generator{}
	cmd := &cobra.Command{
		Use:   "generate JOB",
		Short: "write a job's input, with franz-go's client as an independent witness",
		Long: "generate makes the job's topics if they are missing and writes records whose content follows from their number.\n" +
			"Started again it goes on with the numbers after those that the topic holds.",
		Example: "  realrun generate payments --records 100000 --brokers 127.0.0.1:9092\n" +
			"  realrun generate payments --records 1000000 --rate 20000 --brokers 127.0.0.1:9092",
		Args: oneJob, ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := find(args[0])
			if err != nil {
				return err
			}
			k, shut, err := g.open()
			if err != nil {
				return err
			}
			defer shut()
			result, err := g.run(cmd.Context(), c, job, k)
			if err != nil {
				return err
			}
			for _, topic := range sortedKeys(result.Topics) {
				c.print("%d records in %s", result.Topics[topic], topic)
			}
			c.print("\nnext: %s run %s --brokers %s --state DIR%s", me(), job.Name, g.brokers, g.repeat())
			return c.document(result)
		},
	}
	g.flags(cmd.Flags())
	cmd.Flags().Uint64Var(&g.records, "records", 100_000, "records for each input topic")
	cmd.Flags().Uint64Var(&g.rate, "rate", 0, "records per second for each input topic; 0: as fast as it goes")
	cmd.Flags().Int32Var(&g.partitions, "partitions", 8, "partitions of the topics that are made")
	cmd.Flags().Uint64Var(&g.accounts, "accounts", 10_000, "different keys")
	cmd.Flags().Int64Var(&g.from, "from", -1, "number of the first record; -1: as many as the topic holds")
	return cmd
}

// repeat is the flags that another command on the same place needs, too.
func (p *place) repeat() string {
	s := p.secure.String()
	for _, t := range p.topics {
		s += " --topic " + t
	}
	return s
}

func (g *generator) run(ctx context.Context, c *console, job jobs.Spec, k cluster) (*generated, error) {
	if g.partitions < 1 || g.accounts < 1 {
		return nil, errors.New("--partitions and --accounts must be at least 1")
	}
	names, err := g.names(job)
	if err != nil {
		return nil, err
	}
	cl, err := k.witness(ctx, kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(200_000),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	var all []string
	for _, t := range slices.Concat(job.Inputs, job.Outputs) {
		all = append(all, names[t])
	}
	if err := ensureTopics(ctx, c, cl, all, g.partitions); err != nil {
		return nil, err
	}
	result := &generated{Job: job.Name, Brokers: k.brokers, Topics: map[string]uint64{}}
	began := time.Now()
	for _, logical := range job.Inputs {
		from, err := g.first(ctx, cl, names[logical])
		if err != nil {
			return nil, err
		}
		n, err := g.write(ctx, c, cl, job, logical, names[logical], from)
		result.Topics[names[logical]] = n
		if err != nil {
			return nil, err
		}
	}
	result.Seconds = time.Since(began).Seconds()
	return result, nil
}

// first is the number of the first record to write.
func (g *generator) first(ctx context.Context, cl *kgo.Client, topic string) (uint64, error) {
	if g.from >= 0 {
		return uint64(g.from), nil
	}
	ends, err := endOffsets(ctx, kadm.NewClient(cl), topic)
	if err != nil {
		return 0, fmt.Errorf("end of %s: %w", topic, err)
	}
	n := uint64(0)
	ends.Each(func(o kadm.ListedOffset) { n += uint64(o.Offset) })
	return n, nil
}

// endOffsets waits for brokers that do not know a topic yet: one that was made a moment ago reaches each at its own time.
func endOffsets(ctx context.Context, admin *kadm.Client, topic string) (kadm.ListedOffsets, error) {
	for begin := time.Now(); ; {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err == nil {
			err = ends.Error()
		}
		if err == nil || !kerr.IsRetriable(err) || time.Since(begin) > 10*time.Second {
			return ends, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// write produces the records and waits for every answer. A record that got none fails the whole: it may be there or not.
func (g *generator) write(ctx context.Context, c *console, cl *kgo.Client, job jobs.Spec, logical, topic string, from uint64) (uint64, error) {
	var done atomic.Uint64
	var failure atomic.Pointer[error]
	began, told := time.Now(), time.Now()
	for i := uint64(0); i < g.records && ctx.Err() == nil && failure.Load() == nil; i++ {
		if i%256 == 0 {
			if now := time.Now(); now.Sub(told) >= time.Second {
				told = now
				c.say("%s: %d of %d records, %.0f per second", topic, done.Load(), g.records, float64(done.Load())/now.Sub(began).Seconds())
			}
		}
		g.pace(ctx, began, i)
		key, value := job.Input(logical, from+i, g.accounts)
		cl.Produce(ctx, &kgo.Record{Topic: topic, Key: key, Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failure.CompareAndSwap(nil, &err)
				return
			}
			done.Add(1)
		})
	}
	// An interrupt stops the writing, not the waiting for answers.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(g.patience, time.Minute))
	defer cancel()
	err := cl.Flush(rest)
	if f := failure.Load(); f != nil {
		err = *f
	}
	if err != nil && ctx.Err() == nil {
		return done.Load(), fmt.Errorf("write to %s after %d records: %w", topic, done.Load(), err)
	}
	return done.Load(), nil
}

// pace waits until record i is due.
func (g *generator) pace(ctx context.Context, began time.Time, i uint64) {
	if g.rate == 0 {
		return
	}
	due := began.Add(time.Duration(float64(i) / float64(g.rate) * float64(time.Second)))
	wait := time.Until(due)
	if wait < time.Millisecond {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
