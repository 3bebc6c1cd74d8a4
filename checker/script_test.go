package checker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// script is a history in short lines, for tests. Topics are in and out (and out2 when it is used), two partitions each.
//
//	in 0@0 key=a v=5 n=7 aborted          a record of the input topic
//	out 0@0 from 0@0,#7 key=a seq=1 v=5 tx=1.0 committed|aborted|open unread
//	read early 0@0 from 0@0               a read that differs from the log, or of another reader; early is not final
//	control 0@1 tx=1.0 commit             partition out 0 start=1 stable=3 high=4
//	open 0@0 tx=1.0 owner=tm1             effect mail 0@0
//	claim completed 3 gen=1 pos=0@5 tx=1.0         claim lost 3 range=0@0-4 count=2 tx=1.0 inputs=0@0-5
//	log create 3 nonce=7 done call=1 return=2      txn commit tx=1.0 done call=1 return=2
//	run waits=... | panic=... | refused=... | hashes=1,2 | unstable=5
//
// What is not said is completed: every visible output is read by the reader "final" in order of appearance, offsets that
// hold nothing are control records, partitions are stable, and a checkpoint 1 without positions is confirmed.
type script struct {
	h      *History
	placed map[[2]int32]bool
	auto   []Read
	err    error
}

type words struct {
	args []string
	opts map[string]string
}

func splitWords(line string) words {
	w := words{opts: map[string]string{}}
	for _, f := range strings.Fields(line) {
		if k, v, ok := strings.Cut(f, "="); ok {
			w.opts[k] = v
		} else {
			w.args = append(w.args, f)
		}
	}
	return w
}

func (w words) flag(name string) bool {
	for _, a := range w.args {
		if a == name {
			return true
		}
	}
	return false
}

func (w words) after(name string) string {
	for i, a := range w.args {
		if a == name && i+1 < len(w.args) {
			return w.args[i+1]
		}
	}
	return ""
}

func (s *script) num(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && text != "" && s.err == nil {
		s.err = err
	}
	return n
}

func (s *script) place(text string) (int32, int64) {
	p, o, _ := strings.Cut(text, "@")
	return int32(s.num(p)), s.num(o)
}

func (s *script) tx(w words) (int64, int16) {
	p, e, ok := strings.Cut(w.opts["tx"], ".")
	if !ok {
		return -1, 0
	}
	return s.num(p), int16(s.num(e))
}

func (s *script) event(w words) Event {
	e := Event{Key: NoKey, Number: -1, Sequence: s.num(w.opts["seq"]), Undecoded: w.flag("undecoded")}
	if k, ok := w.opts["key"]; ok {
		e.Key = s.h.Key([]byte(k))
	}
	if n, ok := w.opts["n"]; ok {
		e.Number = s.num(n)
	}
	e.Values[0] = s.num(w.opts["v"])
	if from := w.after("from"); from != "" {
		for _, f := range strings.Split(from, ",") {
			if n, ok := strings.CutPrefix(f, "#"); ok {
				s.h.Source(&e, Source{0, Numbered, s.num(n)})
				continue
			}
			p, o := s.place(f)
			s.h.Source(&e, Source{0, p, o})
		}
	}
	return e
}

func (s *script) record(topic int16, w words) {
	r := Record{Topic: topic, Event: s.event(w)}
	r.Partition, r.Offset = s.place(w.args[1])
	r.ProducerID, r.ProducerEpoch = s.tx(w)
	for i, n := range outcomeNames {
		if w.flag(n) {
			r.Outcome = Outcome(i)
		}
	}
	s.h.Records = append(s.h.Records, r)
	if topic > 0 && visible(r.Outcome) && !w.flag("unread") {
		s.auto = append(s.auto, Read{Topic: topic, Partition: r.Partition, Offset: r.Offset, At: int64(len(s.auto)), Event: r.Event})
	}
}

func (s *script) topic(name string) int16 {
	if t := s.h.TopicIndex(name); t >= 0 {
		return t
	}
	return s.h.AddTopic(name, Output, 2)
}

func (s *script) line(text string) {
	h, w := s.h, splitWords(text)
	switch w.args[0] {
	case "in":
		s.record(0, w)
	case "out", "out2":
		s.record(s.topic(w.args[0]), w)
	case "read":
		r := Read{Topic: 1, Event: s.event(w), Reader: -1, At: int64(len(h.Reads))}
		for i := range h.Readers {
			if h.Readers[i].Name == w.args[1] {
				r.Reader = int16(i)
			}
		}
		if r.Reader < 0 {
			r.Reader = h.AddReader(w.args[1], false)
		}
		r.Partition, r.Offset = s.place(w.args[2])
		h.Reads = append(h.Reads, r)
	case "no-final-reader":
		h.Readers[0].Final = false
	case "control":
		c := Control{Topic: 1, Commit: w.flag("commit")}
		c.Partition, c.Offset = s.place(w.args[1])
		c.ProducerID, c.ProducerEpoch = s.tx(w)
		h.Controls = append(h.Controls, c)
	case "partition":
		p := Partition{s.topic(w.args[1]), int32(s.num(w.args[2])), s.num(w.opts["start"]), s.num(w.opts["stable"]), s.num(w.opts["high"]), w.flag("compacted")}
		s.placed[[2]int32{int32(p.Topic), p.Partition}] = true
		h.Partitions = append(h.Partitions, p)
	case "open":
		t := OpenTransaction{Topic: 1, Owner: w.opts["owner"]}
		t.Partition, t.First = s.place(w.args[1])
		t.ProducerID, t.ProducerEpoch = s.tx(w)
		h.Transactions = append(h.Transactions, t)
	case "effect":
		p, o := s.place(w.args[2])
		h.Effects = append(h.Effects, Effect{Source{0, p, o}, w.args[1]})
	case "claim":
		s.claim(w)
	case "log":
		kind, _ := lookup(logKindNames, w.args[1])
		result, _ := lookup(logResultNames, w.args[3])
		h.JobLog = append(h.JobLog, LogOperation{
			int(s.num(w.opts["client"])), s.num(w.opts["call"]), s.num(w.opts["return"]), LogKind(kind),
			uint64(s.num(w.args[2])), uint64(s.num(w.opts["nonce"])), LogResult(result),
		})
	case "txn":
		kind, ok := lookup(txnKindNames, w.args[1])
		result, ok2 := lookup(txnResultNames, w.args[2])
		if !ok || !ok2 {
			s.err = fmt.Errorf("%q", text)
		}
		p, e := s.tx(w)
		h.TxnLog = append(h.TxnLog, TransactionOperation{0, s.num(w.opts["call"]), s.num(w.opts["return"]), "id", TransactionKind(kind), p, e, TransactionResult(result)})
	case "run":
		s.run(w)
	default:
		s.err = fmt.Errorf("unknown line %q", text)
	}
}

func (s *script) run(w words) {
	r := &s.h.Run
	if w.opts["waits"] != "" {
		r.Settled, r.Waits = false, w.opts["waits"]
	}
	r.Panic, r.Refused, r.LongestUnstable = w.opts["panic"], w.opts["refused"], s.num(w.opts["unstable"])
	if w.opts["hashes"] != "" {
		for _, x := range strings.Split(w.opts["hashes"], ",") {
			r.Hashes = append(r.Hashes, uint64(s.num(x)))
		}
	}
}

func (s *script) claim(w words) {
	kind, ok := lookup(claimKindNames, w.args[1])
	if !ok {
		s.err = fmt.Errorf("unknown claim %q", w.args[1])
	}
	c := Claim{Kind: ClaimKind(kind), Generation: uint64(s.num(w.opts["gen"])), Reason: w.opts["reason"]}
	if len(w.args) > 2 {
		c.Checkpoint = uint64(s.num(w.args[2]))
	}
	if w.opts["pos"] != "" {
		p, o := s.place(w.opts["pos"])
		c.Positions = []Position{{0, p, o}}
	}
	producer, epoch := s.tx(w)
	if producer >= 0 && c.Kind == CheckpointCompleted {
		c.Transactions = []Transaction{{Sink: "out", ProducerID: producer, ProducerEpoch: epoch, State: w.opts["state"]}}
	}
	if from, to, ok := strings.Cut(w.opts["range"], "-"); ok {
		p, first := s.place(from)
		c.Lost = []LostRange{{1, p, first, s.num(to), s.num(w.opts["count"]), producer, epoch}}
	}
	if from, to, ok := strings.Cut(w.opts["inputs"], "-"); ok {
		p, first := s.place(from)
		c.Inputs = []Span{{0, p, first, s.num(to)}}
	}
	s.h.Claims = append(s.h.Claims, c)
}

// complete adds what a script leaves out.
func (s *script) complete() {
	h := s.h
	h.Reads = append(h.Reads, s.auto...)
	for t := range h.Topics {
		for p := range h.Topics[t].Partitions {
			if !s.placed[[2]int32{int32(t), p}] {
				s.fill(int16(t), p)
			}
		}
	}
	if len(h.Claims) == 0 {
		h.Claims = []Claim{{Kind: CheckpointCompleted, Checkpoint: 1, Generation: 1}, {Kind: CheckpointConfirmed, Checkpoint: 1, Generation: 1}}
	}
}

func (s *script) fill(topic int16, partition int32) {
	taken := map[int64]bool{}
	high := int64(0)
	note := func(t int16, p int32, o int64) {
		if t == topic && p == partition {
			taken[o] = true
			high = max(high, o+1)
		}
	}
	for i := range s.h.Records {
		r := &s.h.Records[i]
		note(r.Topic, r.Partition, r.Offset)
	}
	for _, c := range s.h.Controls {
		note(c.Topic, c.Partition, c.Offset)
	}
	for o := range high {
		if !taken[o] {
			s.h.Controls = append(s.h.Controls, Control{Topic: topic, Partition: partition, Offset: o, ProducerID: -1})
		}
	}
	s.h.Partitions = append(s.h.Partitions, Partition{Topic: topic, Partition: partition, Stable: high, High: high})
}

func history(tb testing.TB, text string) *History {
	tb.Helper()
	s := &script{h: NewHistory(), placed: map[[2]int32]bool{}}
	s.h.AddTopic("in", Input, 2)
	s.h.AddTopic("out", Output, 2)
	s.h.AddReader("final", true)
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			s.line(l)
		}
	}
	s.complete()
	if s.err != nil {
		tb.Fatalf("script: %v in\n%s", s.err, text)
	}
	return s.h
}

// sums is the oracle of the scripts: every output's value is the sum of its key's inputs so far.
type sums struct{}

func (sums) Decode(*History, int16, []byte, []byte, *Event) error { return nil }
func (sums) Wants(_ *History, _ int16, in *Record) bool           { return true }
func (sums) Fold(_ *History, _ int16, state *Values, in []*Record, out *Event) (Values, bool) {
	for _, r := range in {
		state[0] += r.Values[0]
	}
	return *state, out.Key >= 0
}
