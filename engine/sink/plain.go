package sink

import (
	"fmt"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// plainWriter writes without transactions, through an idempotent producer. At the barrier it flushes, so that a checkpoint
// holds no record that is not in the topic; only operator.None, the negative control, does not.
type plainWriter struct {
	k          Kafka
	ctx        operator.Context
	client     *kafka.Client
	producer   *kafka.Producer
	partitions int32
	next       int32
	closed     bool
}

func (w *plainWriter) Open(ctx operator.Context, _ []token.Token, opened func(error)) {
	w.ctx = ctx
	w.client = kafka.New(kafka.Config{Process: ctx.Process, Loop: ctx.Loop})
	w.client.Topics([]string{w.k.Topic}, func(topics []kafka.Topic, err error) {
		if err == nil && topics[0].Code != kafka.OK {
			err = topics[0].Code
		}
		if err != nil {
			opened(fmt.Errorf("sink %s: topic %s: %w", ctx.Operator, w.k.Topic, err))
			return
		}
		w.partitions = int32(len(topics[0].Partitions))
		w.initialise(opened)
	})
}

func (w *plainWriter) initialise(opened func(error)) {
	p := w.ctx.Process
	retrying(w.ctx.Loop, p, p, uint64(w.ctx.Subtask.Index)<<32|5, w.k.transactionTimeout(), func(again func()) {
		w.client.InitProducerID("", 0, 4, func(who kafka.Identity, code kafka.Code, err error) {
			switch {
			case w.closed:
			case err == nil && code == kafka.OK:
				w.producer = w.client.NewProducer(kafka.ProducerConfig{
					Identity: who, Linger: w.k.Linger, DeliveryTimeout: w.k.DeliveryTimeout, Compression: w.k.Compression, Wake: w.wake,
				})
				w.ctx.Process.Hook(hook.Event{Point: hook.R7WritersOpen, Generation: w.ctx.Generation, Subtask: w.ctx.Subtask})
				opened(nil)
			case repeatable(code, err):
				again()
			default:
				opened(fmt.Errorf("sink %s: initialise: %w", w.ctx.Operator, code))
			}
		})
	}, func() { opened(fmt.Errorf("sink %s: the broker gave no producer id", w.ctx.Operator)) })
}

func (w *plainWriter) wake() {
	if w.closed {
		return
	}
	if err := w.producer.Err(); err != nil {
		w.ctx.Fail(fmt.Errorf("sink %s: %w", w.ctx.Operator, err))
		return
	}
	w.ctx.Wake()
}

func (w *plainWriter) Ready() bool { return !w.closed && w.producer != nil && !w.producer.Full() }

func (w *plainWriter) Write(r *operator.Record) error {
	return w.producer.Append(w.k.Topic, choose(r, w.partitions, &w.next), r.Key, r.Value, r.Headers, r.Timestamp)
}

func (w *plainWriter) Barrier(n id.Checkpoint, done func([]token.Token)) {
	if w.ctx.Guarantee == operator.None {
		w.ctx.Loop.Post(func() { done(nil) })
		return
	}
	w.producer.Flush(func(err error) {
		if w.closed {
			return
		}
		if err != nil {
			w.ctx.Fail(fmt.Errorf("sink %s: checkpoint %d: %w", w.ctx.Operator, n, err))
			return
		}
		w.ctx.Process.Hook(hook.Event{Point: hook.K3WriterFlushed, Generation: w.ctx.Generation, Checkpoint: n, Subtask: w.ctx.Subtask})
		done(nil)
	})
}

// Commit answers for tokens of a time when the job had another guarantee; there are none otherwise.
func (w *plainWriter) Commit(t token.Token, done func(operator.CommitResult)) {
	w.ctx.Loop.Post(func() {
		done(operator.CommitResult{Token: t, State: operator.Refused, Reason: "this sink has no transactions"})
	})
}

func (w *plainWriter) Freed(id.Checkpoint) {}

func (w *plainWriter) Close(bool) {
	w.closed = true
	if w.producer != nil {
		w.producer.Close()
	}
}
