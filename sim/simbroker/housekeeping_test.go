package simbroker

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// keyed is a batch of records "key=value"; "key" alone has a null value.
func keyed(x identity, seq int32, txn bool, at int64, records ...string) []byte {
	h := header{producerID: x.pid, epoch: x.epoch, sequence: seq}
	if txn {
		h.attributes = attrTxn
	}
	var out []Record
	for _, s := range records {
		r := Record{Key: []byte(s), Time: at}
		for i := range s {
			if s[i] == '=' {
				r.Key, r.Value = []byte(s[:i]), []byte(s[i+1:])
			}
		}
		out = append(out, r)
	}
	return appendPlainBatch(nil, h, out)
}

func (r *rig) mustProduce(v int16, x identity, part int32, data []byte) {
	r.t.Helper()
	if c, _ := r.produce(v, x, part, data); c != ok {
		r.t.Fatalf("produce: code %d", c)
	}
}

func (r *rig) all(part int32) []string {
	var out []string
	for _, l := range r.c.ReadAll("out", part) {
		s := fmt.Sprintf("%d %s=%s", l.Offset, l.Record.Key, l.Record.Value)
		if l.Control {
			s = fmt.Sprintf("%d marker %v", l.Offset, l.Commit)
		}
		out = append(out, s)
	}
	return out
}

// A compaction leaves gaps: of each key the newest committed record stays, nothing of aborted transactions does, and
// markers stay until their records are gone. Offsets are what they were.
func TestCompaction(t *testing.T) {
	for _, copies := range []int{1, 3} {
		r := newRig(t, 1, "k44", func(c *Config) { c.Replication.Factor = copies })
		r.c.byName["out"].cfg.DeleteRetention = 30_000
		never, now := identity{pid: -1, epoch: -1}, r.w.Wall().UnixMilli()
		r.mustProduce(11, never, 0, keyed(never, -1, false, now, "a=1", "b=1"))
		x := r.init("a")
		r.mustProduce(12, x, 0, keyed(x, 0, true, now, "a=aborted", "c=aborted"))
		x.epoch = r.end(5, x, false).ProducerEpoch
		r.settle()
		r.mustProduce(12, x, 0, keyed(x, 0, true, now, "a=2", "d=1"))
		x.epoch = r.end(5, x, true).ProducerEpoch
		r.settle()
		r.mustProduce(11, never, 0, keyed(never, -1, false, now, "b", "d=2"))
		before := r.all(0)
		r.c.Compact("out", 0)
		sameStrings(t, "the active segment stays", r.all(0), before...)
		r.c.Roll("out", 0)
		r.mustProduce(12, x, 0, keyed(x, 0, true, now, "e=open"))
		r.c.Compact("out", 0)
		sameStrings(t, "compacted", r.all(0), "4 marker false", "5 a=2", "7 marker true", "8 b=", "9 d=2", "10 e=open")
		aborted := len(r.c.mustFind("out", 0).log.aborted)
		equal(t, "the index entry is still there", aborted, 1)
		got := r.fetch(0, 0, true, 1<<20)
		equal(t, "a fetch at a hole", readHeader(got.RecordBatches).count, 1)
		equal(t, "with the aborted transaction", len(got.AbortedTransactions), 1)
		read, position := r.consume(0, 0, 1<<20)
		sameStrings(t, "read", read, "2", "", "2")
		equal(t, "position", position, 10)

		r.c.Compact("out", 0)
		equal(t, "the entry goes with the next pass, its records being gone", len(r.c.mustFind("out", 0).log.aborted), 0)
		sameStrings(t, "markers and null values have their time", r.all(0), "4 marker false", "5 a=2", "7 marker true", "8 b=", "9 d=2", "10 e=open")
		r.w.RunFor(70 * time.Second)
		r.c.Compact("out", 0)
		sameStrings(t, "after delete.retention.ms", r.all(0), "5 a=2", "7 marker true", "9 d=2", "10 e=open", "11 marker false")
		r.c.Check()
		if copies > 1 {
			r.c.MoveLeader("out", 0, r.followers(0)[0])
			r.w.RunFor(time.Second)
			sameStrings(t, "elsewhere", r.all(0), "5 a=2", "7 marker true", "9 d=2", "10 e=open", "11 marker false")
		}
	}
}

// The last batch of a producer is kept, empty, so that its sequence numbers go on. Under the old protocol that keeps the
// index entry of its aborted transaction, too; under the new one the marker's epoch lets go of both.
func TestCompactionKeepsTheProducer(t *testing.T) {
	for _, c := range []struct {
		profile string
		v, ev   int16
		left    int
	}{{"k44-tv1", 11, 4, 1}, {"k44", 12, 5, 0}} {
		r := newRig(t, 1, c.profile)
		x := r.init("a")
		if c.v == 11 {
			equal(t, "add", r.add(x, 0), ok)
		}
		r.mustProduce(c.v, x, 0, keyed(x, 0, true, 1, "a=1", "b=1"))
		equal(t, "abort", r.end(c.ev, x, false).ErrorCode, ok)
		r.settle()
		r.c.Roll("out", 0)
		never := identity{pid: -1, epoch: -1}
		r.mustProduce(11, never, 0, keyed(never, -1, false, 1, "z=1"))
		for range 3 {
			r.c.Compact("out", 0)
		}
		l := r.c.mustFind("out", 0).log
		equal(t, c.profile+" index", len(l.aborted), c.left)
		kept := 0
		for i := range l.batches {
			if b := &l.batches[i]; b.pid == x.pid && !b.control {
				kept++
				equal(t, "records of the kept batch", readHeader(l.bytes(b)).count, 0)
			}
		}
		equal(t, c.profile+" kept", kept, c.left)
		f := l.fork(l.leo)
		equal(t, c.profile+" last sequence after a replay", f.producer(x.pid).lastSequence(), l.producer(x.pid).lastSequence())
	}
}

// Retention goes by timestamps of records, segment by segment, and takes records of an open transaction: the producer stays
// open, the last stable offset cannot lie below what is left.
func TestRetention(t *testing.T) {
	r := newRig(t, 1, "k44", func(c *Config) { c.ScanInterval = time.Minute })
	r.c.CreateTopic(TopicSpec{Name: "short", Partitions: 1, Config: TopicConfig{RetentionMs: 3_600_000, SegmentMs: 60_000}})
	now := r.w.Wall().UnixMilli()
	p := r.c.mustFind("short", 0)
	old := []Record{{Key: []byte("k"), Value: []byte("old"), Time: now - 10*3_600_000}}
	_, end := r.c.OpenTxn("short", 0, old)
	r.c.Append("short", 0, []Record{{Value: []byte("a minute later"), Time: now - 10*3_600_000 + 61_000}})
	r.c.Append("short", 0, []Record{{Value: []byte("young"), Time: now}})
	r.c.Append("short", 0, []Record{{Value: []byte("late, in a young segment"), Time: now - 10*3_600_000}})
	equal(t, "segments", len(p.log.segments), 3)
	r.c.ApplyRetention("short", 0)
	equal(t, "start", p.log.start, 2)
	equal(t, "still open", len(p.log.open), 1)
	equal(t, "stable", r.c.Bounds("short", 0).Stable, 2)
	end(true)
	equal(t, "stable", r.c.Bounds("short", 0), Bounds{2, 5, 5})
	r.c.Check()
	r.w.RunFor(2 * time.Hour)
	r.c.ApplyRetention("short", 0)
	equal(t, "all of it, the active segment too", r.c.Bounds("short", 0), Bounds{5, 5, 5})
	r.c.Append("short", 0, []Record{{Value: []byte("next"), Time: r.w.Wall().UnixMilli()}})
	equal(t, "goes on", r.c.Bounds("short", 0).High, 6)
}

func TestRetentionByBytes(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	r.c.CreateTopic(TopicSpec{Name: "short", Partitions: 1, Config: TopicConfig{RetentionMs: -1, RetentionBytes: 1000, SegmentBytes: 500}})
	now := r.w.Wall().UnixMilli()
	for range 30 {
		r.c.Append("short", 0, []Record{{Value: make([]byte, 100), Time: now}})
	}
	p := r.c.mustFind("short", 0)
	r.c.ApplyRetention("short", 0)
	size := p.log.size - p.log.segments[0].at
	if size < 1000 || size > 1500 {
		t.Errorf("%d bytes are left", size)
	}
	equal(t, "the rest is there", p.log.batches[0].base, p.log.start)
}

// A producer is forgotten by the timestamp of its last record, not by when it came; one that is open is not.
func TestProducerExpiry(t *testing.T) {
	r := newRig(t, 1, "k39", func(c *Config) {
		c.Housekeeping = Housekeeping{Retention: -1, Cleaner: -1, ProducerExpiration: time.Hour, ProducerScan: time.Minute}
	})
	now := r.w.Wall().UnixMilli()
	p := r.c.mustFind("out", 0)
	init := func() identity {
		q := kmsg.NewPtrInitProducerIDRequest()
		q.Version = 4
		a := ask1[*kmsg.InitProducerIDResponse](r, 0, q)
		return identity{"", a.ProducerID, a.ProducerEpoch}
	}
	young, old, open := init(), init(), r.init("a")
	r.mustProduce(11, young, 0, keyed(young, 0, false, now, "a=1"))
	r.mustProduce(11, old, 0, keyed(old, 0, false, now-2*3_600_000, "a=2"))
	equal(t, "add", r.add(open, 0), ok)
	r.mustProduce(11, open, 0, keyed(open, 0, true, now-2*3_600_000, "a=3"))
	equal(t, "known", len(p.log.producers), 3)
	r.w.RunFor(61 * time.Second)
	equal(t, "old is forgotten", p.log.producer(old.pid) == nil, true)
	equal(t, "young is not", p.log.producer(young.pid) != nil, true)
	c, _ := r.produce(11, old, 0, keyed(old, 0, false, now, "a=again"))
	equal(t, "a duplicate of a forgotten producer is written again", c, ok)
	c, _ = r.produce(11, young, 0, keyed(young, 0, false, now, "a=1"))
	equal(t, "a known one's is not", c, ok)
	equal(t, "records", r.c.mustFind("out", 0).log.leo, 5) // with the abort marker of the timeout, or 4 before it
	r.c.Check()
}

// What was deleted is remembered: a new leader knows producers whose records are gone.
func TestProducersOutliveTheirRecords(t *testing.T) {
	r := newRig(t, 1, "k44", replicated)
	q := kmsg.NewPtrInitProducerIDRequest()
	q.Version = 4
	a := ask1[*kmsg.InitProducerIDResponse](r, 0, q)
	x := identity{"", a.ProducerID, a.ProducerEpoch}
	r.mustProduce(11, x, 0, batchOf(x, 0, false, "a", "b"))
	r.wait(r.send(-1, 0, plain("c")))
	r.c.DeleteRecords("out", 0, 2)
	r.stall(0, r.followers(0)...)
	r.wait(r.send(1, 0, plain("only here"))) // so that the next leader forks
	r.c.MoveLeader("out", 0, r.followers(0)[0])
	c, base := r.produce(11, x, 0, batchOf(x, 0, false, "a", "b"))
	equal(t, "known again", c, ok)
	equal(t, "offset", base, 0)
	c, _ = r.produce(11, x, 0, batchOf(x, 5, false, "gap"))
	equal(t, "gap", c, outOfOrderSequence)
}
