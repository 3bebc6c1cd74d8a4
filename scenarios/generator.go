package scenarios

import (
	"encoding/binary"
	"time"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/sim/simbroker"
)

const (
	drawHold env.Kind = env.KindScenario + iota
	drawHoldFor
	drawAbort
	drawProfile
	drawMaxEpoch
	drawRolling
	drawReplication
	drawAppendTime
)

const tick = 50 * time.Millisecond

// generator writes the input topics over virtual time, straight into the logs: it is a producer that no fault touches.
// Some batches are transactions that stay open for a while or are aborted and written again, so that inputs have gaps,
// control records, and a last stable offset below their end.
type generator struct {
	made    int // records of each topic so far
	open    int // transactions that are open
	ended   bool
	batches uint64
	cursors []uint64 // of a steady stream: number of the next record, by partition
	seconds int64    // of a steady stream: written so far
	scratch [][]simbroker.Record
}

func (w *World) generate() {
	if len(w.Shape.Rates) > 0 {
		w.generated.cursors = append(w.generated.cursors, make([]uint64, w.Shape.Partitions-len(w.generated.cursors))...)
		w.Sim.At(env.Instant(time.Second), w.generateSecond)
		return
	}
	w.Sim.At(env.Instant(generatorBegins), w.generateTick)
}

func (w *World) generateTick() {
	g := &w.generated
	elapsed := time.Duration(w.Sim.Now()) - generatorBegins + tick
	until := int(int64(w.Shape.Records) * int64(elapsed) / int64(w.Shape.Burn-generatorBegins))
	until = min(until, w.Shape.Records)
	perTopic := until / len(w.Job.Inputs)
	if perTopic > g.made {
		for _, topic := range w.Job.Inputs {
			w.generateBatches(topic, g.made, perTopic)
		}
		g.made = perTopic
	}
	if until < w.Shape.Records {
		w.Sim.At(w.Sim.Now().Add(tick), w.generateTick)
		return
	}
	g.ended = true
}

// generateBatches writes the records from up to, not including, to: one batch per partition.
func (w *World) generateBatches(topic string, from, to int) {
	if len(w.generated.scratch) == 0 {
		w.generated.scratch = make([][]simbroker.Record, w.Shape.Partitions)
	}
	batches := w.generated.scratch
	now := w.Sim.Wall().UnixMilli()
	for seq := from; seq < to; seq++ {
		key, value := w.Job.Input(topic, uint64(seq), uint64(w.Shape.Accounts))
		p := int(binary.BigEndian.Uint64(key) % uint64(w.Shape.Partitions))
		batches[p] = append(batches[p], simbroker.Record{Key: key, Value: value, Time: now})
	}
	for p, batch := range batches {
		if len(batch) > 0 {
			w.generateBatch(topic, int32(p), batch)
			batches[p] = batch[:0]
		}
	}
}

func (w *World) generateBatch(topic string, p int32, batch []simbroker.Record) {
	g := &w.generated
	g.batches++
	if w.Sim.Draw(drawAbort, g.batches, 0, 0)%64 == 0 {
		w.Cluster.AppendTxn(topic, p, batch, false) // a producer that failed, and wrote them again
	}
	switch w.Sim.Draw(drawHold, g.batches, 0, 0) % 32 {
	case 0:
		_, end := w.Cluster.OpenTxn(topic, p, batch)
		g.open++
		hold := time.Duration(w.Sim.Draw(drawHoldFor, g.batches, 0, 0)%700) * time.Millisecond
		w.Sim.At(w.Sim.Now().Add(hold), func() {
			end(true)
			g.open--
		})
	case 1:
		w.Cluster.AppendTxn(topic, p, batch, true)
	default:
		w.Cluster.Append(topic, p, batch)
	}
}
