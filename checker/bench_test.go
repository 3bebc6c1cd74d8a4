package checker

import "testing"

// payments makes a clean history of n records over 4 partitions, 100 keys, one transaction per partition and 200 records.
func payments(n int) *History {
	h := NewHistory()
	in, out := h.AddTopic("payments", Input, 4), h.AddTopic("totals", Output, 4)
	h.AddReader("final", true)
	var key [1]byte
	var totals [100]int64
	var next, ends [4]int64
	for i := range n {
		k := i * 7 % 100
		p := int32(k % 4)
		key[0] = byte(k)
		o := next[p]
		next[p]++
		h.Records = append(h.Records, Record{
			Topic: in, Partition: p, Offset: o, ProducerID: -1,
			Event: Event{Key: h.Key(key[:]), Number: int64(i), Values: Values{int64(i)}},
		})
		totals[k] += int64(i)
		e := Event{Key: h.Key(key[:]), Number: -1, Values: Values{totals[k]}}
		h.Source(&e, Source{in, Numbered, int64(i)})
		h.Records = append(h.Records, Record{Topic: out, Partition: p, Offset: ends[p], Outcome: Committed, ProducerID: int64(p), ProducerEpoch: int16(o / 200), Event: e})
		h.Reads = append(h.Reads, Read{Topic: out, Partition: p, Offset: ends[p], At: int64(i), Event: e})
		if ends[p]++; o%200 == 199 {
			h.Controls = append(h.Controls, Control{out, p, ends[p], int64(p), int16(o / 200), true})
			ends[p]++
		}
	}
	for p := range int32(4) {
		h.Partitions = append(h.Partitions, Partition{in, p, 0, next[p], next[p], false}, Partition{out, p, 0, ends[p], ends[p], false})
	}
	h.Claims = []Claim{{Kind: CheckpointCompleted, Checkpoint: 1}, {Kind: CheckpointConfirmed, Checkpoint: 1}}
	return h
}

func TestLargeHistoryIsClean(t *testing.T) {
	r := Check(payments(6000), sums{}, Options{Complete: true})
	if r.Verdict != Clean || r.Compared.Records != 6000 || r.Compared.Transactions < 30 {
		t.Errorf("%s%+v", printReport(r), r.Compared)
	}
}

// A record of 6,000 that is missing, doubled or swapped is found, wherever it is.
func TestOneOfManyIsFound(t *testing.T) {
	for _, at := range []int{0, 3000, 5999} {
		h := payments(6000)
		h.Reads = append(h.Reads[:at], h.Reads[at+1:]...)
		if r := Check(h, sums{}, Options{Complete: true}); r.Verdict != Gap {
			t.Errorf("read %d taken out: %s", at, r.Verdict)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	h := payments(6000)
	b.ReportAllocs()
	for range b.N {
		if r := Check(h, sums{}, Options{Complete: true}); r.Verdict != Clean {
			b.Fatal(r.Verdict)
		}
	}
}
