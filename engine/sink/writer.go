package sink

import (
	"fmt"
	"hash/crc32"
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/engine/token"
)

// forever bounds retries that only the end of the task ends.
const forever = time.Duration(1<<63 - 1)

// Writer is the half of the transactional sink that runs in a subtask: the driver of a Pool.
type Writer struct {
	k      Kafka
	rules  *Rules
	ctx    operator.Context
	client *kafka.Client
	pool   *Pool

	protocol   int16
	partitions int32
	next       int32 // partition of the next record without a key

	producer  *kafka.Producer   // of the open transaction; nil: none
	producers []*kafka.Producer // by number; closed and forgotten when sealed
	// sealing is set from the barrier until the epoch's last record is acknowledged. No transaction begins meanwhile: two
	// identities have no order between them, and a record of the next epoch that came first would stand before it for ever.
	sealing  bool
	opened   func(error)
	barriers []barrierDone
	commits  []commitDone
	closed   bool
}

type barrierDone struct {
	checkpoint id.Checkpoint
	done       func([]token.Token)
}

type commitDone struct {
	token token.Token
	done  func(operator.CommitResult)
}

func newWriter(k Kafka) operator.Sink {
	rules := k.Rules
	if rules == nil {
		rules = DefaultRules()
	}
	return &router{k: k, rules: rules}
}

// Open learns the cluster's protocol and the topic, and initialises the first ids.
func (w *Writer) Open(ctx operator.Context, carried []token.Token, opened func(error)) {
	w.ctx, w.opened = ctx, opened
	w.client = kafka.New(kafka.Config{Process: ctx.Process, Loop: ctx.Loop})
	w.client.Features(func(f kafka.Features, err error) {
		if err == nil {
			err = checkFeatures(f)
		}
		if err != nil {
			w.open(fmt.Errorf("sink %s: %w", ctx.Operator, err))
			return
		}
		w.protocol = f.Protocol()
		w.findTopic(func() { w.startPool(carried) })
	})
}

// checkFeatures refuses brokers that do not verify transactions: there a late record of a dead transaction is accepted.
func checkFeatures(f kafka.Features) error {
	const addPartitionsToTxn = 24
	if f.Max(addPartitionsToTxn) < 4 {
		return fmt.Errorf("these brokers do not verify transactions (Kafka 3.5 and older): exactly-once is refused: %w", operator.ErrPermanent)
	}
	return nil
}

func (w *Writer) findTopic(found func()) {
	w.client.Topics([]string{w.k.Topic}, func(topics []kafka.Topic, err error) {
		if err == nil && topics[0].Code != kafka.OK {
			err = topics[0].Code
		}
		if err != nil {
			w.open(fmt.Errorf("sink %s: topic %s: %w", w.ctx.Operator, w.k.Topic, err))
			return
		}
		w.partitions = int32(len(topics[0].Partitions))
		found()
	})
}

func (w *Writer) startPool(carried []token.Token) {
	w.pool = NewPool(PoolConfig{
		Job: w.ctx.Job, Sink: w.ctx.Operator, Generation: w.ctx.Generation, Subtask: w.ctx.Subtask.Index,
		Initial: initialIDs, Max: extraIDs + w.k.toleratedFailures(), ReseedMs: w.k.reseedAfter().Milliseconds(), Rules: w.rules,
	})
	w.step(PoolStarted{carried})
}

func (w *Writer) open(err error) {
	if w.opened == nil {
		return
	}
	done := w.opened
	w.opened = nil
	if err == nil {
		w.pass(hook.R7WritersOpen, 0)
	}
	done(err)
}

// Ready reports whether a record can be written at once.
func (w *Writer) Ready() bool {
	if w.closed || w.pool == nil {
		return false
	}
	if w.producer != nil {
		return !w.producer.Full()
	}
	if w.sealing {
		return false
	}
	if !w.pool.Available() {
		w.step(Wanted{w.nowMs()})
		return false
	}
	return true
}

// Write appends a record to the open transaction, or begins one.
func (w *Writer) Write(r *operator.Record) error {
	if w.producer == nil {
		w.step(Wanted{w.nowMs()})
		if w.producer == nil {
			return fmt.Errorf("sink %s: no transactional id is ready", w.ctx.Operator)
		}
	}
	return w.recordFailed(w.producer.Append(w.k.Topic, w.partition(r), r.Key, r.Value, r.Headers, r.Timestamp))
}

func (w *Writer) recordFailed(err error) error {
	if err != nil && !w.rules.RecordFailed(err) {
		return nil
	}
	return err
}

func (w *Writer) partition(r *operator.Record) int32 {
	return choose(r, w.partitions, &w.next)
}

// choose is the partition of a record: its own wish, or the hash of its key, the same in all subtasks and versions; records
// without a key take turns.
func choose(r *operator.Record, partitions int32, next *int32) int32 {
	switch {
	case r.Partition >= 0:
		return r.Partition
	case r.Key == nil:
		*next = (*next + 1) % partitions
		return *next
	}
	return int32(crc32.Checksum(r.Key, castagnoli) % uint32(partitions))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Barrier ends the epoch of checkpoint n.
func (w *Writer) Barrier(n id.Checkpoint, done func([]token.Token)) {
	w.barriers = append(w.barriers, barrierDone{n, done})
	w.step(BarrierReached{n, w.nowMs()})
}

// Commit sends the commit of a token.
func (w *Writer) Commit(t token.Token, done func(operator.CommitResult)) {
	w.commits = append(w.commits, commitDone{t, done})
	w.step(CommitAsked{t})
}

// Freed takes the ids of checkpoint n out of quarantine.
func (w *Writer) Freed(n id.Checkpoint) {
	if w.pool != nil {
		w.step(CheckpointFreed{n})
	}
}

// Close stops the writer. A clean stop aborts the open transaction, so that readers need not wait for its timeout; prepared
// ones belong to the JobManager.
func (w *Writer) Close(clean bool) {
	if w.closed {
		return
	}
	w.closed = true
	if clean && w.producer != nil && w.producer.Used() {
		abortLater(w.ctx.Process, w.producer.Identity())
	}
	for _, p := range w.producers {
		if p != nil {
			p.Close()
		}
	}
}

// abortLimit is how long a clean stop tries to abort; after that the transaction's timeout does it, or a restore.
const abortLimit = 5 * time.Second

// abortLater aborts on a loop of its own, since the task's ends with it. Nobody begins another transaction with this
// identity, so an abort that arrives late or twice harms nobody.
func abortLater(p *proc.Process, who kafka.Identity) {
	loop := p.NewLoop("abort")
	client := kafka.New(kafka.Config{Process: p, Loop: loop, RequestTimeout: abortLimit, ReadTimeout: abortLimit})
	loop.Post(func() {
		retrying(loop, p, p, uint64(who.ProducerID), abortLimit, func(again func()) {
			client.EndTxn(who, false, func(_ kafka.Identity, code kafka.Code, err error) {
				if c := ClassifyEnd(code, err); c == EndAgain || c == EndElsewhere {
					again()
					return
				}
				loop.Close()
			})
		}, loop.Close)
	})
}

func (w *Writer) nowMs() int64 { return w.ctx.Process.Wall().UnixMilli() }

func (w *Writer) pass(p hook.Point, n id.Checkpoint) {
	w.ctx.Process.Hook(hook.Event{Point: p, Generation: w.ctx.Generation, Checkpoint: n, Subtask: w.ctx.Subtask})
}

func (w *Writer) step(fact any) {
	if w.closed {
		return
	}
	for _, e := range w.pool.Step(fact) {
		w.perform(e)
	}
}

func (w *Writer) perform(e any) {
	switch e := e.(type) {
	case PrepareID:
		w.prepareID(e)
	case BeginTransaction:
		w.begin(e)
	case SealEpoch:
		w.seal(e)
	case SnapshotTokens:
		w.ctx.Loop.Post(func() { w.snapshot(e) })
	case SendCommit:
		w.sendCommit(e.Token)
	case ReportCommit:
		w.ctx.Loop.Post(func() { w.report(e.Result) })
	case ReachedInPool:
		w.ctx.Process.Reached(e.Probe)
	case FailTask:
		w.fail(fmt.Errorf("sink %s: %s", w.ctx.Operator, e.Reason))
	default:
		invariant.Check(false, "sink %s: unknown effect %T", w.ctx.Operator, e)
	}
}

func (w *Writer) fail(err error) {
	if w.closed {
		return
	}
	if w.opened != nil {
		w.open(err)
		return
	}
	w.ctx.Fail(err)
}

func (w *Writer) begin(e BeginTransaction) {
	for int32(len(w.producers)) <= e.Number {
		w.producers = append(w.producers, nil)
	}
	w.producer = w.client.NewProducer(kafka.ProducerConfig{
		Identity: e.Identity, Linger: w.k.Linger, DeliveryTimeout: w.k.DeliveryTimeout, Compression: w.k.Compression, Wake: w.wake,
	})
	w.producers[e.Number] = w.producer
	w.watchAge(e.Number, e.Identity)
}

// wake is called by a producer that has room again or has failed.
func (w *Writer) wake() {
	if w.closed {
		return
	}
	for _, p := range w.producers {
		if p == nil {
			continue
		}
		if err := p.Err(); err != nil && w.recordFailed(err) != nil {
			w.step(PoolBroken{err.Error()})
			return
		}
	}
	w.ctx.Wake()
}

func (w *Writer) snapshot(e SnapshotTokens) {
	for i, b := range w.barriers {
		if b.checkpoint == e.Checkpoint {
			w.barriers = append(w.barriers[:i], w.barriers[i+1:]...)
			w.pass(hook.K4TokenRecorded, e.Checkpoint)
			b.done(e.Tokens)
			return
		}
	}
}

func (w *Writer) report(r operator.CommitResult) {
	var dones []func(operator.CommitResult)
	rest := w.commits[:0]
	for _, c := range w.commits {
		if Same(c.token, r.Token) {
			dones = append(dones, c.done)
		} else {
			rest = append(rest, c)
		}
	}
	w.commits = rest
	for _, d := range dones {
		d(r)
	}
}
