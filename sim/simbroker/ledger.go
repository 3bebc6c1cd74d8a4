package simbroker

import (
	"encoding/binary"
	"maps"
	"slices"
)

// openTxn is a transaction that has records in the log and no marker yet.
type openTxn struct{ pid, first int64 }

// closedTxn is a transaction that has its marker, which is not below the high watermark yet.
type closedTxn struct{ first, marker int64 }

// abortedTxn is an entry of the transaction index, in order of marker.
type abortedTxn struct{ pid, first, marker, stable int64 }

// ledger is what a log knows of producers and transactions: a function of its batches.
//
// Invariant: open is in order of first, closing and aborted are in order of marker.
type ledger struct {
	producers []producerState
	byID      map[int64]int32 // producer id -> index of producers
	open      []openTxn
	closing   []closedTxn
	aborted   []abortedTxn
}

func newLedger() ledger { return ledger{byID: map[int64]int32{}} }

func (l *ledger) clone() ledger {
	return ledger{
		producers: slices.Clone(l.producers), byID: maps.Clone(l.byID), open: slices.Clone(l.open),
		closing: slices.Clone(l.closing), aborted: slices.Clone(l.aborted),
	}
}

func (l *ledger) producer(pid int64) *producerState {
	if i, known := l.byID[pid]; known {
		return &l.producers[i]
	}
	return nil
}

func (l *ledger) ensureProducer(pid int64, epoch int16) *producerState {
	if s := l.producer(pid); s != nil {
		return s
	}
	l.byID[pid] = int32(len(l.producers))
	l.producers = append(l.producers, producerState{id: pid, epoch: epoch, coord: -1, openFirst: -1})
	return &l.producers[len(l.producers)-1]
}

// isOpen tells whether a transaction of this identity is open here, as far as the release looks.
func (l *ledger) isOpen(pid int64, epoch int16, p *Profile) bool {
	s := l.producer(pid)
	return s != nil && s.openFirst >= 0 && (s.epoch == epoch || !p.OpenByEpoch)
}

// note takes in a batch of a producer.
func (l *ledger) note(h *header, base, last int64) {
	s := l.ensureProducer(h.producerID, h.epoch)
	s.moveTo(h.epoch)
	s.remember(sequenceRange{h.sequence, h.lastSequence(), base, last, h.maxTime})
	if h.txn() {
		l.begin(s, base)
	}
}

// noteVirtual takes in a record that has no bytes.
func (l *ledger) noteVirtual(pid int64, epoch int16, base, time int64) {
	s := l.ensureProducer(pid, epoch)
	s.moveTo(epoch)
	s.lastTime = time
	l.begin(s, base)
}

func (l *ledger) begin(s *producerState, base int64) {
	if s.openFirst < 0 {
		s.openFirst = base
		l.open = append(l.open, openTxn{s.id, base})
	}
}

// noteMarker takes in a marker at an offset, with the high watermark as it was when the marker was written. It tells
// whether the marker ended something.
func (l *ledger) noteMarker(m marker, at, hw, time int64) (closed bool) {
	s := l.ensureProducer(m.pid, m.epoch)
	if s.openFirst >= 0 {
		closed = true
		l.close(s, at, hw, m.commit)
	}
	s.moveTo(m.epoch)
	s.coord, s.lastTime = m.coord, time
	return closed
}

// close ends the open transaction of s with a marker at an offset.
func (l *ledger) close(s *producerState, at, hw int64, commit bool) {
	i := 0
	for l.open[i].pid != s.id {
		i++
	}
	first := l.open[i].first
	l.open = append(l.open[:i], l.open[i+1:]...)
	if at >= hw {
		l.closing = append(l.closing, closedTxn{first, at})
	}
	if !commit {
		stable := at + 1
		if len(l.open) > 0 {
			stable = min(stable, l.open[0].first)
		}
		l.aborted = append(l.aborted, abortedTxn{s.id, first, at, stable})
	}
	s.openFirst = -1
}

// replay takes in a stored batch, as a new leader or a starting broker does.
func (l *ledger) replay(b *batch, bytes []byte, hw int64) {
	switch {
	case b.pid < 0:
	case b.control:
		coord := int32(binary.BigEndian.Uint32(bytes[batchHeader+markerCoordinator:]))
		l.noteMarker(marker{pid: b.pid, epoch: b.epoch, commit: b.commit, coord: coord}, b.base, hw, b.maxTime)
	case len(bytes) == 0:
		l.noteVirtual(b.pid, b.epoch, b.base, b.maxTime)
	default:
		h := readHeader(bytes)
		h.count = int32(b.last-b.base) + 1 // of a compacted batch, fewer are left
		h.maxTime = b.maxTime
		l.note(&h, b.base, b.last)
	}
}

// forget drops a producer. The last one takes its place.
func (l *ledger) forget(pid int64) {
	i, last := l.byID[pid], int32(len(l.producers)-1)
	l.producers[i] = l.producers[last]
	l.byID[l.producers[i].id] = i
	l.producers = l.producers[:last]
	delete(l.byID, pid)
}
