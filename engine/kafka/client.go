package kafka

import (
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/proc"
)

// Config is what a Client needs. Zero durations are replaced by the defaults named.
type Config struct {
	Process *proc.Process
	Loop    env.Loop
	// RequestTimeout is how long an answer is waited for before its outcome counts as unknown. Default 10 s.
	RequestTimeout time.Duration
	// ReadTimeout is how long reads are repeated before they fail. Default 60 s.
	ReadTimeout time.Duration
	// BackoffMin and BackoffMax bound the pause between two tries; it doubles in between and is jittered. Defaults 50 ms
	// and 1 s.
	BackoffMin, BackoffMax time.Duration
}

// Identity is who produces: a transactional id with its producer id and epoch, or an idempotent producer without id.
type Identity struct {
	TransactionalID string // empty: not transactional
	ProducerID      int64
	ProducerEpoch   int16
	// Protocol is the generation of the transaction protocol, as token.Token.EndTxnVersion: 5 on transaction.version 2,
	// 4 below. Invariant: one identity never mixes them.
	Protocol int16
}
