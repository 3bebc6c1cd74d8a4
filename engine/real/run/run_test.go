package run_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/onefold/onefold/engine/checkpoint"
	"github.com/onefold/onefold/engine/flow"
	"github.com/onefold/onefold/engine/graph"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/real/embedded"
	"github.com/onefold/onefold/engine/real/kafkatest"
	"github.com/onefold/onefold/engine/real/run"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/source"
	"github.com/onefold/onefold/scenarios/jobs/copy"
	"github.com/onefold/onefold/scenarios/jobs/option"
	"github.com/onefold/onefold/scenarios/jobs/payments"
)

const accounts = 50

// bed is a Kafka with topics of this test, and a state directory.
type bed struct {
	t       *testing.T
	brokers []string
	in, out string
	state   string
	sent    uint64
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, state: t.TempDir()}
	if kafkatest.Which() == kafkatest.Kfake {
		k, err := embedded.Start(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		b.brokers = []string{k.Address}
	} else {
		b.brokers = kafkatest.Brokers(t)
	}
	mark := fmt.Sprint(time.Now().UnixNano())
	b.in, b.out = "in-"+mark, "out-"+mark
	cl := b.client()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	made, err := kadm.NewClient(cl).CreateTopics(ctx, 4, 1, nil, b.in, b.out)
	if err == nil {
		err = made.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bed) client(opts ...kgo.Opt) *kgo.Client {
	b.t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(b.brokers...), kgo.UnknownTopicRetries(50))...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(cl.Close)
	return cl
}

// send writes n more payments.
func (b *bed) send(n int) {
	b.t.Helper()
	cl := b.client()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var records []*kgo.Record
	for range n {
		key, value := payments.Input("", b.sent, accounts)
		records = append(records, &kgo.Record{Topic: b.in, Key: key, Value: value})
		b.sent++
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) job(bounded bool) *graph.Job {
	return payments.Job(option.Options{Topics: map[string]string{payments.In: b.in, payments.Out: b.out}, Bounded: bounded})
}

func (b *bed) config(job *graph.Job) run.Config {
	return run.Config{
		Job: job, Brokers: b.brokers, State: b.state, Parallelism: 2, TaskManagers: 2,
		Checkpoint: checkpoint.Config{Interval: 100 * time.Millisecond}, WaitTopics: 5 * time.Second,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// verify reads the output as a consumer would: every payment once, every total the sum of its account's payments so far.
func (b *bed) verify() {
	b.t.Helper()
	cl := b.client(kgo.ConsumeTopics(b.out), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sums := map[uint64]int64{}
	seen := map[uint64]bool{}
	for uint64(len(seen)) < b.sent {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			b.t.Fatalf("%d of %d payments in the output", len(seen), b.sent)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			account := binary.BigEndian.Uint64(r.Key)
			total, amount, seq := int64(binary.BigEndian.Uint64(r.Value)), int64(binary.BigEndian.Uint64(r.Value[8:])), binary.BigEndian.Uint64(r.Value[16:])
			sums[account] += amount
			switch want := payments.At(seq, accounts); {
			case seen[seq]:
				b.t.Fatalf("payment %d twice", seq)
			case account != want.Account || amount != want.Amount:
				b.t.Fatalf("payment %d is %d for %d, want %d for %d", seq, amount, account, want.Amount, want.Account)
			case total != sums[account]:
				b.t.Fatalf("account %d stands at %d after payment %d, want %d", account, total, seq, sums[account])
			}
			seen[seq] = true
		})
	}
}

// The whole line on real goroutines: what the simulator cannot see is seen by the race detector here.
func TestPaymentsEndAndAreRight(t *testing.T) {
	b := newBed(t)
	b.send(3000)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := run.Run(ctx, b.config(b.job(true)))
	if err != nil || o.Ending != run.Ended {
		t.Fatal(o, err)
	}
	b.verify()
	again, err := run.Run(ctx, b.config(b.job(true)))
	if err != nil || again.Ending != run.Ended || again.Checkpoint != o.Checkpoint || again.ExitCode() != 0 {
		t.Fatalf("started again: %v %v, want %v", again, err, o)
	}
}

// Stopped with a savepoint and at once, in turns: each start goes on where the one before was.
func TestStopsAndStartsLoseNothing(t *testing.T) {
	b := newBed(t)
	for i := range 4 {
		b.send(1000)
		confirmed := make(chan struct{}, 100)
		c := b.config(b.job(false))
		c.OnEvent = func(e jobmanager.Event) {
			if e.Kind == jobmanager.CheckpointConfirmed {
				select {
				case confirmed <- struct{}{}:
				default:
				}
			}
		}
		r, err := run.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			select {
			case <-confirmed:
			case <-time.After(time.Minute):
				t.Fatal("no checkpoint was confirmed")
			}
		}
		want := run.Saved
		if i%2 == 0 {
			want = run.AtOnce
			r.Kill()
		} else {
			r.Stop()
		}
		if o := r.Wait(); o.Ending != want {
			t.Fatalf("%v, want %s", o, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		defer cancel()
		b.verify()
	}()
	if o, err := run.Run(ctx, b.config(b.job(false))); err != nil || o.Ending != run.Saved {
		t.Fatal(o, err)
	}
}

// Bad settings are refused before anything is written to Kafka or to the log, with what to do about it.
func TestRefusals(t *testing.T) {
	b := newBed(t)
	cases := []struct {
		name   string
		change func(*run.Config)
		want   []string
	}{
		{"no state", func(c *run.Config) { c.State = "" }, []string{"--state"}},
		{"a budget that does not add up", func(c *run.Config) { c.Checkpoint.Interval = 10 * time.Minute }, []string{"2 tolerated failures", "raise --transaction-timeout above", "32m0s"}},
		{"a topic that is not there", func(c *run.Config) {
			c.Job = payments.Job(option.Options{Topics: map[string]string{payments.In: "nowhere", payments.Out: b.out}})
			c.WaitTopics = 300 * time.Millisecond
		}, []string{"no topic nowhere", "--topic"}},
		{"a broker that is not there", func(c *run.Config) { c.Brokers, c.WaitTopics = []string{"127.0.0.1:9"}, 300*time.Millisecond }, []string{"127.0.0.1:9", "refused"}},
		{"an address that is none", func(c *run.Config) { c.Brokers = []string{"nowhere"} }, []string{"HOST:PORT"}},
		{"a transaction timeout above the broker's", func(c *run.Config) {
			c.Job = payments.Job(option.Options{Topics: map[string]string{payments.In: b.in, payments.Out: b.out}, TransactionTimeout: time.Hour})
		}, []string{"transaction.max.timeout.ms 15m0s", "1h0m0s"}},
		{"a hold without the variable", func(c *run.Config) { c.Hold = "k7" }, []string{"ONEFOLD_TEST=1"}},
		{"negative parallelism", func(c *run.Config) { c.Parallelism = -1 }, []string{"--parallelism"}},
		{"a state directory that is a file", func(c *run.Config) {
			c.State = filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(c.State, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}, []string{"state directory"}},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			c := b.config(b.job(true))
			x.change(&c)
			r, err := run.Start(c)
			if err == nil {
				r.Kill()
				r.Wait()
				t.Fatal("it was started")
			}
			for _, w := range x.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in: %v", w, err)
				}
			}
			if files, _ := filepath.Glob(filepath.Join(c.State, "job", "log", "*")); len(files) > 0 {
				t.Errorf("the log was begun: %v", files)
			}
		})
	}
}

// A state directory belongs to one job with one graph, and what is corrupt in it stops the job.
func TestStateOfAnotherJobAndCorruptStateStop(t *testing.T) {
	b := newBed(t)
	b.send(100)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	first := b.config(b.job(false))
	first.OnEvent = nil
	r, err := run.Start(first)
	if err != nil {
		t.Fatal(err)
	}
	b.verify()
	r.Stop()
	if o := r.Wait(); o.Ending != run.Saved {
		t.Fatal(o)
	}

	other := b.config(copy.Job(option.Options{Topics: map[string]string{copy.In: b.in, copy.Out: b.out}, Bounded: true}))
	o, err := run.Run(ctx, other)
	if err == nil {
		err = o.Err
	}
	if o.ExitCode() != 2 || err == nil || !strings.Contains(err.Error(), "payments") {
		t.Errorf("another job on the same state: %v %v", o, err)
	}

	newest := newestFile(t, filepath.Join(b.state, "job", "checkpoints"), "manifest")
	text, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(newest, bytes.Replace(text, []byte(`"position":`), []byte(`"position":1`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	o, err = run.Run(ctx, b.config(b.job(false)))
	if err == nil {
		err = o.Err
	}
	if o.ExitCode() != 2 || err == nil || !strings.Contains(err.Error(), "manifest") {
		t.Errorf("a corrupt manifest: %v %v", o, err)
	}
}

func newestFile(t *testing.T, dir, part string) string {
	t.Helper()
	newest, at := "", time.Time{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && strings.Contains(filepath.Base(path), part) && info.ModTime().After(at) {
			newest, at = path, info.ModTime()
		}
		return err
	})
	if err != nil || newest == "" {
		t.Fatalf("no %s below %s: %v", part, dir, err)
	}
	return newest
}

// At-least-once and at-most-once run too; without failures all three write the same.
func TestOtherGuaranteesRun(t *testing.T) {
	for _, g := range []operator.Guarantee{operator.AtLeastOnce, operator.AtMostOnce} {
		t.Run(fmt.Sprint(g), func(t *testing.T) {
			b := newBed(t)
			b.send(500)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			job := payments.Job(option.Options{Topics: map[string]string{payments.In: b.in, payments.Out: b.out}, Bounded: true, Guarantee: g})
			if o, err := run.Run(ctx, b.config(job)); err != nil || o.Ending != run.Ended {
				t.Fatal(o, err)
			}
			b.verify()
		})
	}
}

// A user function that never returns would hold the job for ever: the process must end and name the operator.
func TestWatchdogNamesTheOperator(t *testing.T) {
	b := newBed(t)
	b.send(10)
	hang := make(chan struct{})
	defer close(hang)
	job := flow.New("hanging")
	in := flow.From(job, "payments", source.Kafka{Topic: b.in}, func(r *operator.Record) (int64, error) { return r.Offset, nil })
	stuck := flow.Map(flow.Rebalance(in), func(v int64) (int64, error) {
		<-hang
		return v, nil
	}, flow.UID("stuck"))
	flow.To(stuck, "totals", sink.Kafka{Topic: b.out}, func(v int64, r *operator.Record) error {
		r.Value = flow.Int64.Append(r.Value, v)
		return nil
	})
	c := b.config(job)
	c.Checkpoint = checkpoint.Config{Interval: 100 * time.Millisecond, Timeout: 300 * time.Millisecond, Tolerated: -1}
	c.CancelTimeout = 500 * time.Millisecond
	r, err := run.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan run.Outcome, 1)
	go func() { done <- r.Wait() }()
	select {
	case o := <-done:
		if o.Ending != run.Watchdog || o.ExitCode() != 2 || o.Operator != "stuck" {
			t.Fatalf("%+v: %v", o, o)
		}
		t.Log(o)
	case <-time.After(time.Minute):
		t.Fatal("the process does not end")
	}
}

// A user function that fails or panics fails its task with the operator and the record, and the job goes on trying.
func TestAFailingUserFunctionIsNamed(t *testing.T) {
	b := newBed(t)
	b.send(10)
	job := flow.New("failing")
	in := flow.From(job, "payments", source.Kafka{Topic: b.in}, func(r *operator.Record) (int64, error) { return r.Offset, nil })
	bad := flow.Map(in, func(int64) (int64, error) { panic("no such luck") }, flow.UID("unlucky"))
	flow.To(bad, "totals", sink.Kafka{Topic: b.out}, func(v int64, r *operator.Record) error { return nil })
	c := b.config(job)
	c.RestartLimit = 2
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := run.Run(ctx, c)
	if err != nil || o.Ending != run.Failed || o.ExitCode() != 2 {
		t.Fatal(o, err)
	}
	for _, want := range []string{"unlucky", "no such luck", "payments partition"} {
		if !strings.Contains(o.Err.Error(), want) {
			t.Errorf("%q is not in: %v", want, o.Err)
		}
	}
}
