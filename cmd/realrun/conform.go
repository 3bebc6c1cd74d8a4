package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/onefold/onefold/engine/broker/brokerfuzz"
	"github.com/onefold/onefold/engine/real/conform"
	"github.com/onefold/onefold/sim/simbroker/reference"
)

// conformance is a comparison of a real cluster with the simulated one.
type conformance struct {
	brokers    []string
	profile    string
	operations int
	seed       uint64
	lanes      int
	most       int
	shrinking  int
	sequence   string
	record     string
	show       bool
	moves      bool
	anyRelease bool
}

func newConform(c *console) *cobra.Command {
	f := &conformance{}
	cmd := &cobra.Command{
		Use:   "conform",
		Short: "compare a real cluster with the simulated broker, operation by operation",
		Long: "conform draws sequences of operations from a seed (producers that share transactional ids, old and new requests, repeats,\n" +
			"timeouts, markers by hand, ...), runs each on the cluster and on the simulated broker, and compares every answer and what can\n" +
			"be seen afterwards. A difference is made small and printed as a file that repeats it.\n\n" +
			"The cluster should look for timed out transactions often: transaction.abort.timed.out.transaction.cleanup.interval.ms=100.\n" +
			"`make fuzz` and `make record` start such a Kafka, call this, and stop it again.\n" +
			"Exit codes: 0 they agree, 1 they differ, 2 usage, or the cluster cannot be asked.",
		Example: strings.Trim(`
  realrun conform --brokers 127.0.0.1:9092 --profile k44 --operations 100000 --seed 1
  realrun conform --brokers 127.0.0.1:9092 --profile k39 --sequence difference.txt
  realrun conform --operations 80 --seed 7 --show                       only print what would be done
  realrun conform --brokers 127.0.0.1:9092 --sequence all.txt --record traces/4.4.0-tv2.txt`, "\n"),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), c) },
	}
	f.flags(cmd.Flags())
	return cmd
}

func (f *conformance) flags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.brokers, "brokers", nil, "HOST:PORT of brokers, several with commas")
	flags.StringVar(&f.profile, "profile", "k44", "the `RELEASE` of the cluster, k35 to k44; -tv0 or -tv1 behind it for its transaction.version")
	flags.IntVar(&f.operations, "operations", 10000, "how many operations to draw")
	flags.Uint64Var(&f.seed, "seed", 1, "what they are drawn from")
	flags.IntVar(&f.lanes, "lanes", 24, "sequences side by side")
	flags.IntVar(&f.most, "differences", 10, "end after so many")
	flags.IntVar(&f.shrinking, "shrinking", 150, "runs that making one difference smaller may take; 0 prints it as it was drawn")
	flags.StringVar(&f.sequence, "sequence", "", "a file of sequences to run instead of drawn ones")
	flags.StringVar(&f.record, "record", "", "write what the cluster answers to this file, and compare nothing")
	flags.BoolVar(&f.moves, "moves", false, "the cluster has three brokers: move leaders and coordinators, too; one sequence at a time")
	flags.BoolVar(&f.anyRelease, "any-release", false, "compare although the brokers look like another release than --profile")
	flags.BoolVar(&f.show, "show", false, "print the sequences and run nothing")
}

func (f *conformance) run(ctx context.Context, c *console) error {
	if err := f.check(); err != nil {
		return err
	}
	model, err := reference.New(f.profile)
	if err != nil {
		return err
	}
	if f.moves {
		model.Brokers = 3
	}
	sequences, err := f.sequences(model)
	if err != nil {
		return err
	}
	if f.show {
		for _, s := range sequences {
			c.print("%s", s)
		}
		return nil
	}
	if len(f.brokers) == 0 {
		return errors.New("name the cluster: --brokers HOST:PORT; `.ci/kafka start` starts one and prints its address")
	}
	brokers, err := offers(ctx, f.brokers)
	if err != nil {
		return err
	}
	if err := model.Expect(brokers); err != nil && !f.anyRelease {
		return fmt.Errorf("%w, or all the same with --any-release", err)
	}
	lanes := f.lanes
	if f.sequence != "" || f.moves {
		lanes = 1 // nothing beside it that could have an influence
	}
	connect := func() (*conform.Cluster, error) { return conform.New(f.brokers, lanes) }
	if f.moves {
		connect = func() (*conform.Cluster, error) { return conform.NewMoving(f.brokers) }
	}
	cluster, err := connect()
	if err != nil {
		return err
	}
	defer cluster.Close()
	stop := context.AfterFunc(ctx, func() {
		c.say("interrupted")
		os.Exit(exitUsage)
	})
	defer stop()
	if f.record != "" {
		return f.write(c, cluster, sequences)
	}
	return f.compare(c, conform.Campaign{
		Real: cluster, Model: model, Seed: f.seed, Operations: f.operations, Most: f.most, Shrinking: f.shrinking,
		Shapes: model.Shapes(), Lanes: lanes,
	}, sequences)
}

// check refuses numbers that nothing could be compared with.
func (f *conformance) check() error {
	for _, n := range []struct {
		flag        string
		is, atLeast int
	}{
		{"operations", f.operations, 1},
		{"lanes", f.lanes, 1},
		{"differences", f.most, 1},
		{"shrinking", f.shrinking, 0},
	} {
		if n.is < n.atLeast {
			return fmt.Errorf("--%s %d: want a whole number from %d on", n.flag, n.is, n.atLeast)
		}
	}
	return nil
}

// sequences are those of a file, or, to be shown, those that would be drawn.
func (f *conformance) sequences(model reference.Cluster) (out []brokerfuzz.Sequence, err error) {
	if f.sequence != "" {
		text, err := os.ReadFile(f.sequence)
		if err != nil {
			return nil, err
		}
		if out, err = brokerfuzz.ParseAll(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.sequence, err)
		}
		return out, nil
	}
	for n := uint64(0); f.show && f.operations > 0; n++ {
		out = append(out, brokerfuzz.Draw(f.seed, n, model.Shapes()[0]))
		f.operations -= len(out[n].Ops)
	}
	if f.record != "" && len(out) == 0 {
		return nil, errors.New("--record needs --sequence FILE: a recording is of sequences that are kept")
	}
	return out, nil
}

// write records transcripts, one sequence after the other.
func (f *conformance) write(c *console, cluster *conform.Cluster, sequences []brokerfuzz.Sequence) error {
	if err := replace(f.record, nil); err != nil { // told now, not after the minutes that it takes
		return err
	}
	var b strings.Builder
	operations := 0
	for i, s := range sequences {
		t, err := cluster.Run(s)
		if err != nil {
			return fmt.Errorf("sequence %d of %s: %w", i+1, f.sequence, err)
		}
		b.WriteString(t.String() + "\n")
		operations += len(s.Ops)
		c.say("recorded %d of %d sequences", i+1, len(sequences))
	}
	if err := replace(f.record, []byte(b.String())); err != nil {
		return err
	}
	c.print("%s: %d sequences, %d operations\nnext: go test ./sim/simbroker/reference", f.record, len(sequences), operations)
	return nil
}

// replace writes a file whole or not at all. Without content it only tries whether it could.
func replace(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), ".realrun-*")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	_, err = out.Write(content)
	if err := errors.Join(err, out.Chmod(0o644), out.Close()); err != nil || content == nil {
		return err
	}
	return os.Rename(out.Name(), file)
}

func (f *conformance) compare(c *console, campaign conform.Campaign, sequences []brokerfuzz.Sequence) error {
	began, told := time.Now(), time.Now()
	campaign.Progress = func(r *conform.Result) {
		if time.Since(told) >= 5*time.Second {
			told = time.Now()
			c.say("%s: %s", time.Since(began).Truncate(time.Second), r)
		}
	}
	var r *conform.Result
	var err error
	if sequences != nil {
		r, err = campaign.Each(sequences)
	} else {
		r, err = campaign.Run()
	}
	if err != nil {
		return err
	}
	for _, d := range r.Differences {
		f.difference(c, d)
	}
	if sequences == nil {
		c.print("answers met:")
		for _, l := range r.Met() {
			c.print("  %s", l)
		}
	}
	for _, p := range brokerfuzz.Permitted {
		if n := r.Permitted[p.Name]; n > 0 {
			c.print("permitted %s, %d times: %s", p.Name, n, p.Reason)
		}
	}
	c.print("%s against %s, %s: %s", f.profile, strings.Join(f.brokers, ","), time.Since(began).Truncate(time.Second), r)
	switch {
	case len(r.Differences) > 0:
		return exit{exitAgainst, ""}
	case r.Operations == 0:
		return errors.New("nothing was compared: the machine was too slow for the sequences' timeouts; use fewer --lanes")
	}
	return nil
}

// difference prints one and writes the file that repeats it.
func (f *conformance) difference(c *console, d conform.Difference) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("onefold-difference-%s-%d-%d.txt", f.profile, f.seed, d.Drawn))
	if err := os.WriteFile(name, []byte(d.Sequence.String()), 0o644); err != nil {
		c.say("%v", err)
	}
	c.print("DIFFERENCE %s\n\nnext: %s conform --brokers %s --profile %s --sequence %s\n", d, me(), strings.Join(f.brokers, ","), f.profile, name)
}
