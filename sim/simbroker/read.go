package simbroker

import "sort"

// find is the index of the first batch that ends at or above an offset.
func (l *log) find(offset int64) int {
	n := len(l.batches)
	if n > 0 && l.batches[n-1].last < offset {
		return n
	}
	return sort.Search(n, func(i int) bool { return l.batches[i].last >= offset })
}

// read is the batches from offset on that end below limit: as many as maxBytes hold, but at least one. end is the offset
// behind them.
func (l *log) read(offset, limit int64, maxBytes int) (b []byte, end int64) {
	i := l.find(offset)
	if i == len(l.batches) || l.batches[i].last >= limit {
		return nil, offset
	}
	first, from := i, l.batches[i].at
	to := from
	for ; i < len(l.batches) && l.batches[i].last < limit; i++ {
		next := l.batches[i].at + l.batches[i].size
		if to > from && next-from > maxBytes {
			break
		}
		to, end = next, l.batches[i].last+1
	}
	return l.span(l.batches[first:i]), end
}

// indexInterval is how many bytes of log lie between two entries of a real broker's offset index. The list of aborted
// transactions is cut there, not at the end of the returned batches.
const indexInterval = 4096

// abortedFor appends the aborted transactions that a reader of [offset, end) must know, and some above, even of what lies
// beyond the last stable offset.
func (l *log) abortedFor(out []abortedTxn, offset, end int64) []abortedTxn {
	upper := l.leo
	if i := l.find(end); i < len(l.batches) {
		for from := l.batches[i].at; i < len(l.batches); i++ {
			if l.batches[i].at-from >= indexInterval {
				upper = min(upper, l.batches[i].base)
				break
			}
		}
	}
	i := sort.Search(len(l.aborted), func(i int) bool { return l.aborted[i].marker >= offset })
	for ; i < len(l.aborted); i++ {
		if l.aborted[i].first < upper {
			out = append(out, l.aborted[i])
		}
	}
	return out
}

// offsetForTime is the first offset below limit whose batch has a record of this time or later; -1 if there is none.
func (l *log) offsetForTime(t, limit int64) (offset, at int64) {
	var records []Logged
	for i := range l.batches {
		b := &l.batches[i]
		if b.last >= limit {
			break
		}
		if b.maxTime < t || b.last < l.start || b.size == 0 {
			continue
		}
		records = readRecords(records[:0], l.bytes(b))
		for j := range records {
			if records[j].Record.Time >= t && records[j].Offset >= l.start {
				return records[j].Offset, records[j].Record.Time
			}
		}
	}
	return -1, -1
}
