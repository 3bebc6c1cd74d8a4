package kafka

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// abortedList decides which batches of one answer belong to aborted transactions. The broker names, with each answer, the
// aborted transactions that touch it; a transaction's batches count from its first offset to its ABORT marker.
type abortedList struct {
	coming []AbortedTxn // ascending by first offset
	inside []int64      // producer ids whose aborted transaction has begun
}

func newAbortedList(txns []kmsg.FetchResponseTopicPartitionAbortedTransaction) abortedList {
	var l abortedList
	for _, t := range txns {
		l.coming = append(l.coming, AbortedTxn{t.ProducerID, t.FirstOffset})
	}
	slices.SortStableFunc(l.coming, func(a, b AbortedTxn) int { return cmp.Compare(a.First, b.First) })
	return l
}

// skips folds in the batch that it stands on and reports whether its records are aborted. Batches must come in order; the
// same one may come again.
func (l *abortedList) skips(it *Batches) bool {
	b := &it.Batch
	if b.ProducerID < 0 {
		return false
	}
	for len(l.coming) > 0 && l.coming[0].First <= b.LastOffset {
		if !slices.Contains(l.inside, l.coming[0].ProducerID) {
			l.inside = append(l.inside, l.coming[0].ProducerID)
		}
		l.coming = l.coming[1:]
	}
	if len(l.inside) == 0 {
		return false
	}
	i := slices.Index(l.inside, b.ProducerID)
	if i < 0 {
		return false
	}
	if b.Control {
		if commit, ok := it.Marker(); ok && !commit {
			l.inside = slices.Delete(l.inside, i, i+1)
		}
		return false
	}
	return b.Transactional
}
