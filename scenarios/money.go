package scenarios

import (
	"fmt"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
)

// readers tells what a read_committed reader saw, epoch by epoch, and where it had to wait.
func (s *story) readers() {
	s.watch()
	for i, x := range s.shown {
		if x.epoch == 0 {
			return // without transactions output trickles
		}
		since := max(s.triggered(x.epoch-1), s.zero)
		what := fmt.Sprintf("a reader sees epoch %d: %s records of %s, at once", x.epoch, thousands(int64(x.records)),
			seconds(time.Duration(s.triggered(x.epoch)-since)))
		if i > 0 {
			what += fmt.Sprintf(", after a pause of %s", seconds(time.Duration(x.at-s.shown[i-1].at)))
		}
		s.line(x.at, "%s", what)
	}
}

// watch folds what the reader saw into moments and epochs.
func (s *story) watch() {
	h := s.w.History
	type place struct {
		topic     int16
		partition int32
		offset    int64
	}
	epochs := map[place]id.Checkpoint{}
	for i := range h.Records {
		r := &h.Records[i]
		epochs[place{r.Topic, r.Partition, r.Offset}] = s.epoch[producer{r.ProducerID, r.ProducerEpoch}]
	}
	first := map[id.Checkpoint]int{} // index into shown
	for i := range h.Reads {
		r := &h.Reads[i]
		n := epochs[place{r.Topic, r.Partition, r.Offset}]
		if n == 0 && s.triggered(s.last) > env.Instant(r.At) {
			continue // of the past
		}
		at, ok := first[n]
		if !ok {
			at = len(s.shown)
			first[n] = at
			s.shown = append(s.shown, showing{at: env.Instant(r.At), epoch: n})
		}
		s.shown[at].records++
	}
}

// money adds up what went in and what a reader saw come out.
func (s *story) money() {
	m := s.w.Money()
	fmt.Fprintf(&s.b, "  money     in %s in %s records, out %s in %s records\n", thousands(m.In), thousands(m.Inputs), thousands(m.Out), thousands(m.Outputs))
	if m.Doubled > 0 {
		fmt.Fprintf(&s.b, "  doubled   %s: %s records are visible more than once\n", thousands(m.Doubled), thousands(m.DoubledRecords))
	}
	if m.Dropped > 0 {
		fmt.Fprintf(&s.b, "  dropped   %s: %s records are visible nowhere\n", thousands(m.Dropped), thousands(m.DroppedRecords))
	}
}

// Money is the sum of amounts on both sides of a job that makes one output of each input, and what is wrong between them.
type Money struct {
	Inputs, Outputs                int64
	In, Out                        int64
	Doubled, Dropped               int64
	DoubledRecords, DroppedRecords int64
}

// Money adds up the inputs that count, once each time that a reader saw an output of them.
func (w *World) Money() Money {
	h := w.History
	seen := map[checker.Source]int64{}
	for i := range h.Reads {
		for _, src := range h.Sources(&h.Reads[i].Event) {
			seen[src]++
		}
	}
	var m Money
	for i := range h.Records {
		r := &h.Records[i]
		if h.Topics[r.Topic].Role != checker.Input || r.Outcome != checker.Plain && r.Outcome != checker.Committed {
			continue
		}
		n, amount := seen[checker.Source{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}], r.Values[0]
		m.Inputs, m.Outputs = m.Inputs+1, m.Outputs+n
		m.In, m.Out = m.In+amount, m.Out+n*amount
		switch {
		case n == 0:
			m.Dropped, m.DroppedRecords = m.Dropped+amount, m.DroppedRecords+1
		case n > 1:
			m.Doubled, m.DoubledRecords = m.Doubled+(n-1)*amount, m.DoubledRecords+1
		}
	}
	return m
}
