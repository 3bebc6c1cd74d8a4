package hazard

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/broker/stage"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/proc"
)

// account is what happened in a scene, in lines: what the script says, and every request about a transaction with its
// answer.
type account struct {
	lines []string
	last  string // the last line without its time
	times int    // how often it came in a row
	begin env.Instant
	now   func() env.Instant
}

func (a *account) say(text string) {
	at := time.Duration(0)
	if a.now != nil {
		at = time.Duration(a.now() - a.begin)
	}
	if text == a.last && len(a.lines) > 0 {
		a.times++
		a.lines[len(a.lines)-1] = fmt.Sprintf("%9.3fs  %s (%d times)", at.Seconds(), text, a.times)
		return
	}
	a.last, a.times = text, 1
	a.lines = append(a.lines, fmt.Sprintf("%9.3fs  %s", at.Seconds(), text))
}

// heard is a backend whose requests are put into an account.
type heard struct {
	stage.Backend
	account *account
}

// Run implements stage.Backend.
func (h heard) Run(fn func(p *proc.Process, loop env.Loop, done func())) error {
	return h.Backend.Run(func(p *proc.Process, loop env.Loop, done func()) {
		own := *p
		h.account.begin, h.account.now = p.Now(), p.Now
		own.Broker = func(l env.Loop, c broker.Class) broker.Requests {
			return &wire{Requests: p.Broker(l, c), account: h.account}
		}
		fn(&own, loop, done)
	})
}

// wire tells an account of what passes.
type wire struct {
	broker.Requests
	account *account
}

// Send implements broker.Requests.
func (w *wire) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	asked := tellRequest(req)
	w.Requests.Send(node, req, func(resp kmsg.Response, err error) {
		if asked != "" {
			w.account.say(asked + " -> " + tellAnswer(resp, err))
		}
		done(resp, err)
	})
}

// SendBoth implements broker.Requests.
func (w *wire) SendBoth(node int32, first, second kmsg.Request, done func(kmsg.Response, kmsg.Response, error)) {
	a, b := tellRequest(first), tellRequest(second)
	w.Requests.SendBoth(node, first, second, func(x, y kmsg.Response, err error) {
		w.account.say(a + " -> " + tellAnswer(x, err) + "; in the same write " + b + " -> " + tellAnswer(y, err))
		done(x, y, err)
	})
}

// tellRequest is a request about a transaction in words; "" for all others.
func tellRequest(req kmsg.Request) string {
	name := fmt.Sprintf("%s v%d", kmsg.NameForKey(req.Key()), req.GetVersion())
	switch r := req.(type) {
	case *kmsg.InitProducerIDRequest:
		id, as := "without an id", ""
		if r.TransactionalID != nil {
			id = *r.TransactionalID
		}
		if r.ProducerID >= 0 {
			as = fmt.Sprintf(" as %d/%d", r.ProducerID, r.ProducerEpoch)
		}
		return fmt.Sprintf("%s %s%s", name, id, as)
	case *kmsg.AddPartitionsToTxnRequest:
		s := fmt.Sprintf("%s %s %d/%d", name, r.TransactionalID, r.ProducerID, r.ProducerEpoch)
		for _, t := range r.Topics {
			s += fmt.Sprintf(" %s/%v", t.Topic, t.Partitions)
		}
		return s
	case *kmsg.AddOffsetsToTxnRequest:
		return fmt.Sprintf("%s %s %d/%d group %s", name, r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Group)
	case *kmsg.EndTxnRequest:
		verdict := map[bool]string{true: "commit", false: "abort"}[r.Commit]
		return fmt.Sprintf("%s %s %d/%d %s", name, r.TransactionalID, r.ProducerID, r.ProducerEpoch, verdict)
	case *kmsg.ProduceRequest:
		return name + tellBatches(r)
	case *kmsg.TxnOffsetCommitRequest:
		return fmt.Sprintf("%s %s %d/%d group %s", name, r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.Group)
	case *kmsg.WriteTxnMarkersRequest:
		for _, m := range r.Markers {
			verdict := map[bool]string{true: "commit", false: "abort"}[m.Committed]
			name += fmt.Sprintf(" %d/%d %s, coordinator epoch %d", m.ProducerID, m.ProducerEpoch, verdict, m.CoordinatorEpoch)
		}
		return name
	case *kmsg.OffsetCommitRequest, *kmsg.DeleteRecordsRequest, *kmsg.DeleteGroupsRequest, *kmsg.OffsetDeleteRequest, *kmsg.DeleteTopicsRequest:
		return name
	}
	return ""
}

func tellBatches(r *kmsg.ProduceRequest) (s string) {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			it := kafka.ReadBatches(p.Records)
			for it.Next() {
				s += fmt.Sprintf(" %s/%d %d/%d sequence %d:", t.Topic, p.Partition, it.Batch.ProducerID, it.Batch.ProducerEpoch, it.Batch.BaseSequence)
				for it.NextRecord() {
					s += fmt.Sprintf(" %q", it.Record.Value)
				}
			}
		}
	}
	return s
}

// tellAnswer is an answer in words.
func tellAnswer(resp kmsg.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	code := func(c int16) string {
		if c == 0 {
			return "0"
		}
		return kafka.Code(c).String()
	}
	switch r := resp.(type) {
	case *kmsg.InitProducerIDResponse:
		if r.ErrorCode == 0 {
			return fmt.Sprintf("%d/%d", r.ProducerID, r.ProducerEpoch)
		}
		return code(r.ErrorCode)
	case *kmsg.EndTxnResponse:
		if r.ErrorCode == 0 && r.Version >= 5 {
			return fmt.Sprintf("0, next %d/%d", r.ProducerID, r.ProducerEpoch)
		}
		return code(r.ErrorCode)
	case *kmsg.AddOffsetsToTxnResponse:
		return code(r.ErrorCode)
	case *kmsg.AddPartitionsToTxnResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			return code(r.Topics[0].Partitions[0].ErrorCode)
		}
	case *kmsg.ProduceResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			p := &r.Topics[0].Partitions[0]
			if p.ErrorCode == 0 {
				return fmt.Sprintf("0, offset %d", p.BaseOffset)
			}
			return code(p.ErrorCode)
		}
	case *kmsg.TxnOffsetCommitResponse:
		if len(r.Topics) > 0 && len(r.Topics[0].Partitions) > 0 {
			return code(r.Topics[0].Partitions[0].ErrorCode)
		}
	case *kmsg.WriteTxnMarkersResponse:
		if len(r.Markers) > 0 && len(r.Markers[0].Topics) > 0 && len(r.Markers[0].Topics[0].Partitions) > 0 {
			return code(r.Markers[0].Topics[0].Partitions[0].ErrorCode)
		}
	}
	return "answered"
}
