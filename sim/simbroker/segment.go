package simbroker

import "time"

// segment is a piece of a log that is deleted or compacted as a whole. The last one of a log is active.
type segment struct {
	base      int64
	at        int   // bytes of the log before it
	firstTime int64 // largest timestamp of its first batch
	maxTime   int64
}

// rolls says when a log begins a new segment.
type rolls struct {
	bytes int
	ms    int64
}

var defaultRolls = rolls{bytes: 1 << 30, ms: week.Milliseconds()}

const week = 7 * 24 * time.Hour

// roll begins a new segment if the batch that is about to be appended asks for one: as in Kafka, by size, or by how far its
// timestamps are ahead of those of the segment's first batch.
func (l *log) roll(base int64, at, size int, maxTime int64) {
	if n := len(l.segments); n > 0 {
		s := &l.segments[n-1]
		switch {
		case base == s.base:
			s.firstTime, s.maxTime = maxTime, maxTime
			return
		case at+size-s.at <= l.rolls.bytes && maxTime-s.firstTime <= l.rolls.ms:
			s.maxTime = max(s.maxTime, maxTime)
			return
		}
	}
	l.segments = append(l.segments, segment{base: base, at: at, firstTime: maxTime, maxTime: maxTime})
}

// rollNow begins a new segment with whatever comes next.
func (l *log) rollNow() {
	if n := len(l.segments); n > 0 && l.segments[n-1].base < l.leo {
		l.segments = append(l.segments, segment{base: l.leo, at: l.size, firstTime: -1, maxTime: -1})
	}
}

// active is the base offset of the active segment.
func (l *log) active() int64 {
	if n := len(l.segments); n > 0 {
		return l.segments[n-1].base
	}
	return l.start
}

// deleteBefore moves the start of the log, and drops the batches that lie before it. What they said of producers stays.
func (l *log) deleteBefore(offset int64) {
	l.start = max(l.start, offset)
	n := 0
	for n < len(l.batches) && l.batches[n].last < l.start {
		n++
	}
	if n > 0 {
		l.sink(l.batches[:n])
		l.batches = l.batches[n:]
	}
	n = 0
	for n < len(l.aborted) && l.aborted[n].marker < l.start {
		n++
	}
	l.aborted = l.aborted[n:]
	n = 0
	for n+1 < len(l.segments) && l.segments[n+1].base <= l.start {
		n++
	}
	l.segments = l.segments[n:]
}

// sink takes batches that are about to go into the floor.
func (l *log) sink(gone []batch) {
	if l.floor == nil {
		f := newLedger()
		l.floor = &f
	}
	for i := range gone {
		l.floor.replay(&gone[i], l.bytes(&gone[i]), l.hw)
	}
	l.floor.closing, l.floor.aborted = nil, nil
}

// expired is the offset below which segments are older than retention allows: none of their records has a timestamp at or
// after the limit. Transactions do not matter; what is not replicated stays.
func (l *log) expired(limit int64) int64 {
	start := l.start
	for i := range l.segments {
		end := l.leo
		if i+1 < len(l.segments) {
			end = l.segments[i+1].base
		}
		if l.segments[i].maxTime >= limit || end > l.hw || l.segments[i].base >= end {
			break
		}
		start = end
	}
	return start
}
