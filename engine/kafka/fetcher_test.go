package kafka

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/onefold/onefold/engine/operator"
)

// values makes a batch with one record per value.
func values(t rapidOrTest, who Identity, vs ...string) []byte {
	var recs []rec
	for _, v := range vs {
		recs = append(recs, rec{value: []byte(v), timestamp: 1})
	}
	return buildBatch(t, recs, who, 0, NoCompression)
}

type rapidOrTest interface{ Fatal(...any) }

func split(partition int32, position, stop int64) operator.Split {
	return operator.Split{Topic: "t", Partition: partition, Position: position, Stop: stop}
}

// drain polls until the fetcher has ended.
func drain(l *fakeLoop, f *Fetcher, budget int) (got []string, err error) {
	status := operator.More
	for status != operator.Ended {
		status, err = f.Poll(budget, func(r *operator.Record) error {
			got = append(got, fmt.Sprintf("%d:%d=%s", r.Partition, r.Offset, r.Value))
			return nil
		})
		if err != nil {
			return got, err
		}
		if status == operator.Waiting {
			woken := false
			f.cfg.Wake = func() { woken = true }
			l.run(func() bool { return woken })
		}
	}
	return got, nil
}

// A read_committed reader gets exactly the committed records, in order, from any offset, with any cut of answers, whatever
// transactions lie interleaved and wherever the log ends.
func TestReadCommittedYieldsCommittedRecordsOnly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l, c := newFake(t, 1)
		log := l.cluster.logs[0]
		decided := map[int64][]string{}
		visible := map[string]bool{}
		var all []string
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			pid := int64(rapid.IntRange(0, 3).Draw(rt, "pid"))
			if rapid.IntRange(0, 3).Draw(rt, "what") == 0 && pid > 0 {
				commit := rapid.Bool().Draw(rt, "commit")
				for _, v := range decided[pid] {
					visible[v] = commit
				}
				decided[pid] = nil
				log.marker(pid, commit)
				continue
			}
			var vs []string
			for j := range rapid.IntRange(1, 3).Draw(rt, "records") {
				v := fmt.Sprintf("%d.%d", i, j)
				vs = append(vs, v)
				all = append(all, fmt.Sprintf("0:%d=%s", log.next+int64(j), v))
				visible[v] = pid == 0
			}
			if pid == 0 {
				log.store(values(rt, Identity{ProducerID: -1}, vs...))
			} else {
				decided[pid] = append(decided[pid], vs...)
				log.transact(pid, values(rt, Identity{TransactionalID: "x", ProducerID: pid}, vs...))
			}
		}
		stop := log.stable()
		from := rapid.Int64Range(0, stop).Draw(rt, "from")
		var want []string
		for _, line := range all {
			var offset int64
			var v string
			fmt.Sscanf(line, "0:%d=%s", &offset, &v)
			if visible[v] && offset >= from && offset < stop {
				want = append(want, line)
			}
		}
		f := c.NewFetcher(FetcherConfig{Isolation: ReadCommitted, PartitionMaxBytes: int32(rapid.IntRange(1, 400).Draw(rt, "max"))},
			[]operator.Split{split(0, from, stop)})
		got, err := drain(l, f, rapid.IntRange(1, 7).Draw(rt, "budget"))
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("from %d to %d: got %v, want %v, %v", from, stop, got, want, err)
		}
		if s := f.Splits()[0]; s.Position != stop {
			rt.Fatalf("ended at %d, not at the stop %d", s.Position, stop)
		}
	})
}

// Several partitions on two leaders are all read, each in order.
func TestFetcherReadsAllPartitions(t *testing.T) {
	l, c := newFake(t, 5)
	var splits []operator.Split
	for p, log := range l.cluster.logs {
		for i := range 10 {
			log.store(values(t, Identity{ProducerID: -1}, fmt.Sprint(i)))
		}
		splits = append(splits, split(int32(p), 0, 10))
	}
	got, err := drain(l, c.NewFetcher(FetcherConfig{BufferBytes: 100, PartitionMaxBytes: 150}, splits), 3)
	if err != nil || len(got) != 50 {
		t.Fatalf("%d records, %v", len(got), err)
	}
	for p := range 5 {
		mine := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("%d:", p)) })
		for i, s := range mine {
			if s != fmt.Sprintf("%d:%d=%d", p, i, i) {
				t.Fatalf("partition %d: %v", p, mine)
			}
		}
	}
}

// A record that emit refuses is handed out again: the position has not moved past it.
func TestRefusedRecordComesAgain(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.logs[0].store(values(t, Identity{ProducerID: -1}, "a", "b", "c"))
	f := c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 0, 3)})
	l.run(func() bool { return len(f.parts[0].chunks) > 0 })
	no := errors.New("no")
	_, err := f.Poll(10, func(r *operator.Record) error {
		if string(r.Value) == "b" {
			return no
		}
		return nil
	})
	if !errors.Is(err, no) || f.Splits()[0].Position != 1 {
		t.Fatalf("position %d, %v", f.Splits()[0].Position, err)
	}
	if got, err := drain(l, f, 10); err != nil || !slices.Equal(got, []string{"0:1=b", "0:2=c"}) {
		t.Fatalf("%v, %v", got, err)
	}
}

// A limit holds records back in the middle of a batch, also of a compressed one, and other partitions go on meanwhile.
func TestLimitHoldsRecordsBack(t *testing.T) {
	l, c := newFake(t, 2)
	for _, log := range l.cluster.logs {
		log.store(buildBatch(t, []rec{{value: []byte("a")}, {value: []byte("b")}, {value: []byte("c")}}, Identity{ProducerID: -1}, 0, LZ4))
	}
	f := c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 0, 3), split(1, 0, 3)})
	f.Limit(0, 1)
	var got []string
	status := operator.More
	poll := func() {
		var err error
		if status, err = f.Poll(10, func(r *operator.Record) error {
			got = append(got, fmt.Sprintf("%d:%d=%s", r.Partition, r.Offset, r.Value))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	l.run(func() bool { return len(f.parts[0].chunks) > 0 && len(f.parts[1].chunks) > 0 })
	poll()
	slices.Sort(got)
	if want := []string{"0:0=a", "1:0=a", "1:1=b", "1:2=c"}; !slices.Equal(got, want) || status != operator.Waiting || f.Splits()[0].Position != 1 {
		t.Fatalf("%v, status %d, position %d", got, status, f.Splits()[0].Position)
	}
	woken := false
	f.cfg.Wake = func() { woken = true }
	f.Limit(0, -1)
	l.run(func() bool { return woken })
	poll()
	if got = got[4:]; !slices.Equal(got, []string{"0:1=b", "0:2=c"}) || status != operator.Ended {
		t.Fatalf("%v, status %d", got, status)
	}
}

// Records that are gone are an error that says what is left, unless a policy goes on elsewhere.
func TestOutOfRangeIsSaid(t *testing.T) {
	l, c := newFake(t, 1)
	for range 5 {
		l.cluster.logs[0].store(values(t, Identity{ProducerID: -1}, "v"))
	}
	l.cluster.logs[0].start, l.cluster.logs[0].batches = 3, l.cluster.logs[0].batches[3:]
	_, err := drain(l, c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 1, 5)}), 10)
	if err == nil || !strings.Contains(err.Error(), "position 1 of t/0 is out of range: the log spans 3 to 5") {
		t.Fatal(err)
	}
	policy := func(_ operator.Split, start, _ int64) (int64, error) { return start, nil }
	got, err := drain(l, c.NewFetcher(FetcherConfig{OutOfRange: policy}, []operator.Split{split(0, 1, 5)}), 10)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
}

// A moved leader is found, a broker that shows an older view does not mislead for ever, lost answers are asked for again.
func TestFetcherFollowsLeaders(t *testing.T) {
	l, c := newFake(t, 1)
	log := l.cluster.logs[0]
	log.store(values(t, Identity{ProducerID: -1}, "a"))
	f := c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 0, 2)})
	l.run(func() bool { return len(f.parts[0].chunks) > 0 })
	log.leader, log.epoch = 2, 2
	l.cluster.lag[1], l.cluster.lag[-1] = true, true
	log.store(values(t, Identity{ProducerID: -1}, "b"))
	lost := 3
	l.cluster.silent = func(_ int32, req kmsg.Request) bool { lost--; return lost >= 0 }
	got, err := drain(l, f, 10)
	if err != nil || !slices.Equal(got, []string{"0:0=a", "0:1=b"}) {
		t.Fatal(got, err)
	}
}

// A recreated topic has other records at the same offsets: the fetcher says so instead of reading them.
func TestRecreatedTopicIsAnError(t *testing.T) {
	l, c := newFake(t, 1)
	l.cluster.logs[0].store(values(t, Identity{ProducerID: -1}, "a"))
	f := c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 0, 5)})
	l.run(func() bool { return len(f.parts[0].chunks) > 0 })
	l.cluster.topicID = 9
	l.cluster.logs[0].leader, l.cluster.logs[0].epoch = 2, 2
	if _, err := drain(l, f, 10); err == nil || !strings.Contains(err.Error(), "created again") {
		t.Fatal(err)
	}
}

// Compaction may leave a hole below the stop. The split ends all the same, but only after an answer to it alone.
func TestHoleBelowTheStopEnds(t *testing.T) {
	l, c := newFake(t, 3)
	for _, log := range l.cluster.logs {
		log.store(values(t, Identity{ProducerID: -1}, "a"))
	}
	l.cluster.logs[0].next = 10
	got, err := drain(l, c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 0, 10), split(1, 0, 1), split(2, 0, 1)}), 10)
	if err != nil || len(got) != 3 {
		t.Fatal(got, err)
	}
}

// A partition that is full is left out until its records are used up.
func TestFullPartitionIsNotFetched(t *testing.T) {
	l, c := newFake(t, 1)
	for range 100 {
		l.cluster.logs[0].store(values(t, Identity{ProducerID: -1}, strings.Repeat("v", 100)))
	}
	f := c.NewFetcher(FetcherConfig{BufferBytes: 1000, PartitionMaxBytes: 500}, []operator.Split{split(0, 0, -1)})
	l.idle()
	if n := f.parts[0].bytes; n < 1000 || n > 2000 {
		t.Fatalf("%d bytes buffered", n)
	}
	before := l.count("Fetch")
	for f.parts[0].bytes >= 1000 {
		f.Poll(1, func(*operator.Record) error { return nil })
	}
	l.idle()
	if l.count("Fetch") == before {
		t.Fatal("a partition that is no longer full was not fetched")
	}
}

// Nothing is allocated per record between the answer and emit.
func TestPollAllocatesNothingPerRecord(t *testing.T) {
	l, c := newFake(t, 1)
	var recs []rec
	for range 5000 {
		recs = append(recs, rec{key: []byte("key"), value: []byte("value"), timestamp: 5})
	}
	l.cluster.logs[0].store(buildBatch(t, recs, Identity{ProducerID: -1}, 0, NoCompression))
	f := c.NewFetcher(FetcherConfig{}, []operator.Split{split(0, 0, -1)})
	l.run(func() bool { return len(f.parts[0].chunks) > 0 })
	n := 0
	emit := func(r *operator.Record) error { n += len(r.Value); return nil }
	if a := testing.AllocsPerRun(100, func() { f.Poll(20, emit) }); a > 0 {
		t.Fatalf("%v allocations per poll of 20 records", a)
	}
	if n == 0 {
		t.Fatal("nothing was read")
	}
}
