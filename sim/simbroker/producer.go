package simbroker

// remembered is how many batches of a producer a partition knows again.
const remembered = 5

// sequenceRange is one remembered batch.
type sequenceRange struct {
	first, last int32
	base, end   int64 // offsets
	time        int64
}

// producerState is what a partition knows of one producer: a function of its log.
type producerState struct {
	id        int64
	epoch     int16
	coord     int32 // coordinator epoch of the last marker; -1: none
	cached    [remembered]sequenceRange
	n         int   // cached batches, oldest first
	lastTime  int64 // time of the last record, not of its arrival
	openFirst int64 // first offset of the open transaction; -1: none
}

func (p *producerState) lastSequence() int32 {
	if p.n == 0 {
		return -1
	}
	return p.cached[p.n-1].last
}

func (p *producerState) duplicate(h *header) *sequenceRange {
	if h.epoch != p.epoch {
		return nil
	}
	last := h.lastSequence()
	for i := range p.n {
		if p.cached[i].first == h.sequence && p.cached[i].last == last {
			return &p.cached[i]
		}
	}
	return nil
}

// moveTo takes over an epoch; a new one forgets the batches.
func (p *producerState) moveTo(epoch int16) {
	if epoch != p.epoch {
		p.epoch, p.n = epoch, 0
	}
}

func (p *producerState) remember(r sequenceRange) {
	if p.n == remembered {
		copy(p.cached[:], p.cached[1:])
		p.n--
	}
	p.cached[p.n] = r
	p.n++
	p.lastTime = r.time
}

// guard is the leader's promise that the coordinator is being asked about the first batch of a transaction. It is lost
// when the leader changes.
type guard struct {
	id      uint64 // 0: no guard
	lowest  int32  // sequence of the earliest batch that asked
	epoch   int16
	version int8 // 2 when the transaction was added by the leader itself
}

// checkProducer is the order of checks that a batch with a producer id passes before it is appended. asked is the guard
// under which the coordinator was asked, 0 if it was not. A duplicate is not an error: its remembered range is returned.
func (l *log) checkProducer(h *header, asked uint64, p *Profile) (*sequenceRange, int16) {
	s, g := l.producer(h.producerID), l.guardOf(h.producerID)
	if s != nil {
		if d := s.duplicate(h); d != nil {
			return d, ok
		}
	}
	open := s != nil && s.openFirst >= 0
	if h.txn() && !open {
		if p.EpochBefore48 && s != nil && s.epoch > h.epoch {
			return nil, invalidProducerEpoch
		}
		if p.Verify && (g == nil || g.id != asked) {
			return nil, invalidTxnState
		}
	}
	switch {
	case s != nil && h.epoch < s.epoch:
		return nil, invalidProducerEpoch
	case p.SeqZeroTV2 && g != nil && g.version == 2 && (s == nil || s.n == 0) && h.sequence != 0:
		return nil, outOfOrderSequence
	case g != nil && h.sequence > g.lowest:
		return nil, outOfOrderSequence
	case s != nil && h.epoch != s.epoch && h.sequence != 0:
		return nil, outOfOrderSequence
	case s != nil && h.epoch == s.epoch && h.sequence != sequenceAdd(s.lastSequence(), 1):
		return nil, outOfOrderSequence
	case open && !h.txn():
		return nil, invalidTxnState
	}
	return nil, ok
}

// protect makes or refreshes the guard for the first batch of a transaction and returns its number.
func (l *log) protect(h *header, version int8) uint64 {
	g := l.guardOf(h.producerID)
	if g == nil {
		l.guards = append(l.guards, producerGuard{pid: h.producerID})
		g = &l.guards[len(l.guards)-1].guard
	}
	switch {
	case g.id == 0:
		l.nextGuard++
		*g = guard{id: l.nextGuard, lowest: h.sequence, epoch: h.epoch, version: version}
	case g.epoch < h.epoch: // its version stays that of the batch that made it
		g.lowest, g.epoch = h.sequence, h.epoch
	case g.epoch == h.epoch && h.sequence < g.lowest:
		g.lowest = h.sequence
	}
	return g.id
}

type producerGuard struct {
	pid int64
	guard
}

func (l *log) guardOf(pid int64) *guard {
	for i := range l.guards {
		if l.guards[i].pid == pid {
			return &l.guards[i].guard
		}
	}
	return nil
}

func (l *log) unprotect(pid int64) {
	for i := range l.guards {
		if l.guards[i].pid == pid {
			l.guards = append(l.guards[:i], l.guards[i+1:]...)
			return
		}
	}
}
