package controls

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
)

// identities are the engines that break a rule about who acts under which producer id and epoch.
func identities() []Engine {
	return []Engine{
		Engine{
			Name: "fence-undecided", Doc: "a restore fences every older id before it decides, on topics that keep no aborted records", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap, checker.LoudLoss},
			Favour:   []string{"on k7 checkpoint=6 crash all for 500ms"},
		}.withSinkRules(func(r *sink.Rules) {
			lock := r.Lock
			r.Survey = keepNothing
			r.Lock = func(ask sink.Ask, p *sink.Plan) ([]kafka.Identity, error) {
				q := *p
				q.Protected = nil
				if err := sink.FenceOlder(ask, &q, sink.FenceInput{}); err != nil {
					return nil, err
				}
				return lock(ask, p)
			}
		}),
		Engine{
			Name: "ending-anew", Doc: "a commit without an answer is followed by recovering the producer, as client libraries do, on topics that keep no aborted records", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap, checker.LoudLoss},
			Favour:   []string{"on k8 checkpoint=6 lose-request EndTxn all for 3"},
			Port:     func(p broker.Requests) broker.Requests { return recovering{p} },
		}.withSinkRules(func(r *sink.Rules) { r.Survey = keepNothing }),
		{
			Name: "epoch-kept", Doc: "an id is used again with the epoch that EndTxn returned, as client libraries do, on brokers whose late markers end it", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.Torn, checker.Gap, checker.Reorder},
			World:    world("profile", "k41", "interval", "500ms"),
			Favour: []string{
				"on k10 nth=24 repeat WriteTxnMarkers broker0 for 40", "on k10 nth=24 repeat WriteTxnMarkers broker1 for 40",
				"on k10 nth=24 repeat WriteTxnMarkers broker2 for 40", "on k3 checkpoint=12 crash tm1 for 1s",
			},
			Port: func(p broker.Requests) broker.Requests {
				return &keeping{Requests: p, next: map[string]kmsg.EndTxnResponse{}}
			},
		},
	}
}

// recovering initialises an id with its own producer id and epoch when the answer to a commit does not come.
type recovering struct{ broker.Requests }

// Send implements broker.Requests.
func (r recovering) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	r.Requests.Send(node, req, func(resp kmsg.Response, err error) {
		if e, ends := req.(*kmsg.EndTxnRequest); ends && e.Commit && err != nil {
			again := kmsg.NewPtrInitProducerIDRequest()
			again.Version, again.TransactionalID, again.TransactionTimeoutMillis = 4, &e.TransactionalID, 20000
			again.ProducerID, again.ProducerEpoch = e.ProducerID, e.ProducerEpoch
			r.Requests.Send(node, again, func(kmsg.Response, error) { done(resp, err) })
			return
		}
		done(resp, err)
	})
}

// keeping answers an initialisation with what the last end of the id returned.
type keeping struct {
	broker.Requests
	next map[string]kmsg.EndTxnResponse // by transactional id, looked up
}

// Send implements broker.Requests.
func (k *keeping) Send(node int32, req kmsg.Request, done func(kmsg.Response, error)) {
	if q, is := req.(*kmsg.InitProducerIDRequest); is && q.TransactionalID != nil {
		if e, known := k.next[*q.TransactionalID]; known {
			delete(k.next, *q.TransactionalID)
			// Metadata costs nothing, and its answer comes later on the same loop.
			k.Requests.Send(node, kmsg.NewPtrMetadataRequest(), func(_ kmsg.Response, err error) {
				resp := q.ResponseKind().(*kmsg.InitProducerIDResponse)
				resp.ProducerID, resp.ProducerEpoch = e.ProducerID, e.ProducerEpoch
				done(resp, err)
			})
			return
		}
	}
	k.Requests.Send(node, req, func(resp kmsg.Response, err error) {
		if e, is := resp.(*kmsg.EndTxnResponse); is && err == nil && e.ErrorCode == 0 && e.Version >= 5 {
			k.next[req.(*kmsg.EndTxnRequest).TransactionalID] = *e
		}
		done(resp, err)
	})
}
