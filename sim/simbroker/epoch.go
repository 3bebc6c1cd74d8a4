package simbroker

// epochStart is the first offset of a leader's term.
type epochStart struct {
	epoch int32
	start int64
}

// startEpoch notes that a leader begins to append.
func (l *log) startEpoch(epoch int32) {
	l.epochs = append(l.epochs, epochStart{epoch, l.leo})
}

// endOfEpoch is the end of the newest term that is not after the given one, as OffsetForLeaderEpoch answers; -1, -1 if the
// log knows none.
func (l *log) endOfEpoch(epoch int32) (known int32, end int64) {
	for i := len(l.epochs) - 1; i >= 0; i-- {
		if l.epochs[i].epoch > epoch {
			continue
		}
		if i+1 < len(l.epochs) {
			return l.epochs[i].epoch, l.epochs[i+1].start
		}
		return l.epochs[i].epoch, l.leo
	}
	return -1, -1
}

// common is the offset up to which a copy with an end of its own equals another log. Terms tell: a term has one leader, so
// what both have of it is the same.
func (l *log) common(end int64, o *log) int64 {
	at := min(l.start, end)
	for i := 0; i < len(l.epochs) && i < len(o.epochs) && l.epochs[i] == o.epochs[i] && l.epochs[i].start <= end; i++ {
		a, b := end, o.leo
		if i+1 < len(l.epochs) {
			a = min(a, l.epochs[i+1].start)
		}
		if i+1 < len(o.epochs) {
			b = o.epochs[i+1].start
		}
		at = min(a, b)
	}
	return at
}

// fork is a log of its own with what lies below an end. Bytes are shared as far as they are the same; everything that
// follows from the batches is made anew from them.
func (l *log) fork(end int64) *log {
	n := l.find(end)
	f := &log{
		batches: l.batches[:n:n], rolls: l.rolls, start: min(l.start, end), leo: end, hw: min(l.hw, end),
		nextGuard: l.nextGuard,
	}
	f.ledger = newLedger()
	if l.floor != nil {
		floor := l.floor.clone()
		f.floor, f.ledger = &floor, l.floor.clone()
	}
	for i := range f.batches {
		f.replay(&f.batches[i], l.bytes(&f.batches[i]), f.hw)
	}
	if n > 0 {
		last := &l.batches[n-1]
		f.size = last.at + last.size
		for i := range min(len(l.chunks), int(last.chunk)+1) {
			k := l.chunks[i]
			used := min(len(k.data), f.size-k.at)
			k.data = k.data[:used:used]
			f.chunks = append(f.chunks, k)
		}
	}
	for _, s := range l.segments {
		if s.base < end {
			f.segments = append(f.segments, s)
		}
	}
	for _, e := range l.epochs {
		if e.start < end || e.epoch == 0 {
			f.epochs = append(f.epochs, e)
		}
	}
	return f
}
