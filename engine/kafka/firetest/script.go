package firetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
)

// Limits bound what the script waits for. In between the client has its own timeouts, and a limit is their sum.
type Limits struct {
	Request  time.Duration // the client's RequestTimeout
	Progress time.Duration // within which transactions must go on being committed, whatever was struck
	Strike   time.Duration // within which an operation on the cluster must be over
	// Say is told each operation and what it has done; nil is allowed.
	Say func(string)
}

// Report is what a run of the script has seen.
type Report struct {
	Strikes   []string // each with what was committed until the next
	Committed int      // transactions
	Aborted   int      // by the writer's will
	Failed    int      // transactions whose producer failed, which aborts them
	Mended    int      // markers that the cluster dropped and the writer wrote
	Reasons   []string // of failures, with their number
	Records   int      // committed, read once and in order
	Slowest   time.Duration
}

func (r Report) String() string {
	return fmt.Sprintf("%d transactions committed, %d aborted, %d failed %v, %d dropped markers mended; %d records read once and in order; the slowest transaction took %s\n\t%s",
		r.Committed, r.Aborted, r.Failed, r.Reasons, r.Mended, r.Records, r.Slowest.Round(time.Millisecond), strings.Join(r.Strikes, "\n\t"))
}

// Step is one act of the script.
type Step string

// The acts.
const (
	LeaderKilled      Step = "leader killed"
	LeaderPaused      Step = "leader paused"
	LeaderMoved       Step = "leader moved"
	CoordinatorKilled Step = "coordinator killed"
	CoordinatorPaused Step = "coordinator paused"
	CoordinatorMoved  Step = "coordinator moved"
	GroupKilled       Step = "group coordinator killed"
	Enlarged          Step = "topic enlarged"
	Rolled            Step = "brokers rolled to the newer release"
	Raised            Step = "transaction.version raised"
)

// Everything is the whole script.
var Everything = []Step{
	LeaderKilled, LeaderPaused, CoordinatorKilled, CoordinatorPaused, GroupKilled, LeaderMoved, CoordinatorMoved, Enlarged, Rolled, Raised,
}

// fire is a run of the script.
type fire struct {
	t      *stage.T
	world  World
	limits Limits
	w      *writer
	r      *reader
	report Report
}

// Fire runs the script: a transactional writer and a reader go on while the acts are played, and at the end every record of a
// transaction whose commit was acknowledged has been read once and in order, none of an aborted one, and the group's offset is
// that of the last commit. An error says what was not so.
func Fire(world World, number int, limits Limits, steps ...Step) (report Report, err error) {
	err = stage.Run(world, number, func(t *stage.T) {
		f := &fire{t: t, world: world, limits: limits}
		f.begin()
		f.progress(4)
		for _, s := range steps {
			before := f.w.committed
			f.play(s)
			f.say("%s: %d transactions committed", s, f.w.committed-before)
			f.report.Strikes = append(f.report.Strikes, fmt.Sprintf("%s: %d transactions", s, f.w.committed-before))
		}
		f.end()
		report = f.report
	})
	return report, err
}

const firstPartitions, morePartitions = 3, 5

func (f *fire) client() *kafka.Client {
	return kafka.New(kafka.Config{Process: f.t.Process, Loop: f.t.Loop, RequestTimeout: f.limits.Request})
}

func (f *fire) begin() {
	t := f.t
	topic := t.Topic(firstPartitions, forEver)
	f.w = &writer{
		client: f.client(), loop: t.Loop, clock: t.Process, id: t.Name("txn"), topic: topic, group: t.Name("group"),
		protocol: t.Protocol, parts: firstPartitions, want: map[int32][]string{}, reasons: map[string]int{},
	}
	f.w.lane = id.TopicPartition{Topic: topic, Partition: 0}
	f.r = &reader{client: f.client(), loop: t.Loop, topic: topic, got: map[int32][]string{}}
	f.r.add(0, 1, 2)
	t.Loop.Post(f.w.run)
}

// wait waits until something holds while writer and reader go on.
func (f *fire) wait(what string, limit time.Duration, holds func() bool) {
	ok := f.t.Within(limit, func() bool { return f.w.err != nil || f.r.err != nil || holds() })
	f.t.Check(f.w.err == nil, "%s: %v", what, f.w.err)
	f.t.Check(f.r.err == nil, "%s: %v", what, f.r.err)
	f.t.Check(ok, "%s: not within %s; transaction %d is at %q, committed %d, failed %d %v", what, limit, f.w.n, f.w.doing, f.w.committed, f.w.failed, f.w.reasons)
}

// progress waits until n more transactions are committed and read.
func (f *fire) progress(n int) {
	to := f.w.committed + n
	f.wait("progress", f.limits.Progress, func() bool { return f.w.committed >= to })
	f.wait("reading", f.limits.Progress, func() bool { return len(f.r.got[0]) >= len(f.w.want[0])-2*perPart })
}

// strike does something to the cluster and waits until it is over.
func (f *fire) strike(s Strike) {
	var failed error
	over := false
	began := f.t.Process.Now()
	f.world.Strike(f.t.Loop, s, func(err error) { failed, over = err, true })
	f.wait(s.String(), f.limits.Strike, func() bool { return over })
	f.t.Check(failed == nil, "%s: %v", s, failed)
	f.say("%s: took %s", s, f.t.Process.Now().Sub(began).Round(time.Millisecond))
}

func (f *fire) say(format string, args ...any) {
	if f.limits.Say != nil {
		f.limits.Say(fmt.Sprintf(format, args...))
	}
}

func (f *fire) play(s Step) {
	leader := stage.Part(f.w.topic, 0)
	switch s {
	case LeaderKilled:
		f.killed(f.t.Find(stage.Leader(leader)))
	case CoordinatorKilled:
		f.killed(f.t.Find(stage.TxnCoordinator(f.w.id)))
	case GroupKilled:
		f.killed(f.t.Find(stage.GroupCoordinator(f.w.group)))
	case LeaderPaused:
		f.paused(f.t.Find(stage.Leader(leader)))
	case CoordinatorPaused:
		f.paused(f.t.Find(stage.TxnCoordinator(f.w.id)))
	case LeaderMoved:
		for p := range f.w.parts {
			f.strike(Strike{Op: MoveLeader, Partition: stage.Part(f.w.topic, p)})
		}
	case CoordinatorMoved:
		f.strike(Strike{Op: MoveCoordinator, ID: f.w.id})
	case Enlarged:
		f.enlarge()
	case Rolled:
		m, _ := f.t.View(-1)
		for _, b := range m.Brokers {
			f.strike(Strike{Op: Roll, Broker: b})
			f.progress(1)
		}
	case Raised:
		f.raise()
	}
	f.progress(3)
}

// killed: writing goes on without the broker where there are replicas, and in any case when it is back.
func (f *fire) killed(broker int32) {
	f.strike(Strike{Op: Kill, Broker: broker})
	if f.world.Replicated() {
		f.progress(3)
	}
	f.strike(Strike{Op: Start, Broker: broker})
}

func (f *fire) paused(broker int32) {
	f.strike(Strike{Op: Pause, Broker: broker})
	if f.world.Replicated() {
		f.progress(3)
	} else {
		f.t.Sleep(2 * f.limits.Request)
	}
	f.strike(Strike{Op: Resume, Broker: broker})
}

func (f *fire) enlarge() {
	code := f.t.Settle("create partitions", func(done func(kafka.Code, error)) { f.t.CreatePartitions(f.w.topic, morePartitions, done) })
	f.t.Check(code == kafka.OK || code == kafka.InvalidPartitions, "create partitions: %v", code)
	f.w.parts = morePartitions // at once: the client finds out when they are there
	f.r.add(3, 4)
}

// raise: clients that know the old feature go on, and a new one takes the new protocol.
func (f *fire) raise() {
	f.strike(Strike{Op: RaiseTransaction})
	f.progress(3)
	var got kafka.Features
	f.wait("the new feature", f.limits.Strike, func() bool {
		f.t.Do(func(done func()) { f.client().Features(func(x kafka.Features, _ error) { got = x; done() }) })
		return got.TransactionVersion == 2
	})
	f.w.client, f.w.protocol = f.client(), got.Protocol()
}

// end stops the writer and compares.
func (f *fire) end() {
	stopped := false
	f.w.stopping = func() { stopped = true }
	f.wait("the last transaction", f.limits.Progress, func() bool { return stopped })
	for p := range f.w.parts {
		want := f.w.want[p]
		f.wait(fmt.Sprintf("reading of partition %d", p), f.limits.Progress, func() bool { return len(f.r.got[p]) >= len(want) })
		f.t.Sleep(50 * time.Millisecond)
		f.t.Check(slices.Equal(f.r.got[p], want), "partition %d: %s", p, difference(f.r.got[p], want))
		f.report.Records += len(want)
	}
	f.r.close()
	o := f.t.StableLane(f.w.group, f.w.lane)
	f.t.Check(o.Offset == f.w.offset, "the group's offset is %d, not %d", o.Offset, f.w.offset)
	r := &f.report
	r.Committed, r.Aborted, r.Failed, r.Mended, r.Slowest = f.w.committed, f.w.aborted, f.w.failed, f.w.mended, f.w.slowest
	for why, n := range f.w.reasons { // order irrelevant: sorted below
		r.Reasons = append(r.Reasons, fmt.Sprintf("%s x%d", why, n))
	}
	slices.Sort(r.Reasons)
}

// difference is the first place where two lists differ.
func difference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		at := func(l []string) string {
			if i < len(l) {
				return l[i]
			}
			return "nothing"
		}
		if at(got) != at(want) {
			return fmt.Sprintf("record %d is %s, not %s (%d read, %d committed)", i, at(got), at(want), len(got), len(want))
		}
	}
	return "no difference"
}
