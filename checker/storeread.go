package checker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// reading turns lines into a history; the first error stays.
type reading struct {
	h   *History
	err error
}

func (r *reading) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reading) name(what string, names []string, s string) int {
	i, ok := lookup(names, s)
	if !ok {
		r.fail("%q is no %s; known are %s", s, what, strings.Join(names, ", "))
	}
	return i
}

func (r *reading) topic(name string, partition int32) int16 {
	t := r.h.TopicIndex(name)
	if t < 0 {
		r.fail("no topic %q was named before", name)
	} else if partition < 0 || partition >= r.h.Topics[t].Partitions {
		r.fail("topic %s has %d partitions, no number %d", name, r.h.Topics[t].Partitions, partition)
	}
	return t
}

// source reads topic/partition@offset or topic#number.
func (r *reading) source(s string) (src Source) {
	place, number, numbered := cutLast(s, "#")
	if numbered {
		src.Partition = Numbered
	} else {
		var ok bool
		if place, number, ok = cutLast(s, "@"); !ok {
			r.fail("%q is neither topic/partition@offset nor topic#number", s)
			return src
		}
		name, part, _ := cutLast(place, "/")
		n, err := strconv.ParseInt(part, 10, 32)
		if err != nil || n < 0 {
			r.fail("%q: %q is no partition", s, part)
		}
		place, src.Partition = name, int32(n)
	}
	var err error
	if src.Offset, err = strconv.ParseInt(number, 10, 64); err != nil {
		r.fail("%q: %q is no number", s, number)
	}
	if src.Topic = r.h.TopicIndex(place); src.Topic < 0 {
		r.fail("%q: no topic %q was named before", s, place)
	}
	return src
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// position reads topic/partition@offset of a partition that is there.
func (r *reading) position(s string) Position {
	src := r.source(s)
	if r.err == nil && (src.Partition < 0 || src.Partition >= r.h.Topics[src.Topic].Partitions) {
		r.fail("%q is no position in a partition that is there", s)
	}
	return Position(src)
}

func (r *reading) event(l *eventLine) Event {
	e := Event{Undecoded: l.Undecoded, Key: NoKey, Number: -1, Sequence: l.Sequence}
	if l.Key != nil {
		e.Key = r.h.Key([]byte(*l.Key))
	}
	if l.Number != nil {
		e.Number = *l.Number
	}
	if l.Values != nil {
		e.Values = *l.Values
	}
	for _, s := range l.Sources {
		r.h.Source(&e, r.source(s))
	}
	return e
}

// take adds one line to the history.
func (h *History) take(l *line) error {
	r := &reading{h: h}
	switch {
	case l.Run != nil:
		h.Run = Run{l.Run.Settled, l.Run.Waits, l.Run.Panic, l.Run.Refused, l.Run.Hashes, l.Run.Unstable}
	case l.Topic != nil:
		if l.Topic.Partitions < 0 || l.Topic.Partitions > 1<<16 {
			r.fail("topic %s with %d partitions", l.Topic.Name, l.Topic.Partitions)
			break
		}
		h.AddTopic(l.Topic.Name, Role(r.name("role", roleNames, l.Topic.Role)), l.Topic.Partitions)
	case l.Reader != nil:
		h.AddReader(l.Reader.Name, l.Reader.Final)
	case l.Produced != nil:
		r.record(l.Produced)
	case l.Broker != nil:
		r.record(l.Broker)
	case l.Control != nil:
		c := l.Control
		h.Controls = append(h.Controls, Control{r.topic(c.Topic, c.Partition), c.Partition, c.Offset, c.Producer, c.Epoch, c.Commit})
	case l.Partition != nil:
		p := l.Partition
		h.Partitions = append(h.Partitions, Partition{r.topic(p.Topic, p.Partition), p.Partition, p.Start, p.Stable, p.High, p.Compacted})
	case l.Open != nil:
		o := l.Open
		h.Transactions = append(h.Transactions, OpenTransaction{r.topic(o.Topic, o.Partition), o.Partition, o.Producer, o.Epoch, o.First, o.Owner})
	case l.Read != nil:
		r.read(l.Read)
	case l.Claim != nil:
		r.claim(l.Claim)
	case l.Effect != nil:
		h.Effects = append(h.Effects, Effect{r.source(l.Effect.Source), l.Effect.Name})
	case l.Log != nil:
		o := l.Log
		h.JobLog = append(h.JobLog, LogOperation{
			o.Client, o.Call, o.Return, LogKind(r.name("call", logKindNames, o.Kind)), o.Position, o.Nonce,
			LogResult(r.name("result", logResultNames, o.Result)),
		})
	case l.Transaction != nil:
		o := l.Transaction
		h.TxnLog = append(h.TxnLog, TransactionOperation{
			o.Client, o.Call, o.Return, o.ID, TransactionKind(r.name("call", txnKindNames, o.Kind)),
			o.Producer, o.Epoch, TransactionResult(r.name("result", txnResultNames, o.Result)),
		})
	default:
		return errors.New("an object with none of the keys of a history")
	}
	return r.err
}

func (r *reading) record(l *recordLine) {
	rec := Record{Topic: r.topic(l.Topic, l.Partition), Partition: l.Partition, Offset: l.Offset, ProducerID: -1, ProducerEpoch: l.Epoch, Event: r.event(&l.eventLine)}
	if l.Outcome != "" {
		rec.Outcome = Outcome(r.name("outcome", outcomeNames[:], l.Outcome))
	}
	if l.Producer != nil {
		rec.ProducerID = *l.Producer
	}
	r.h.Records = append(r.h.Records, rec)
}

func (r *reading) read(l *readLine) {
	rd := Read{Reader: -1, Topic: r.topic(l.Topic, l.Partition), Partition: l.Partition, Offset: l.Offset, At: l.At, Event: r.event(&l.eventLine)}
	for i := range r.h.Readers {
		if r.h.Readers[i].Name == l.Reader {
			rd.Reader = int16(i)
		}
	}
	if rd.Reader < 0 {
		r.fail("no reader %q was named before", l.Reader)
	}
	r.h.Reads = append(r.h.Reads, rd)
}

func (r *reading) claim(l *claimLine) {
	c := Claim{Kind: ClaimKind(r.name("claim", claimKindNames, l.Kind)), Generation: l.Generation, Checkpoint: l.Checkpoint, At: l.At, Reason: l.Reason}
	for _, s := range l.Positions {
		c.Positions = append(c.Positions, r.position(s))
	}
	for _, t := range l.Transactions {
		c.Transactions = append(c.Transactions, Transaction{t.Sink, t.Subtask, t.Producer, t.Epoch, t.State})
	}
	for _, x := range l.Lost {
		c.Lost = append(c.Lost, LostRange{r.topic(x.Topic, x.Partition), x.Partition, x.First, x.Last, x.Count, x.Producer, x.Epoch})
	}
	for _, s := range l.Inputs {
		c.Inputs = append(c.Inputs, Span{r.topic(s.Topic, s.Partition), s.Partition, s.From, s.To})
	}
	r.h.Claims = append(r.h.Claims, c)
}
