package sink

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/script"
	"github.com/onefold/onefold/engine/token"
)

// stage answers the effects of a script from lines of text. A line is "key: fact"; the facts of one key are used up in
// order, and the last one stays. So each story says only what its broker has to tell, and the golden is the dialogue.
//
// Keys: an id (describe, initialise, end), a topic/partition (producers, witness as wit:, marker write as write:), a lane
// (s#0), a range read (read:), a log append (append), frames (add, lane).
type stage struct {
	facts map[string][]string
	now   env.Instant
	state joblog.State
}

func (s *stage) next(key, otherwise string) string {
	list := s.facts[key]
	switch len(list) {
	case 0:
		return otherwise
	case 1:
		return list[0]
	}
	s.facts[key] = list[1:]
	return list[0]
}

// Each file gives what a restore or a confirm finds out, and under it the order of what it does. If one changed silently, a
// token could be confirmed that nobody will see, or salvaged although it is visible.
func TestOrderScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return runScript(t, d) })
	})
}

func runScript(t *testing.T, d *datadriven.TestData) string {
	s := &stage{facts: map[string][]string{}, state: joblog.State{Job: "j", Generation: 9, Fenced: 3}}
	plan := &Plan{
		Job: "j", Generation: 9, Protocol: 5, MaxEpoch: 32767, ConfirmLimit: 10 * time.Second, RefenceAfter: 2 * time.Second, Rules: DefaultRules(),
		Sinks: []Spec{{Operator: "s", Topic: "out", Parallelism: 1, TransactionTimeout: time.Minute}},
	}
	var tokens []token.Token
	accept := d.HasArg("accept")
	for _, line := range strings.Split(d.Input, "\n") {
		key, fact, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "token "):
			tokens = append(tokens, parseToken(t, line))
		case line == "tv1":
			plan.Protocol = 4
			for i := range tokens {
				tokens[i].EndTxnVersion = 4
			}
		case line != "":
			s.facts[key] = append(s.facts[key], fact)
		}
	}
	s.complete(tokens, d)
	var result string
	body := func(ask Ask) {
		switch d.Cmd {
		case "restore":
			out := RestoreOrder(ask, plan, operator.RestoreInput{Generation: 9, State: s.state, AcceptLoss: accept})
			result = fmt.Sprintf("from=%d stop=%v err=%v lost=%v", out.From, out.Stop, out.Err, out.Lost != nil)
		case "confirm":
			out := ConfirmTokens(ask, plan, tokens[len(tokens)-1].Checkpoint, tokens)
			result = fmt.Sprintf("resolve=%v err=%v lost=%v", out.Resolve, out.Err, out.Lost != nil)
		case "lock":
			who, err := LockSalvage(ask, plan)
			result = fmt.Sprintf("%v err=%v", who, err)
		case "survey":
			plan.Locks = []kafka.Identity{{TransactionalID: "onefold.j.s.salvage", ProducerID: 500, ProducerEpoch: 20, Protocol: 5}}
			found, err := SurveyTokens(ask, plan, tokens)
			for _, f := range found {
				result += fmt.Sprintf("%v aborted=%v unsalvageable=%d\n", f.Verdict, f.Aborted, len(f.Unsalvageable))
			}
			result += fmt.Sprintf("err=%v", err)
		case "fence":
			err := FenceOlder(ask, plan, FenceInput{Fenced: 3, Check: true})
			result = fmt.Sprintf("err=%v", err)
		default:
			t.Fatalf("unknown script %s", d.Cmd)
		}
	}
	sc := script.New(body)
	defer sc.Stop()
	var b strings.Builder
	var fact Fact
	for n := 0; ; n++ {
		e, ok := sc.Next(fact)
		if !ok {
			break
		}
		if n > 300 {
			b.WriteString("...\n")
			break
		}
		var said string
		fact, said = s.answer(t, e)
		if said != "" {
			said = "  -> " + said
		}
		b.WriteString(e.String() + said + "\n")
	}
	return b.String() + "= " + result + "\n"
}

// complete makes a log with one completed checkpoint for each number in completed=..., over confirmed=....
func (s *stage) complete(tokens []token.Token, d *datadriven.TestData) {
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			n, _ := strconv.ParseUint(v, 10, 64)
			ref := joblog.CheckpointRef{Checkpoint: id.Checkpoint(n)}
			switch a.Key {
			case "confirmed":
				s.state.Confirmed = ref.Checkpoint
				s.state.Retained = append(s.state.Retained, ref)
				s.state.Completed = &ref
			case "completed":
				s.state.Retained = append(s.state.Retained, ref)
				s.state.Completed = &ref
			}
		}
	}
	s.state.Undecided = tokens
}

func parseToken(t *testing.T, line string) token.Token {
	tok := token.Token{Sink: "s", Generation: 8, EndTxnVersion: 5, Lane: token.Lane{Value: 0, Metadata: "seed"}}
	for _, f := range strings.Fields(line)[1:] {
		k, v, _ := strings.Cut(f, "=")
		n, _ := strconv.ParseInt(v, 10, 64)
		switch k {
		case "ckpt":
			tok.Checkpoint = id.Checkpoint(n)
		case "number":
			tok.Number, tok.Lane.Partition = int32(n), int32(n)
		case "pid":
			tok.ProducerID = n
		case "epoch":
			tok.ProducerEpoch = int16(n)
		case "ranges":
			for _, r := range strings.Split(v, ",") {
				var rg token.Range
				if _, err := fmt.Sscanf(r, "%d:%d-%dx%d", &rg.Partition, &rg.First, &rg.Last, &rg.Count); err != nil {
					t.Fatalf("%s: %v", r, err)
				}
				rg.Topic, rg.Bodies = "out", 7
				tok.Ranges = append(tok.Ranges, rg)
			}
		}
	}
	tok.TransactionalID = Name{Job: "j", Sink: "s", Generation: 8, Number: tok.Number}.String()
	tok.Metadata = fmt.Sprintf("m%d", tok.Checkpoint)
	return tok
}

// numbers reads "key=value" words.
func numbers(s string) map[string]int64 {
	m := map[string]int64{}
	for _, f := range strings.Fields(s) {
		k, v, _ := strings.Cut(f, "=")
		n, err := strconv.ParseInt(v, 10, 64)
		if err == nil {
			m[k] = n
		}
	}
	return m
}

func (s *stage) code(key string) kafka.Code {
	text := s.next(key, "ok")
	if text == "ok" {
		return kafka.OK
	}
	n, _ := strconv.Atoi(text)
	return kafka.Code(n)
}

func (s *stage) answer(t *testing.T, e Effect) (Fact, string) {
	s.now = s.now.Add(time.Millisecond)
	switch e := e.(type) {
	case Sleep:
		s.now = s.now.Add(e.For)
		return Slept{s.now}, ""
	case EnsureMarkers, Pass, Reach, Say:
		return Done{}, ""
	case Describe:
		var f Described
		var said []string
		for _, name := range e.IDs {
			text := s.next(name, "unknown")
			said = append(said, text)
			f.Transactions = append(f.Transactions, parseTransaction(name, text))
		}
		return f, strings.Join(said, ", ")
	case Look:
		return s.look(e)
	case LookOffsets:
		p, said := s.producers(id.TopicPartition{Topic: "__consumer_offsets", Partition: 4})
		return Seen{Producers: []kafka.PartitionProducers{p}, Now: s.now}, said
	case AskWitness:
		var f Witnessed
		var said []string
		for _, p := range e.Places {
			text := s.next("wit:"+p.TopicPartition.String(), "committed")
			said = append(said, text)
			f.Answers = append(f.Answers, map[string]WitnessAnswer{
				"committed": {LastStable: p.Last + 2, RecordAt: true}, "aborted": {LastStable: p.Last + 2, Listed: true},
				"undecided": {LastStable: p.First}, "lost": {LastStable: p.Last + 2}, "range": {OutOfRange: true},
			}[text])
		}
		return f, strings.Join(said, ", ")
	case FindMarker:
		text := s.next("marker:"+e.Place.TopicPartition.String(), "undecided")
		return MarkerFound{map[string]Witness{"undecided": WitnessUndecided, "committed": WitnessCommitted, "aborted": WitnessAborted}[text]}, text
	case FindRecords:
		var f RecordsFound
		text := s.next("records:"+e.Place.TopicPartition.String(), "none")
		for _, w := range strings.Fields(text) {
			if n, err := strconv.ParseInt(w, 10, 64); err == nil {
				f.Firsts = append(f.Firsts, n)
			}
		}
		return f, text
	case Initialise:
		code := s.code("init:" + e.ID)
		n := numbers(s.next("identity:"+e.ID, "pid=500 epoch=20"))
		return Initialised{Who: kafka.Identity{TransactionalID: e.ID, ProducerID: n["pid"], ProducerEpoch: int16(n["epoch"]), Protocol: 5}, Code: code}, code.String()
	case EndTxn:
		code := s.code("end:" + e.Who.TransactionalID)
		return Ended{Class: ClassifyEnd(code, nil), Code: code, Who: e.Who}, code.String()
	case WriteMarker:
		code := s.code("write:" + e.Partitions[0].String())
		return Answered{Code: code}, code.String()
	case RepairPartitions:
		code := s.code("add")
		return Answered{Code: code}, code.String()
	case RepairLane:
		code := s.code("lane")
		return Answered{Code: code}, code.String()
	case ReadRange:
		return s.read("read", e.Token.Ranges[e.Range])
	case Replay:
		return s.read("replay", e.Token.Ranges[e.Range])
	case FlushReplay:
		return Flushed{Ranges: []token.Range{{Topic: "out", Partition: 0, First: 90, Last: 95, Count: 4}}}, ""
	case Mark:
		code := s.code("mark")
		return Answered{Code: code}, code.String()
	case ListIDs:
		var f IDsListed
		text := s.next("list", "")
		for _, l := range strings.Split(text, ",") {
			if w := strings.Fields(l); len(w) == 3 {
				pid, _ := strconv.ParseInt(w[1], 10, 64)
				f.IDs = append(f.IDs, kafka.ListedTransaction{TransactionalID: w[0], ProducerID: pid, State: kafka.TxnState(w[2])})
			}
		}
		return f, text
	case ListPartitions:
		return PartitionsListed{Partitions: []id.TopicPartition{{Topic: "out", Partition: 0}, {Topic: "out", Partition: 1}}}, ""
	case AppendEntry:
		return s.append(e.Entry)
	}
	t.Fatalf("no answer for %T", e)
	return nil, ""
}

func (s *stage) append(e joblog.Entry) (Fact, string) {
	if s.next("append", "ok") == "superseded" {
		return Appended{Err: joblog.ErrSuperseded}, "superseded"
	}
	e.Generation = s.state.Generation
	state, err := s.state.Fold(e)
	s.state = state
	if err != nil {
		return Appended{State: state, Err: err}, err.Error()
	}
	return Appended{State: state}, "ok"
}

func (s *stage) read(verb string, r token.Range) (Fact, string) {
	text := s.next(fmt.Sprintf("%s:%s/%d", verb, r.Topic, r.Partition), "all")
	if text == "all" {
		return RangeRead{RangeSum: kafka.RangeSum{Count: r.Count, Bodies: r.Bodies, Times: r.Times}}, text
	}
	return RangeRead{RangeSum: kafka.RangeSum{Count: numbers(text)["count"], Bodies: 1}}, text
}

func parseTransaction(name, text string) kafka.Transaction {
	state, rest, _ := strings.Cut(text, " ")
	if state == "unknown" {
		return kafka.Transaction{TransactionalID: name}
	}
	n := numbers(rest)
	return kafka.Transaction{TransactionalID: name, State: kafka.TxnState(state), ProducerID: n["pid"], ProducerEpoch: int16(n["epoch"])}
}

func (s *stage) producers(tp id.TopicPartition) (kafka.PartitionProducers, string) {
	text := s.next(tp.String(), "closed")
	p := kafka.PartitionProducers{TopicPartition: tp}
	switch {
	case text == "leaderless":
		p.Code = kafka.LeaderNotAvailable
	case text == "deleted":
		p.Code = kafka.UnknownTopicOrPartition
	case text != "closed":
		n := numbers(text)
		p.Producers = []kafka.ActiveProducer{{ProducerID: n["pid"], ProducerEpoch: int32(n["epoch"]), CoordinatorEpoch: int32(n["coord"]), OpenFrom: n["from"]}}
	}
	return p, text
}

func (s *stage) look(e Look) (Fact, string) {
	f := Seen{Now: s.now}
	var said []string
	for _, tp := range e.Partitions {
		p, text := s.producers(tp)
		f.Producers = append(f.Producers, p)
		said = append(said, text)
		n, _ := strconv.ParseInt(s.next("start:"+tp.String(), "0"), 10, 64)
		f.LogStarts = append(f.LogStarts, n)
	}
	for _, l := range e.Lanes {
		text := s.next(l.String(), "0 seed")
		said = append(said, text)
		v := LaneValue{Lane: l, Unstable: text == "unstable"}
		if !v.Unstable {
			value, metadata, _ := strings.Cut(text, " ")
			v.Value, _ = strconv.ParseInt(value, 10, 64)
			v.Metadata = metadata
		}
		f.Lanes = append(f.Lanes, v)
	}
	return f, strings.Join(said, ", ")
}
