package simbroker

import (
	"fmt"
	"testing"
	"time"
)

// While a state is being written, releases from 4.0 on answer "concurrent" to everybody who adds a partition, and older ones
// tell strangers first that the id is not theirs: a client that takes either for the end gives up where it must wait.
func TestAddWhileAStateIsWritten(t *testing.T) {
	for _, c := range []struct {
		profile         string
		stranger, stale int16
	}{
		{"k37", invalidProducerID, producerFenced},
		{"k39", invalidProducerID, producerFenced},
		{"k400", concurrentTransactions, concurrentTransactions},
		{"k44-tv1", concurrentTransactions, concurrentTransactions},
	} {
		r := newRig(t, 1, c.profile, func(c *Config) { c.TxnAppend = Span{time.Second, time.Second} })
		x := r.init("a")
		equal(t, c.profile+" add", r.add(x, 0), ok)
		equal(t, c.profile+" end", r.end(3, x, true).ErrorCode, ok) // its completion is being written now
		equal(t, c.profile+" stranger", r.add(identity{"a", x.pid + 1, x.epoch}, 1), c.stranger)
		equal(t, c.profile+" other epoch", r.add(identity{"a", x.pid, x.epoch + 1}, 1), c.stale)
		equal(t, c.profile+" owner", r.add(x, 1), concurrentTransactions)
		r.settle()
	}
}

// The first batch after a commit comes while its markers are under way. A leader waits for them a tenth of a second, and only
// then lets the client know.
func TestLeaderRepeatsAConcurrentAdd(t *testing.T) {
	for _, profile := range []string{"k400", "k44"} {
		for _, c := range []struct {
			marker time.Duration
			code   int16
		}{{60 * time.Millisecond, ok}, {400 * time.Millisecond, concurrentTransactions}} {
			r := newRig(t, 1, profile, func(f *Config) { f.Marker = Span{c.marker, c.marker} })
			x := r.open("a", 12)
			e := r.end(5, x, true)
			equal(t, profile+" end", e.ErrorCode, ok)
			next := identity{"a", e.ProducerID, e.ProducerEpoch}
			code, _ := r.produce(12, next, 1, batchOf(next, 0, true, "y"))
			equal(t, fmt.Sprintf("%s, markers after %v", profile, c.marker), code, c.code)
			if code == ok {
				equal(t, profile+" next end", r.end(5, next, true).ErrorCode, ok)
			}
			r.settle()
		}
	}
}
