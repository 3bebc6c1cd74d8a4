package source_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/source"
	"github.com/onefold/onefold/sim"
	"github.com/onefold/onefold/sim/simbroker"
)

// rig is a simulated cluster with a client node.
type rig struct {
	t       *testing.T
	world   *sim.World
	cluster *simbroker.Cluster
	process *proc.Process
	loop    env.Loop
}

func newRig(t *testing.T, partitions int) *rig {
	r := &rig{t: t}
	r.world = sim.New(sim.Options{Seed: 7, Checks: true})
	r.cluster = simbroker.New(r.world, simbroker.Config{Encode: true})
	r.world.BrokerPort = r.cluster.Requests
	r.cluster.CreateTopic(simbroker.TopicSpec{Name: "in", Partitions: partitions})
	r.world.NewNode("client", func(p *proc.Process) { r.process = p }).Start()
	r.world.RunFor(time.Second)
	r.loop = r.process.NewLoop("test")
	t.Cleanup(r.world.Close)
	return r
}

// until runs the world until cond holds.
func (r *rig) until(cond func() bool) {
	r.t.Helper()
	ok := r.world.RunUntil(cond, r.world.Now().Add(5*time.Minute))
	if f := r.world.Failure(); f != nil {
		r.t.Fatal(f)
	}
	if !ok {
		r.t.Fatal("does not come within five simulated minutes")
	}
}

// append adds records with these values.
func (r *rig) append(partition int32, values ...string) {
	var records []simbroker.Record
	for _, v := range values {
		records = append(records, simbroker.Record{Value: []byte(v), Time: 1000})
	}
	r.cluster.Append("in", partition, records)
}

func (r *rig) discover(k source.Kafka, known ...operator.Split) (splits []operator.Split, err error) {
	done := false
	r.loop.Post(func() {
		k.Enumerator().Discover(r.loop, r.process, known, func(s []operator.Split, e error) { splits, err, done = s, e, true })
	})
	r.until(func() bool { return done })
	return splits, err
}

// reading is an opened source that is polled whenever it wakes.
type reading struct {
	operator.Source
	got    []string
	status operator.Status
	err    error
}

func (r *rig) open(k source.Kafka, guarantee operator.Guarantee, splits ...operator.Split) *reading {
	rd := &reading{Source: k.New(), status: operator.More}
	var poll func()
	poll = func() {
		rd.status, rd.err = rd.Poll(3, func(x *operator.Record) error {
			rd.got = append(rd.got, fmt.Sprintf("%d:%d=%s", x.Partition, x.Offset, x.Value))
			return nil
		})
		if rd.err == nil && rd.status == operator.More {
			r.loop.Post(poll)
		}
	}
	r.loop.Post(func() {
		rd.Open(operator.Context{Process: r.process, Loop: r.loop, Guarantee: guarantee, Wake: func() { r.loop.Post(poll) }}, splits, func(err error) {
			rd.err = err
			poll()
		})
	})
	return rd
}

// on runs fn on the loop of the sources.
func (r *rig) on(fn func()) {
	done := false
	r.loop.Post(func() { fn(); done = true })
	r.until(func() bool { return done })
}

func (rd *reading) ended() bool { return rd.err != nil || rd.status == operator.Ended }

// A bounded source yields exactly what was stable when it was discovered, and stands at its stops, also where the tail is
// aborted or a marker. What comes later, or was open, is not read.
func TestBoundedSourceEndsAtTheStableEnd(t *testing.T) {
	r := newRig(t, 3)
	r.append(0, "a", "b")
	r.cluster.AppendTxn("in", 0, []simbroker.Record{{Value: []byte("no")}}, false)
	r.cluster.AppendTxn("in", 1, []simbroker.Record{{Value: []byte("c")}}, true)
	_, end := r.cluster.OpenTxn("in", 1, []simbroker.Record{{Value: []byte("open")}})
	k := source.Kafka{Topic: "in", Bounded: true}
	splits, err := r.discover(k)
	if err != nil {
		t.Fatal(err)
	}
	end(true)
	r.append(0, "late")
	want := []operator.Split{{Topic: "in", Partition: 0, Stop: 4}, {Topic: "in", Partition: 1, Stop: 2}, {Topic: "in", Partition: 2}}
	if !slices.Equal(splits, want) {
		t.Fatalf("splits %+v", splits)
	}
	rd := r.open(k, operator.ExactlyOnce, splits...)
	r.until(rd.ended)
	slices.Sort(rd.got)
	if rd.err != nil || !slices.Equal(rd.got, []string{"0:0=a", "0:1=b", "1:0=c"}) {
		t.Fatal(rd.got, rd.err)
	}
	r.on(func() {
		for _, s := range rd.Snapshot(1) {
			if s.Position != s.Stop {
				t.Errorf("ended at %+v", s)
			}
		}
	})
}

// Starts are resolved once; a restore keeps positions and stops, and partitions that are new begin at their first record,
// whatever the declared start.
func TestDiscoverResolvesStartsOnce(t *testing.T) {
	r := newRig(t, 2)
	r.append(0, "a", "b")
	r.cluster.Append("in", 1, []simbroker.Record{{Value: []byte("old"), Time: 1000}, {Value: []byte("new"), Time: 2000}})
	for _, x := range []struct {
		start source.Start
		want  []int64
	}{{source.Earliest(), []int64{0, 0}}, {source.Latest(), []int64{2, 2}}, {source.At(1500), []int64{2, 1}}} {
		splits, err := r.discover(source.Kafka{Topic: "in", Start: x.start})
		if err != nil || len(splits) != 2 || splits[0].Position != x.want[0] || splits[1].Position != x.want[1] || splits[0].Stop != -1 {
			t.Fatalf("%+v: %+v, %v", x.start, splits, err)
		}
	}
	known := operator.Split{Topic: "in", Partition: 1, Position: 1, Stop: 1}
	splits, err := r.discover(source.Kafka{Topic: "in", Start: source.Latest(), Bounded: true}, known)
	if want := []operator.Split{{Topic: "in", Partition: 0, Position: 0, Stop: 2}, known}; err != nil || !slices.Equal(splits, want) {
		t.Fatalf("%+v, %v", splits, err)
	}
	_, err = r.discover(source.Kafka{Topic: "in"}, operator.Split{Topic: "in", Partition: 5, Position: 9})
	if !errors.Is(err, operator.ErrPermanent) || !strings.Contains(err.Error(), "partition in/5 was read up to 9 and is missing now") {
		t.Fatal(err)
	}
	if _, err = r.discover(source.Kafka{Topic: "absent"}); !errors.Is(err, operator.ErrPermanent) {
		t.Fatal("a topic that does not exist was discovered")
	}
}

// Records that retention took are a failure with their place, not a silent jump.
func TestRetentionBeforeReadingIsAFailure(t *testing.T) {
	r := newRig(t, 1)
	r.append(0, "a", "b", "c")
	r.cluster.DeleteRecords("in", 0, 2)
	split := operator.Split{Topic: "in", Position: 0, Stop: 3}
	rd := r.open(source.Kafka{Topic: "in"}, operator.ExactlyOnce, split)
	r.until(rd.ended)
	if rd.err == nil || !strings.Contains(rd.err.Error(), "position 0 of in/0 is out of range: the log spans 2 to 3") {
		t.Fatal(rd.err)
	}
	refused := errors.New("refused by policy")
	policy := func(operator.Split, int64, int64) (int64, error) { return 0, refused }
	rd = r.open(source.Kafka{Topic: "in", OutOfRange: policy}, operator.ExactlyOnce, split)
	r.until(rd.ended)
	if !errors.Is(rd.err, refused) {
		t.Fatal(rd.err)
	}
}

// Read uncommitted is a link of the chain configured out: it does yield aborted records.
func TestReadUncommittedIsAControl(t *testing.T) {
	r := newRig(t, 1)
	r.cluster.AppendTxn("in", 0, []simbroker.Record{{Value: []byte("aborted")}}, false)
	rd := r.open(source.Kafka{Topic: "in", ReadUncommitted: true}, operator.ExactlyOnce, operator.Split{Topic: "in", Stop: 2})
	r.until(rd.ended)
	if !slices.Equal(rd.got, []string{"0:0=aborted"}) {
		t.Fatal(rd.got, rd.err)
	}
}

// At most once: nothing is handed out before a checkpoint that would begin behind it is durable, whichever checkpoints
// are abandoned; so a restore of any completed one repeats nothing. What is not in the log yet is never set aside.
func TestAtMostOnceHandsOutOnlyWhatIsSetAside(t *testing.T) {
	r := newRig(t, 1)
	for i := range 30 {
		r.append(0, fmt.Sprint(i))
	}
	rd := r.open(source.Kafka{Topic: "in", Window: 10}, operator.AtMostOnce, operator.Split{Topic: "in", Stop: -1})
	stored := map[id.Checkpoint]int64{}
	snapshot := func(n id.Checkpoint) {
		r.world.RunFor(2 * time.Second)
		r.on(func() { stored[n] = rd.Snapshot(n)[0].Position })
	}
	completed := func(n id.Checkpoint) {
		r.on(func() { rd.Completed(n) })
		r.world.RunFor(2 * time.Second)
	}
	snapshot(1)
	if len(rd.got) != 0 || stored[1] != 10 {
		t.Fatalf("before the first checkpoint: %d records, set aside %d", len(rd.got), stored[1])
	}
	completed(1)
	if len(rd.got) != 10 {
		t.Fatalf("%d records after checkpoint 1", len(rd.got))
	}
	snapshot(2) // never completes
	snapshot(3)
	if len(rd.got) != 10 || stored[3] != 20 && stored[3] != 30 {
		t.Fatalf("%d records, set aside %v", len(rd.got), stored)
	}
	completed(3)
	if int64(len(rd.got)) != stored[3] {
		t.Fatalf("%d records after checkpoint 3, set aside %v", len(rd.got), stored)
	}
	snapshot(4)
	completed(4)
	snapshot(5)
	completed(5)
	if len(rd.got) != 30 || stored[5] != 30 {
		t.Fatalf("%d records, set aside %v: more than the log has, or less", len(rd.got), stored)
	}
}

// Leaders and brokers come and go; every record is read once and in order.
func TestSourceSurvivesBrokers(t *testing.T) {
	r := newRig(t, 3)
	k := source.Kafka{Topic: "in"}
	var splits []operator.Split
	for p := range int32(3) {
		splits = append(splits, operator.Split{Topic: "in", Partition: p, Stop: 40})
	}
	rd := r.open(k, operator.ExactlyOnce, splits...)
	for i := range 40 {
		for p := range int32(3) {
			r.append(p, fmt.Sprint(i))
		}
		switch i % 10 {
		case 3:
			r.cluster.MoveLeader("in", int32(i/10)%3, (r.cluster.Leader("in", int32(i/10)%3)+1)%3)
		case 6:
			r.cluster.Node(i / 10 % 3).Crash()
		case 9:
			r.cluster.Node(i / 10 % 3).Start()
		}
		r.world.RunFor(700 * time.Millisecond)
	}
	r.until(rd.ended)
	if rd.err != nil || len(rd.got) != 120 {
		t.Fatalf("%d records, %v", len(rd.got), rd.err)
	}
	for p := range 3 {
		n := 0
		for _, line := range rd.got {
			if strings.HasPrefix(line, fmt.Sprintf("%d:", p)) {
				if line != fmt.Sprintf("%d:%d=%d", p, n, n) {
					t.Fatalf("partition %d, record %d: %s", p, n, line)
				}
				n++
			}
		}
	}
}
