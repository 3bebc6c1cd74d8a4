package controls

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
)

// kafkaRules are the engines that believe Kafka where it must not be believed.
func kafkaRules() []Engine {
	return []Engine{
		Engine{
			Name: "lane-believed", Doc: "a lane that reads nothing, or a lower value, means aborted: no second witness is asked", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup}, Meddle: "delete-group/k7/5",
		}.withSinkRules(func(r *sink.Rules) { r.Survey = believeLane }),
		Engine{
			Name: "unsealed", Doc: "records behind the barrier are written into the transaction until its marker is written", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.State},
			Favour:   []string{"on k9 checkpoint=6 crash all for 1s"},
		}.withSinkRules(func(r *sink.Rules) { r.Sealed = func() bool { return false } }),
		Engine{
			Name: "marker-error-ignored", Doc: "a refused marker declines no checkpoint, and a lane that reads nothing means aborted", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup}, Meddle: "delete-markers/k2/5",
			Port: func(p broker.Requests) broker.Requests { return markersAccepted{p} },
		}.withSinkRules(func(r *sink.Rules) { r.Survey = believeLane }),
		Engine{
			Name: "witness-without-record", Doc: "not in the list of aborted transactions means committed, on a compacted topic", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap}, World: world("compact", "1"), Meddle: "compact/k4/5",
			Favour: []string{"on k7 checkpoint=6 transaction-timeout all for 23s", "on r0 nth=2 pause self for 12s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.Survey = func(ask sink.Ask, p *sink.Plan, tokens []token.Token) ([]sink.Finding, error) {
				return sink.SurveyTokens(withoutRecord(ask), p, tokens)
			}
		}),
		Engine{
			Name: "marker-epoch-guessed", Doc: "a dropped marker is written by hand with a coordinator epoch that is high enough to be taken", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Stall, checker.CrashLoop},
			Favour:   []string{"on k9 checkpoint=5 no-leader totals/0 for 3s"},
		}.withSinkRules(func(r *sink.Rules) { r.RepairDropped = guessEpoch }),
		Engine{
			Name: "lane-waits", Doc: "an unstable lane is waited for, and never repaired", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Stall, checker.CrashLoop},
			Favour:   []string{"on k9 checkpoint=5 no-leader __consumer_offsets/4 for 3s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.RepairDropped = func(ask sink.Ask, p *sink.Plan, d sink.Dropped) (bool, error) {
				d.Lane = false
				return sink.RepairMarkers(ask, p, d)
			}
		}),
		Engine{
			Name: "fences-strangers", Doc: "every transactional id that the brokers list is fenced, whoever has it", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Invariant}, Meddle: "stranger/k4/3",
			Favour: []string{"on k3 checkpoint=6 crash tm1 for 1s"},
		}.withSinkRules(func(r *sink.Rules) { r.Fence = fenceAll }),
	}
}

// believeLane takes a lane that has lost its evidence for one of an aborted transaction.
func believeLane(ask sink.Ask, p *sink.Plan, tokens []token.Token) ([]sink.Finding, error) {
	found, err := sink.SurveyTokens(ask, p, tokens)
	for i := range found {
		f := &found[i]
		lane := sink.Lane{Sink: f.Token.Sink, Partition: f.Token.Lane.Partition}
		seen, _ := ask(sink.Look{Lanes: []sink.Lane{lane}}).(sink.Seen)
		if len(seen.Lanes) != 1 || seen.Lanes[0].Value >= int64(f.Token.Checkpoint) {
			continue
		}
		if says, _ := sink.ReadLane(f.Token, seen.Lanes[0]); says != sink.LaneOther {
			continue
		}
		f.Judgement, f.Unsalvageable = sink.Judgement{Verdict: sink.Aborted, Abort: true}, nil
		for r := range f.Token.Ranges {
			f.Aborted = append(f.Aborted, r)
		}
	}
	return found, err
}

// withoutRecord has the second witness find a record at every first offset.
func withoutRecord(ask sink.Ask) sink.Ask {
	return func(e sink.Effect) sink.Fact {
		fact := ask(e)
		if w, is := fact.(sink.Witnessed); is {
			for i := range w.Answers {
				w.Answers[i].RecordAt = true
			}
		}
		return fact
	}
}

// guessEpoch writes every missing marker with the same coordinator epoch.
func guessEpoch(ask sink.Ask, _ *sink.Plan, d sink.Dropped) (bool, error) {
	t := d.Item.Token
	for _, at := range d.Partitions {
		ask(sink.WriteMarker{MarkerWrite: kafka.MarkerWrite{
			ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, Commit: d.Item.Commit, CoordinatorEpoch: 1000,
			Partitions: []id.TopicPartition{at.TopicPartition},
		}})
	}
	return len(d.Partitions) > 0, nil
}

// fenceAll initialises whatever is listed and is not the job's, before it fences what is.
func fenceAll(ask sink.Ask, p *sink.Plan, in sink.FenceInput) error {
	listed, _ := ask(sink.ListIDs{}).(sink.IDsListed)
	for _, l := range listed.IDs {
		if _, ours := sink.ParseName(l.TransactionalID); !ours {
			ask(sink.Initialise{ID: l.TransactionalID, Timeout: time.Minute})
		}
	}
	return sink.FenceOlder(ask, p, in)
}

// markersAccepted is a port whose markers are never refused.
type markersAccepted struct{ broker.Requests }

// Send implements broker.Requests.
func (m markersAccepted) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	m.Requests.Send(node, req, func(r kmsg.Response, err error) {
		if resp, is := r.(*kmsg.TxnOffsetCommitResponse); is && err == nil {
			accept(resp)
		}
		done(r, err)
	})
}

// accept takes back the refusal of single partitions.
func accept(resp *kmsg.TxnOffsetCommitResponse) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			switch code := &resp.Topics[i].Partitions[j].ErrorCode; kafka.Code(*code) {
			case kafka.UnknownTopicOrPartition, kafka.UnknownTopicID, kafka.OffsetMetadataTooLarge:
				*code = 0
			}
		}
	}
}
