package simbroker

import (
	"encoding/binary"
	"fmt"
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
	horizon int64 // when a cleaner may drop it, as a marker, or its null values; 0: not known yet
	epoch   int16
	txn     bool
	control bool
	commit  bool
}

// log is one copy of a partition, or several that are equal as far as they go: see replica. Everything but the guards is on
// the disk.
//
// Invariant: start <= lso <= hw <= leo.
type log struct {
	ledger
	floor *ledger // what the batches below start have left behind; nil: nothing

	chunks   []chunk
	size     int // bytes, of all batches that were ever appended
	batches  []batch
	segments []segment
	rolls    rolls
	epochs   []epochStart
	start    int64
	leo      int64
	hw       int64
	only     bool // there is no other copy: what is appended is committed at once

	guards    []producerGuard
	nextGuard uint64
}

func newLog(start int64) *log {
	return &log{ledger: newLedger(), start: start, leo: start, hw: start, only: true, rolls: defaultRolls}
}

// stable is the last stable offset: what a read_committed reader may read is below it.
func (l *log) stable() int64 {
	s := l.hw
	if len(l.open) > 0 {
		s = min(s, l.open[0].first)
	}
	for i := range l.closing {
		s = min(s, l.closing[i].first)
	}
	if s < l.start {
		return l.startBatch()
	}
	return s
}

// stable is the last stable offset as a broker of its release tells it.
func (b *Broker) stable(l *log) int64 {
	s := l.stable()
	if !b.profile.StableAtBatch {
		s = max(s, l.start)
	}
	return s
}

// startBatch is where the batch begins that holds the start of the log: below it when records were deleted up to the
// middle of a batch.
func (l *log) startBatch() int64 {
	if len(l.batches) == 0 {
		return l.start
	}
	return min(l.start, l.batches[0].base)
}

// commit moves the high watermark. Transactions whose marker is below it are over for readers, too.
func (l *log) commit(hw int64) {
	l.hw = hw
	n := 0
	for n < len(l.closing) && l.closing[n].marker < hw {
		n++
	}
	if n > 0 {
		l.closing = append(l.closing[:0], l.closing[n:]...)
	}
}

// limit is the end of what a reader may see.
func (l *log) limit(committed bool) int64 {
	if committed {
		return l.stable()
	}
	return l.hw
}

// appendBatch stores b, which was checked, and returns its base offset. A log append time below 0 keeps the times of the
// producer.
func (l *log) appendBatch(b []byte, h *header, leaderEpoch int32, appendTime int64) int64 {
	base := l.place(b, h, leaderEpoch, appendTime)
	if h.producerID < 0 {
		return base
	}
	l.note(h, base, l.leo-1)
	if h.txn() {
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
	l.roll(base, at, len(b), h.maxTime)
	l.leo = base + int64(h.count)
	if l.only {
		l.hw = l.leo
	}
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
	l.roll(base, l.size, 0, h.maxTime)
	l.leo++
	if l.only {
		l.hw = l.leo
	}
	l.batches = append(l.batches, batch{
		base: base, last: base, pid: h.producerID, at: l.size, chunk: int32(max(len(l.chunks)-1, 0)), maxTime: h.maxTime,
		epoch: h.epoch, txn: h.txn(),
	})
	if h.producerID < 0 {
		return base
	}
	l.noteVirtual(h.producerID, h.epoch, base, h.maxTime)
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
	closed = l.noteMarker(m, at, l.hw, now)
	if g := l.guardOf(m.pid); g != nil && (g.version != 2 || g.epoch != m.epoch) {
		l.unprotect(m.pid)
	}
	return closed, ok
}

// check looks at the whole log of a partition.
func (l *log) check(name fmt.Stringer) {
	if l.startBatch() > l.stable() || l.stable() > l.hw || l.hw > l.leo { // asked first: the text is made for nothing otherwise
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
