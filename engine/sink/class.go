package sink

import (
	"errors"

	"github.com/onefold/onefold/engine/broker"
	"github.com/onefold/onefold/engine/kafka"
)

// EndClass is what an answer to EndTxn asks for. Success means decided, not visible; everything that leaves the outcome
// open is repeated with the same verdict, never turned into an abort and never answered with an initialisation.
type EndClass uint8

// The classes.
const (
	EndOK           EndClass = iota // to be confirmed
	EndAgain                        // the same request again, with back-off
	EndElsewhere                    // the same request again, after finding the coordinator
	EndResolve                      // decided or lost, unknown which: ask the lane and the second witness
	EndUnauthorized                 // stop with the reason
	EndBroken                       // an answer that only a wrong request gets: stop with the reason
)

var endNames = [...]string{"ok", "again", "elsewhere", "resolve", "unauthorized", "broken"}

func (c EndClass) String() string { return endNames[c] }

// ClassifyEnd is the table of answers to EndTxn.
func ClassifyEnd(code kafka.Code, err error) EndClass {
	if err != nil {
		return EndAgain
	}
	switch code {
	case kafka.OK:
		return EndOK
	case kafka.ConcurrentTransactions, kafka.CoordinatorLoadInProgress, kafka.RequestTimedOut, kafka.NetworkException,
		kafka.UnknownServerError, kafka.KafkaStorageError, kafka.NotEnoughReplicas, kafka.NotEnoughReplicasAfter:
		return EndAgain
	case kafka.NotCoordinator, kafka.CoordinatorNotAvailable:
		return EndElsewhere
	case kafka.ProducerFenced, kafka.InvalidProducerEpoch, kafka.InvalidTxnState, kafka.InvalidProducerIDMapping,
		kafka.TransactionAbortable, kafka.TransactionalIDNotFound, kafka.UnknownProducerID:
		return EndResolve
	case kafka.TransactionalIDAuth, kafka.ClusterAuthorization, kafka.TopicAuthorization, kafka.GroupAuthorization:
		return EndUnauthorized
	}
	return EndBroken
}

// lostReply reports whether a try may have arrived although no answer came.
func lostReply(err error) bool { return err != nil && !errors.Is(err, broker.ErrNotSent) }

// repeatable reports whether a request other than EndTxn is worth the same try again. Unknown outcomes are: all requests
// that it is asked about are safe to repeat.
func repeatable(code kafka.Code, err error) bool {
	if err != nil {
		return true
	}
	switch code.Class() {
	case kafka.Retry, kafka.FindCoordinator, kafka.RefreshLeader:
		return true
	}
	return code == kafka.UnknownServerError
}
