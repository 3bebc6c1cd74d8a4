package simbroker

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/onefold/onefold/engine/invariant"
)

// batch is one batch in a log. It lies in one chunk of it.
type batch struct {
	base    int64
	last    int64 // offset of the last record
	pid     int64
	at      int // bytes of the log before it
	size    int
	chunk   int32
	maxTime int64
	epoch   int16
	txn     bool
	control bool
	commit  bool
}

// openTxn is a transaction that has records in the log and no marker yet.
type openTxn struct{ pid, first int64 }

// abortedTxn is an entry of the transaction index, in order of marker.
type abortedTxn struct{ pid, first, marker, stable int64 }

// log is one copy of a partition. Everything but the guards is on the disk.
//
// Invariant: lso <= hw <= leo, and open is in order of first.
type log struct {
	chunks  []chunk
	size    int // bytes, of all batches that were ever appended
	batches []batch
	start   int64
	leo     int64
	hw      int64

	producers []producerState
	byID      map[int64]int32 // producer id -> index of producers
	open      []openTxn
	aborted   []abortedTxn

	guards    []producerGuard
	nextGuard uint64
}

func newLog(start int64) *log {
	return &log{start: start, leo: start, hw: start, byID: map[int64]int32{}}
}

// stable is the last stable offset: what a read_committed reader may read is below it.
func (l *log) stable() int64 {
	if len(l.open) > 0 && l.open[0].first < l.hw {
		return max(l.open[0].first, l.start)
	}
	return l.hw
}

// limit is the end of what a reader may see.
func (l *log) limit(committed bool) int64 {
	if committed {
		return l.stable()
	}
	return l.hw
}

func (l *log) producer(pid int64) *producerState {
	if i, known := l.byID[pid]; known {
		return &l.producers[i]
	}
	return nil
}

func (l *log) ensureProducer(pid int64, epoch int16) *producerState {
	if s := l.producer(pid); s != nil {
		return s
	}
	l.byID[pid] = int32(len(l.producers))
	l.producers = append(l.producers, producerState{id: pid, epoch: epoch, coord: -1, openFirst: -1})
	return &l.producers[len(l.producers)-1]
}

// isOpen tells whether a transaction of exactly this identity is open here.
func (l *log) isOpen(pid int64, epoch int16) bool {
	s := l.producer(pid)
	return s != nil && s.openFirst >= 0 && s.epoch == epoch
}

// appendBatch stores b, which was checked, and returns its base offset. A log append time below 0 keeps the times of the
// producer.
func (l *log) appendBatch(b []byte, h *header, leaderEpoch int32, appendTime int64) int64 {
	base := l.place(b, h, leaderEpoch, appendTime)
	if h.producerID < 0 {
		return base
	}
	s := l.ensureProducer(h.producerID, h.epoch)
	s.moveTo(h.epoch)
	s.remember(sequenceRange{h.sequence, h.lastSequence(), base, l.leo - 1, h.maxTime})
	if h.txn() {
		if s.openFirst < 0 {
			s.openFirst = base
			l.open = append(l.open, openTxn{h.producerID, base})
		}
		l.unprotect(h.producerID)
	}
	return base
}

func (l *log) place(b []byte, h *header, leaderEpoch int32, appendTime int64) int64 {
	base, at := l.leo, l.size
	stored := l.store(b)
	binary.BigEndian.PutUint64(stored[atBaseOffset:], uint64(base))
	binary.BigEndian.PutUint32(stored[atLeaderEpoch:], uint32(leaderEpoch))
	if appendTime >= 0 && !h.control() {
		h.attributes |= attrAppendTime
		h.maxTime = appendTime
		binary.BigEndian.PutUint16(stored[atAttributes:], uint16(h.attributes))
		binary.BigEndian.PutUint64(stored[atMaxTime:], uint64(h.maxTime))
		binary.BigEndian.PutUint32(stored[atCRC:], crc32.Checksum(stored[atAttributes:], castagnoli))
	}
	l.leo = base + int64(h.count)
	l.hw = l.leo
	if len(l.batches) == cap(l.batches) {
		l.batches = slices.Grow(l.batches, max(64, len(l.batches)))
	}
	l.batches = append(l.batches, batch{
		base: base, last: l.leo - 1, pid: h.producerID, at: at, size: len(b), chunk: int32(len(l.chunks) - 1), maxTime: h.maxTime,
		epoch: h.epoch, txn: h.txn(), control: h.control(),
	})
	return base
}

// appendVirtual appends one record that has no bytes: nobody reads the partitions of offsets record by record. It returns
// its offset.
func (l *log) appendVirtual(h *header) int64 {
	base := l.leo
	l.leo++
	l.hw = l.leo
	l.batches = append(l.batches, batch{
		base: base, last: base, pid: h.producerID, at: l.size, chunk: int32(max(len(l.chunks)-1, 0)), maxTime: h.maxTime,
		epoch: h.epoch, txn: h.txn(),
	})
	if h.producerID < 0 {
		return base
	}
	s := l.ensureProducer(h.producerID, h.epoch)
	s.moveTo(h.epoch)
	s.lastTime = h.maxTime
	if s.openFirst < 0 {
		s.openFirst = base
		l.open = append(l.open, openTxn{h.producerID, base})
	}
	return base
}

// appendMarker checks and appends one end-transaction marker. closed tells whether it ended something.
func (l *log) appendMarker(m marker, leaderEpoch int32, p *Profile, now int64) (closed bool, code int16) {
	s := l.producer(m.pid)
	if s != nil {
		repeat := m.epoch == s.epoch && s.openFirst < 0
		exhausted := p.RotateOnFence && m.epoch == p.MaxEpoch
		strict := p.MarkerStrict && m.version >= 2 && m.epoch <= s.epoch && !repeat && !exhausted
		if strict || m.epoch < s.epoch {
			return false, invalidProducerEpoch
		}
		if m.coord < s.coord {
			return false, coordinatorFenced
		}
	}
	var space [128]byte
	b := appendMarkerBatch(space[:0], m.pid, m.epoch, m.commit, m.coord, now)
	h := readHeader(b)
	at := l.place(b, &h, leaderEpoch, -1)
	l.batches[len(l.batches)-1].commit = m.commit
	s = l.ensureProducer(m.pid, m.epoch)
	if s.openFirst >= 0 {
		closed = true
		l.close(s, at, m.commit)
	}
	s.moveTo(m.epoch)
	s.coord, s.lastTime = m.coord, now
	if g := l.guardOf(m.pid); g != nil && (g.version != 2 || g.epoch != m.epoch) {
		l.unprotect(m.pid)
	}
	return closed, ok
}

// close ends the open transaction of s with a marker at an offset.
func (l *log) close(s *producerState, at int64, commit bool) {
	i := 0
	for l.open[i].pid != s.id {
		i++
	}
	first := l.open[i].first
	l.open = append(l.open[:i], l.open[i+1:]...)
	if !commit {
		l.aborted = append(l.aborted, abortedTxn{s.id, first, at, l.stable()})
	}
	s.openFirst = -1
}

// truncateBefore moves the start of the log.
func (l *log) truncateBefore(offset int64) {
	l.start = max(l.start, offset)
	n := 0
	for n < len(l.batches) && l.batches[n].last < l.start {
		n++
	}
	l.batches = l.batches[n:]
	n = 0
	for n < len(l.aborted) && l.aborted[n].marker < l.start {
		n++
	}
	l.aborted = l.aborted[n:]
}

// check looks at the whole log.
func (l *log) check(name string) {
	if l.start > l.stable() || l.stable() > l.hw || l.hw > l.leo { // asked first: the text is made for nothing otherwise
		invariant.Check(false, "%s: start %d, stable %d, high watermark %d, end %d", name, l.start, l.stable(), l.hw, l.leo)
	}
	for i := range l.open {
		if i > 0 && l.open[i-1].first >= l.open[i].first {
			invariant.Check(false, "%s: open transactions out of order", name)
		}
		s := l.producer(l.open[i].pid)
		if s == nil || s.openFirst != l.open[i].first {
			invariant.Check(false, "%s: producer %d open at %d", name, l.open[i].pid, l.open[i].first)
		}
	}
	opens := 0
	for i := range l.producers {
		if l.producers[i].openFirst >= 0 {
			opens++
		}
	}
	if opens != len(l.open) {
		invariant.Check(false, "%s: %d open transactions, %d producers open", name, len(l.open), opens)
	}
}
