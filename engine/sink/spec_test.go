package sink

import (
	"testing"

	"github.com/onefold/onefold/engine/kafka"
)

// If this failed, a restore could use up the epochs of an id that has something open.
func TestSpent(t *testing.T) {
	for _, c := range []struct {
		highest, epoch int16
		want           bool
	}{
		{0, 0, false},
		{0, 32767 - spareEpochs - 1, false},
		{0, 32767 - spareEpochs, true},
		{0, 32766, true},
		{spareEpochs + 5, 4, false},
		{spareEpochs + 5, 5, true},
		{spareEpochs, 5, false}, // a cluster that has fewer in all
	} {
		if got := (Kafka{MaxEpoch: c.highest}).spent(kafka.Identity{ProducerEpoch: c.epoch}); got != c.want {
			t.Errorf("epoch %d of %d: %v", c.epoch, c.highest, got)
		}
	}
}
