package sink

import (
	"fmt"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// prepareID makes an id usable: its lane is read, seeded where its value is missing or old, and then the id initialised.
func (w *Writer) prepareID(e PrepareID) {
	w.readLane(e, func(lane token.Lane, laneAtMs int64) {
		w.initialise(e, func(who kafka.Identity) {
			w.step(IDReady{e.Number, who, lane, laneAtMs})
			w.open(nil)
			if !w.closed {
				w.ctx.Wake()
			}
		})
	})
}

// readLane reads until the lane is stable and young enough. While a transaction is pending on the lane (a zombie's) it is
// never seeded: a plain commit would win over the marker.
func (w *Writer) readLane(e PrepareID, done func(token.Lane, int64)) {
	group := Group(w.ctx.Job, w.ctx.Operator)
	tp := id.TopicPartition{Topic: MarkerTopic(w.ctx.Job), Partition: e.Partition}
	w.repeat(uint64(e.Number)<<8|1, func(again func()) {
		w.client.OffsetFetch(group, []id.TopicPartition{tp}, true, func(offsets []kafka.Offset, code kafka.Code, err error) {
			if w.closed {
				return
			}
			if err == nil && code == kafka.OK && len(offsets) == 1 {
				code = offsets[0].Code
			}
			switch {
			case err == nil && code == kafka.OK:
				o := offsets[0]
				age := laneAge(o.Metadata, w.nowMs())
				if o.Offset < 0 || age > w.k.reseedAfter() {
					w.seed(group, tp, again)
					return
				}
				done(token.Lane{Partition: e.Partition, Value: o.Offset, Metadata: o.Metadata}, w.nowMs()-age.Milliseconds())
			case code == kafka.UnstableOffsetCommit && err == nil:
				w.ctx.Process.Reached(UnstableWaited)
				again()
			case repeatable(code, err) || code == kafka.GroupIDNotFound:
				if err == nil && code == kafka.GroupIDNotFound {
					w.seed(group, tp, again)
					return
				}
				again()
			default:
				w.step(PoolBroken{fmt.Sprintf("lane %d of %s: %v", e.Partition, group, code)})
			}
		})
	})
}

func (w *Writer) seed(group string, tp id.TopicPartition, again func()) {
	o := kafka.Offset{Topic: tp.Topic, Partition: tp.Partition, Offset: 0, Metadata: seedMetadata(w.ctx.Job, w.ctx.Generation, w.nowMs())}
	w.client.OffsetCommit(group, []kafka.Offset{o}, func(code kafka.Code, err error) {
		switch {
		case w.closed:
		case err == nil && code == kafka.OK, repeatable(code, err):
			again() // and read what the lane really says
		default:
			w.step(PoolBroken{fmt.Sprintf("seed of lane %d of %s: %v", tp.Partition, group, code)})
		}
	})
}

// initialise gets an identity to write with. One whose epochs are nearly spent is initialised again until the coordinator moves
// the id to another producer id, now, while nothing of it is open anywhere.
func (w *Writer) initialise(e PrepareID, done func(kafka.Identity)) {
	w.repeat(uint64(e.Number)<<8|2, func(again func()) {
		w.client.InitProducerID(e.ID, w.k.transactionTimeout(), w.protocol, func(who kafka.Identity, code kafka.Code, err error) {
			switch {
			case w.closed:
			case err == nil && code == kafka.OK && w.k.spent(who):
				w.ctx.Process.Reached(IDSpent)
				w.initialise(e, done)
			case err == nil && code == kafka.OK:
				done(who)
			case repeatable(code, err):
				again()
			default:
				w.step(PoolBroken{fmt.Sprintf("initialise %s: %v", e.ID, code)})
			}
		})
	})
}

// seal writes the marker, then flushes. Any error fails the task: a commit without its marker would answer success all
// the same, and a record that failed must not be missing from a checkpoint that completes.
func (w *Writer) seal(e SealEpoch) {
	producer := w.producers[e.Number]
	if w.rules.Sealed() {
		w.freeze(producer)
	}
	w.mark(e, func() {
		w.freeze(producer)
		producer.Flush(func(err error) {
			if w.closed {
				return
			}
			if err != nil && w.recordFailed(err) != nil {
				w.step(PoolBroken{fmt.Sprintf("checkpoint %d: %v", e.Checkpoint, err)})
				return
			}
			w.pass(hook.K3WriterFlushed, e.Checkpoint)
			ranges := producer.Ranges()
			producer.Close() // frozen: nothing is produced with this identity any more
			w.producers[e.Number] = nil
			w.sealing = false
			w.step(EpochSealed{e.Number, ranges})
			w.ctx.Wake()
		})
	})
}

// freeze ends the writing with a producer. The next transaction begins when this one is flushed.
func (w *Writer) freeze(producer *kafka.Producer) {
	if w.producer == producer {
		w.producer = nil
	}
	w.sealing = true
}

func (w *Writer) mark(e SealEpoch, done func()) {
	group := Group(w.ctx.Job, w.ctx.Operator)
	marks := []kafka.Offset{{Topic: MarkerTopic(w.ctx.Job), Partition: e.Partition, Offset: int64(e.Checkpoint), Metadata: e.Metadata}}
	what := uint64(e.Number)<<8 | 3
	settle := func(again, ok func()) func(kafka.Code, error) {
		return func(code kafka.Code, err error) {
			switch {
			case w.closed:
			case err == nil && code == kafka.OK:
				ok()
			case retryMarker(code, err):
				again()
			default:
				w.step(PoolBroken{fmt.Sprintf("marker of checkpoint %d: %v", e.Checkpoint, code)})
			}
		}
	}
	commit := func() {
		w.repeat(what, func(again func()) { w.client.TxnOffsetCommit(e.Identity, group, marks, settle(again, done)) })
	}
	if w.protocol >= 5 {
		commit()
		return
	}
	w.repeat(what, func(again func()) { w.client.AddOffsetsToTxn(e.Identity, group, settle(again, commit)) })
}

// retryMarker reports whether a marker is worth another try: only where nothing says that it cannot be written. A missing
// partition is an error and no wait, since a restore made sure that every broker knows every lane.
func retryMarker(code kafka.Code, err error) bool {
	return repeatable(code, err) && code != kafka.UnknownTopicOrPartition && code != kafka.UnknownTopicID
}

// repeat repeats a try until the task ends; after the transaction timeout there is nothing left to win.
func (w *Writer) repeat(what uint64, try func(again func())) {
	what |= uint64(w.ctx.Subtask.Index) << 32
	retrying(w.ctx.Loop, w.ctx.Process, w.ctx.Process, what, w.k.transactionTimeout(), func(again func()) {
		if !w.closed {
			try(again)
		}
	}, func() { w.step(PoolBroken{"the broker did not answer for a whole transaction timeout"}) })
}

// sendCommit repeats EndTxn under the token's frozen identity until the outcome is known.
func (w *Writer) sendCommit(t token.Token) {
	lost := false
	retrying(w.ctx.Loop, w.ctx.Process, w.ctx.Process, uint64(t.Checkpoint)<<8|4|uint64(w.ctx.Subtask.Index)<<32, forever, func(again func()) {
		if w.closed {
			return
		}
		if lost {
			w.ctx.Process.Reached(EndTxnRepeated)
		}
		w.client.EndTxn(Identity(t), true, func(_ kafka.Identity, code kafka.Code, err error) {
			if w.closed {
				return
			}
			w.pass(hook.K13ReplyReceived, t.Checkpoint)
			lost = lostReply(err)
			switch ClassifyEnd(code, err) {
			case EndOK:
				w.step(CommitEnded{operator.CommitResult{Token: t, State: operator.Committed}})
			case EndAgain, EndElsewhere:
				again()
			case EndResolve:
				w.step(CommitEnded{operator.CommitResult{Token: t, State: operator.Refused, Reason: code.String()}})
			default:
				w.step(CommitEnded{operator.CommitResult{Token: t, State: operator.Unauthorized, Reason: code.String()}})
			}
		})
		w.pass(hook.K9EndTxnSent, t.Checkpoint)
	}, func() {})
}
