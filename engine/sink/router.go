package sink

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// router is what Kafka.New returns: the job's guarantee, known at Open, chooses the writer.
type router struct {
	k     Kafka
	rules *Rules
	operator.Sink
}

func (r *router) Open(ctx operator.Context, carried []token.Token, opened func(error)) {
	if ctx.Guarantee == operator.ExactlyOnce {
		r.Sink = &Writer{k: r.k, rules: r.rules}
	} else {
		r.Sink = &plainWriter{k: r.k}
	}
	r.Sink.Open(ctx, carried, opened)
}

func (r *router) Ready() bool { return r.Sink != nil && r.Sink.Ready() }

func (r *router) Freed(n id.Checkpoint) {
	if r.Sink != nil {
		r.Sink.Freed(n)
	}
}

func (r *router) Close(clean bool) {
	if r.Sink != nil {
		r.Sink.Close(clean)
	}
}
