package checker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// damage is one thing that can go wrong with a clean run, and the verdict that must come of it.
type damage struct {
	name string
	want Verdict
	do   func(h *History, at int) bool // false: not applicable to that output
}

// outputs of a history in the order in which payments made them: record 2i+1 is the output of input 2i.
func outputOf(h *History, at int) (*Record, *Read) { return &h.Records[2*at+1], &h.Reads[at] }

var damages = []damage{
	{"an output is lost with its offset", Gap, func(h *History, at int) bool {
		r, _ := outputOf(h, at)
		h.Controls = append(h.Controls, Control{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset})
		h.Records = slices.Delete(h.Records, 2*at+1, 2*at+2)
		h.Reads = slices.Delete(h.Reads, at, at+1)
		return true
	}},
	{"an output's transaction is aborted", Gap, func(h *History, at int) bool {
		r, _ := outputOf(h, at)
		p, e := r.ProducerID, r.ProducerEpoch
		for i := range h.Records {
			if x := &h.Records[i]; x.Outcome == Committed && x.ProducerID == p && x.ProducerEpoch == e {
				x.Outcome = Aborted
			}
		}
		h.Reads = slices.DeleteFunc(h.Reads, func(x Read) bool {
			t := newIndex(h).record(x.Topic, x.Partition, x.Offset)
			return t.Outcome == Aborted
		})
		return true
	}},
	{"a reader sees an aborted record", AbortedRead, func(h *History, at int) bool {
		r, _ := outputOf(h, at)
		r.Outcome = Aborted
		return true
	}},
	{"an output is written again at the end", Dup, func(h *History, at int) bool {
		r, d := h.Records[2*at+1], h.Reads[at]
		for i := range h.Partitions {
			if p := &h.Partitions[i]; p.Topic == r.Topic && p.Partition == r.Partition {
				r.Offset, d.Offset = p.High, p.High
				p.High, p.Stable = p.High+1, p.Stable+1
			}
		}
		h.Records, h.Reads = append(h.Records, r), append(h.Reads, d)
		return true
	}},
	{"a total is wrong", State, func(h *History, at int) bool {
		r, d := outputOf(h, at)
		r.Values[0]++
		d.Values[0]++
		return true
	}},
	{"two outputs of a key change places", Reorder, func(h *History, at int) bool {
		other := at + 100 // the next one of the same key
		if other >= len(h.Reads) {
			return false
		}
		r, d := outputOf(h, at)
		q, e := outputOf(h, other)
		r.Event, q.Event = q.Event, r.Event
		d.Event, e.Event = e.Event, d.Event
		return true
	}},
	{"an output does not decode", Vacuous, func(h *History, at int) bool {
		r, d := outputOf(h, at)
		r.Event, d.Event = Event{Undecoded: true, Key: NoKey, Number: -1}, Event{Undecoded: true, Key: NoKey, Number: -1}
		return true
	}},
	{"an input turns out to be aborted", AbortedRead, func(h *History, at int) bool {
		h.Records[2*at].Outcome = Aborted
		return true
	}},
	{"a partition is held back", Stall, func(h *History, at int) bool {
		r, _ := outputOf(h, at)
		for i := range h.Partitions {
			if p := &h.Partitions[i]; p.Topic == r.Topic && p.Partition == r.Partition {
				p.Stable--
			}
		}
		return true
	}},
	{"half a transaction is aborted", Torn, func(h *History, at int) bool {
		r, _ := outputOf(h, at)
		r.Outcome = Aborted
		h.Reads = slices.Delete(h.Reads, at, at+1)
		n := 0
		for i := range h.Records {
			if x := &h.Records[i]; x.Outcome == Committed && x.ProducerID == r.ProducerID && x.ProducerEpoch == r.ProducerEpoch {
				n++
			}
		}
		return n > 0
	}},
}

// Whatever goes wrong in a large clean history, wherever it does, is seen as what it is.
func TestDamageAnywhereIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 900).Draw(t, "records")
		at := rapid.IntRange(0, n-1).Draw(t, "where")
		d := damages[rapid.IntRange(0, len(damages)-1).Draw(t, "damage")]
		h := payments(n)
		if r := Check(h, sums{}, Options{Complete: true}); r.Verdict != Clean {
			t.Fatalf("not clean before:\n%s", printReport(r))
		}
		if !d.do(h, at) {
			return
		}
		if r := Check(h, sums{}, Options{Complete: true}); !slices.Contains(r.Verdicts, d.want) {
			t.Fatalf("%s (record %d of %d): wanted %s, got\n%s", d.name, at, n, d.want, printReport(r))
		}
	})
}
