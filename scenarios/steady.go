package scenarios

import (
	"encoding/binary"
	"time"

	"github.com/onefold/onefold/sim/simbroker"
)

// generateSecond writes one second of a steady stream: each partition gets its rate in one batch, at every full second.
// Where a source stands at a barrier between two seconds then follows from rates and first offsets alone.
func (w *World) generateSecond() {
	g := &w.generated
	perSecond := int64(0)
	for _, r := range w.Shape.Rates {
		perSecond += r * int64(len(w.Job.Inputs))
	}
	if (g.seconds+1)*perSecond > int64(w.Shape.Records) {
		g.ended = true
		return
	}
	g.seconds++
	for _, topic := range w.Job.Inputs {
		for p := range w.Shape.Rates {
			w.generateSteady(topic, p)
		}
	}
	w.Sim.At(w.Sim.Now().Add(time.Second), w.generateSecond)
}

func (w *World) generateSteady(topic string, p int) {
	var batch []simbroker.Record
	now := w.Sim.Wall().UnixMilli()
	for int64(len(batch)) < w.Shape.Rates[p] {
		key, value := w.steadyRecord(topic, p)
		batch = append(batch, simbroker.Record{Key: key, Value: value, Time: now})
	}
	if len(batch) > 0 {
		w.Cluster.Append(topic, int32(p), batch)
	}
}

// steadyRecord is the next record whose key belongs to the partition, so that a key stays where it is.
func (w *World) steadyRecord(topic string, p int) (key, value []byte) {
	cursor := &w.generated.cursors[p]
	for {
		key, value = w.Job.Input(topic, *cursor, uint64(w.Shape.Accounts))
		*cursor++
		if binary.BigEndian.Uint64(key)%uint64(w.Shape.Partitions) == uint64(p) {
			return key, value
		}
	}
}
