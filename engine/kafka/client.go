package kafka

import (
	"time"

	"github.com/onefold/onefold/engine/broker"
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
	// BackoffMin and BackoffMax bound the pause between two tries; it doubles in between and is jittered. Defaults 20 ms
	// and 1 s.
	BackoffMin, BackoffMax time.Duration
}

const (
	defaultRequestTimeout = 10 * time.Second
	defaultReadTimeout    = 60 * time.Second
	defaultBackoffMin     = 20 * time.Millisecond
	defaultBackoffMax     = time.Second
)

func (c Config) withDefaults() Config {
	orElse(&c.RequestTimeout, defaultRequestTimeout)
	orElse(&c.ReadTimeout, defaultReadTimeout)
	orElse(&c.BackoffMin, defaultBackoffMin)
	orElse(&c.BackoffMax, defaultBackoffMax)
	return c
}

// orElse gives *v a default.
func orElse[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
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

// Client is one loop's view of one cluster. It belongs to its loop.
type Client struct {
	cfg     Config
	ports   [3]broker.Requests
	cluster cluster
	coords  [2]coordinators
	feat    features
	buffers buffers
	calls   []*call // free

	deadlines deadlines

	closed bool
}

// New makes a client. It sends nothing before it is asked something.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg.withDefaults()}
	for class := range c.ports {
		c.ports[class] = cfg.Process.Broker(cfg.Loop, broker.Class(class))
	}
	c.cluster = cluster{client: c, topics: map[string]*Topic{}, controller: -1}
	for kind := range c.coords {
		c.coords[kind].nodes = map[string]int32{}
	}
	return c
}

// Close ends the client: nothing that is under way completes any more, neither its fetchers nor its producers.
func (c *Client) Close() { c.closed = true }
