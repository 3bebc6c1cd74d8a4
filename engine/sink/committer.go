package sink

import (
	"errors"
	"math"
	"time"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/script"
	"github.com/onefold/onefold/engine/token"
)

// Committer drives the scripts of a restore and of confirms on the JobManager's loop.
type Committer struct {
	cfg      CommitterConfig
	rules    *Rules
	client   *kafka.Client
	log      joblog.Appender
	protocol int16
	noRights bool // the cluster refused a hand-written marker

	replay *replay // of the salvage under way
	closed bool
}

func newCommitter(cfg CommitterConfig) *Committer {
	if cfg.ConfirmTimeout == 0 {
		cfg.ConfirmTimeout = 2 * time.Minute
	}
	if cfg.RefenceAfter == 0 {
		cfg.RefenceAfter = 2 * time.Second
	}
	if cfg.MaxEpoch == 0 {
		cfg.MaxEpoch = math.MaxInt16
	}
	if cfg.Rules == nil {
		cfg.Rules = DefaultRules()
	}
	client := kafka.New(kafka.Config{Process: cfg.Process, Loop: cfg.Loop, RequestTimeout: requestTimeout, ReadTimeout: readTimeout})
	return &Committer{cfg: cfg, rules: cfg.Rules, client: client}
}

// An answer that does not come costs a script so much; what a script waits for is asked again until its own limit.
const (
	requestTimeout = 5 * time.Second
	readTimeout    = 15 * time.Second
)

// Restore runs the restore order.
func (c *Committer) Restore(in operator.RestoreInput, log joblog.Appender, done func(operator.RestoreOutcome)) {
	c.log = log
	if in.Generation > 0 {
		c.cfg.Generation = in.Generation
	}
	c.prepare(func(err error) {
		if err != nil {
			done(operator.RestoreOutcome{Stop: errors.Is(err, operator.ErrPermanent), Err: err})
			return
		}
		var out operator.RestoreOutcome
		c.run(func(ask Ask, p *Plan) { out = c.rules.Restore(ask, p, in) }, func() { done(out) })
	})
}

// Confirm asks whether every token of checkpoint n has ended.
func (c *Committer) Confirm(n id.Checkpoint, tokens []token.Token, done func(operator.ConfirmOutcome)) {
	c.prepare(func(err error) {
		if err != nil {
			done(operator.ConfirmOutcome{Err: err})
			return
		}
		var out operator.ConfirmOutcome
		c.run(func(ask Ask, p *Plan) { out = c.rules.Confirm(ask, p, n, tokens) }, func() { done(out) })
	})
}

// Close stops what is under way; nothing completes any more.
func (c *Committer) Close() {
	c.closed = true
	c.client.Close()
}

// prepare learns the protocol generation before the first script.
func (c *Committer) prepare(done func(error)) {
	c.client.Features(func(f kafka.Features, err error) {
		if c.closed {
			return
		}
		if err == nil {
			err = checkFeatures(f)
		}
		c.protocol = f.Protocol()
		done(err)
	})
}

func (c *Committer) run(body func(Ask, *Plan), finished func()) {
	p := &Plan{
		Job: c.cfg.Job, Generation: c.cfg.Generation, Protocol: c.protocol, MaxEpoch: c.cfg.MaxEpoch, Sinks: c.cfg.Sinks, ConfirmLimit: c.cfg.ConfirmTimeout,
		RefenceAfter: c.cfg.RefenceAfter, AcceptLoss: c.cfg.AcceptLoss, Rules: c.rules, NoClusterRights: c.noRights,
	}
	script.Run(c.cfg.Loop, func(ask Ask) { body(ask, p) }, func(e Effect, done func(Fact)) {
		c.perform(e, func(f Fact) {
			if !c.closed {
				done(f)
			}
		})
	}, func() {
		c.noRights = c.noRights || p.NoClusterRights
		finished()
	})
}
