package sink

import (
	"math"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
)

// Defaults of Kafka.
const (
	DefaultTransactionTimeout = 5 * time.Minute
	DefaultToleratedFailures  = 2
	initialIDs                = 3 // ids a subtask starts with
	extraIDs                  = 8 // and what it may grow to, before the tolerated failures

	// spareEpochs are left to whoever fences an id. Each restore that tries takes one or two, and the last one would move the
	// id to another producer id while a partition may still wait for a marker of the one before.
	spareEpochs = 64
)

// Kafka is the factory of a sink that writes one topic. The zero value of every field but Topic is a default.
type Kafka struct {
	Topic string
	// TransactionTimeout is how long a transaction may stay open at the broker. The audit compares it with the budget.
	TransactionTimeout time.Duration
	// ToleratedFailures is how many checkpoints may fail in a row; each may leave a prepared transaction behind. At most 5.
	ToleratedFailures int32
	// DeliveryTimeout bounds how long a batch is tried before its task fails. Default 60 s.
	DeliveryTimeout time.Duration
	// Linger is how long a batch waits for more records. Default 5 ms.
	Linger time.Duration
	// Compression of the batches.
	Compression kafka.Compression
	// OffsetsRetention is the cluster's offsets.retention.minutes: lanes are seeded anew at half of it. Default 7 days.
	OffsetsRetention time.Duration
	// MaxEpoch is the highest epoch of a producer id; default 32767, as in Kafka. Simulated clusters may have a smaller one.
	MaxEpoch int16
	// Rules replaces decisions; nil is DefaultRules. It exists for negative controls.
	Rules *Rules
}

// Spec is what the committer must know of one transactional sink.
type Spec struct {
	Operator           id.Operator
	Topic              string
	Parallelism        int32
	TransactionTimeout time.Duration
}

// Spec describes the sink for the committer, as the operator named and with so many subtasks.
func (k Kafka) Spec(op id.Operator, parallelism int32) Spec {
	return Spec{Operator: op, Topic: k.Topic, Parallelism: parallelism, TransactionTimeout: k.transactionTimeout()}
}

// New makes the half of the sink that runs in one subtask.
func (k Kafka) New() operator.Sink { return newWriter(k) }

// spent tells whether an identity has too few epochs left to begin a transaction with.
func (k Kafka) spent(who kafka.Identity) bool {
	highest := k.MaxEpoch
	if highest == 0 {
		highest = math.MaxInt16
	}
	return highest > spareEpochs && who.ProducerEpoch >= highest-spareEpochs
}

func (k Kafka) transactionTimeout() time.Duration {
	if k.TransactionTimeout == 0 {
		return DefaultTransactionTimeout
	}
	return k.TransactionTimeout
}

// reseedAfter is the age at which a lane's value is written anew: half of what the cluster keeps it.
func (k Kafka) reseedAfter() time.Duration {
	if k.OffsetsRetention == 0 {
		return 7 * 24 * time.Hour / 2
	}
	return k.OffsetsRetention / 2
}

func (k Kafka) toleratedFailures() int32 {
	if k.ToleratedFailures == 0 {
		return DefaultToleratedFailures
	}
	return k.ToleratedFailures
}

// CommitterConfig is what a committer needs. Zero durations are defaults.
type CommitterConfig struct {
	Process    *proc.Process
	Loop       env.Loop
	Job        id.Job
	Generation id.Generation
	Sinks      []Spec
	// ConfirmTimeout is how long a partition without a leader, or one whose transaction does not end, is waited for before
	// the job stops loudly. Default 2 min.
	ConfirmTimeout time.Duration
	// RefenceAfter is how long a confirm waits before it fences older generations once more: a zombie's pending marker may
	// hold a shared lane. Default 2 s.
	RefenceAfter time.Duration
	// AcceptLoss lets a confirm go on after records were deleted by retention while their transaction was open.
	AcceptLoss bool
	// MaxEpoch is the highest epoch of a producer id; default 32767, as in Kafka. Simulated clusters may have a smaller one.
	MaxEpoch int16
	// Rules replaces decisions; nil is DefaultRules. It exists for negative controls.
	Rules *Rules
}

// NewCommitter makes the half of all transactional sinks of a job that runs in the JobManager.
func NewCommitter(c CommitterConfig) operator.Committer { return newCommitter(c) }
