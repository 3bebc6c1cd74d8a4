package simbroker

import (
	"encoding/binary"
	"time"
)

func (t *TopicConfig) deleteRetention() time.Duration {
	switch {
	case t.DeleteRetention == 0:
		return 24 * time.Hour
	case t.DeleteRetention < 0:
		return 0
	}
	return time.Duration(t.DeleteRetention) * time.Millisecond
}

// compact is one pass of the log cleaner.
func (p *partition) compact() {
	l, now := p.log, p.c.w.Wall().UnixMilli()
	limit := min(l.stable(), l.active())
	for _, s := range l.segments {
		if s.base < limit && s.maxTime > now-p.topic.cfg.MinCompactionMs && p.topic.cfg.MinCompactionMs > 0 {
			limit = s.base
		}
	}
	c := &cleaner{l: l, limit: limit, now: now, retention: p.topic.cfg.deleteRetention().Milliseconds()}
	if c.run() {
		p.c.reached(probeCompacted)
		p.wake()
	}
}

// cleaner is one pass over the closed segments of a log below a limit. It keeps, as Kafka's does:
//
//   - of each key the newest committed record; a null value for delete.retention.ms after the pass that first saw it;
//   - nothing of aborted transactions, nor records without a key;
//   - a marker as long as the pass still met batches of its transaction, and delete.retention.ms longer;
//   - the last batch of a producer that is remembered, empty if need be, so that its sequence numbers go on;
//   - an entry of the transaction index as long as the pass met a batch of the transaction.
//
// Offsets stay what they were, so that they get gaps.
type cleaner struct {
	l         *log
	limit     int64
	now       int64
	retention int64 // ms

	latest  map[string]int64 // by key, of committed records
	ongoing map[int64]bool   // producers of which a batch was met since their last marker
	index   []abortedTxn     // what is left of it
	changed bool
}

func (c *cleaner) run() bool {
	if c.limit <= c.l.start {
		return false
	}
	c.latest, c.ongoing = map[string]int64{}, map[int64]bool{}
	c.newest()
	n := c.l.find(c.limit)
	kept := log{}
	for i := range c.l.batches[:n] {
		c.take(&kept, &c.l.batches[i])
	}
	if !c.changed {
		return false
	}
	for i := n; i < len(c.l.batches); i++ {
		b := c.l.batches[i]
		c.put(&kept, b, c.l.bytes(&c.l.batches[i]))
	}
	for i := range c.l.aborted {
		if c.l.aborted[i].marker >= c.limit {
			c.index = append(c.index, c.l.aborted[i])
		}
	}
	c.place(&kept)
	return true
}

// newest finds the newest committed record of each key.
func (c *cleaner) newest() {
	l := c.l
	var records []Logged
	for i := range l.batches {
		b := &l.batches[i]
		if b.last >= c.limit {
			break
		}
		if b.control || b.size == 0 || c.isAborted(b) {
			continue
		}
		records = readRecords(records[:0], l.bytes(b))
		for j := range records {
			if k := records[j].Record.Key; k != nil {
				c.latest[string(k)] = records[j].Offset
			}
		}
	}
}

// isAborted tells whether a batch is of an aborted transaction that is in the index.
func (c *cleaner) isAborted(b *batch) bool {
	if !b.txn || b.control {
		return false
	}
	for i := range c.l.aborted {
		if a := &c.l.aborted[i]; a.pid == b.pid && a.first <= b.base && b.base < a.marker {
			return true
		}
	}
	return false
}

// take decides about one batch.
func (c *cleaner) take(to *log, b *batch) {
	bytes := c.l.bytes(b)
	if b.control {
		c.takeMarker(to, b, bytes)
		return
	}
	aborted := c.isAborted(b)
	if b.txn {
		c.ongoing[b.pid] = true
	}
	records := readRecords(nil, bytes)
	keep := make([]Logged, 0, len(records))
	tombstones := false
	for i := range records {
		r := &records[i]
		switch {
		case aborted, r.Record.Key == nil, c.latest[string(r.Record.Key)] > r.Offset:
		case r.Record.Value == nil && b.horizon > 0 && b.horizon <= c.now:
		default:
			tombstones = tombstones || r.Record.Value == nil
			keep = append(keep, *r)
		}
	}
	kept := *b
	if tombstones && b.horizon == 0 {
		kept.horizon = c.now + c.retention
		c.changed = true
	}
	switch {
	case len(keep) == len(records):
		c.put(to, kept, bytes)
	case len(keep) > 0 || c.isLast(b):
		c.changed = true
		c.put(to, kept, rewrite(bytes, keep))
	default:
		c.changed = true
	}
}

func (c *cleaner) takeMarker(to *log, b *batch, bytes []byte) {
	met := c.ongoing[b.pid]
	delete(c.ongoing, b.pid)
	if !b.commit {
		for i := range c.l.aborted {
			if a := c.l.aborted[i]; a.marker == b.base {
				if met {
					c.index = append(c.index, a)
				} else {
					c.changed = true
				}
			}
		}
	}
	kept := *b
	switch {
	case met || b.horizon > c.now || c.isLast(b):
	case b.horizon == 0:
		kept.horizon = max(c.now+c.retention, 1)
		c.changed = true
	default:
		c.changed = true
		return
	}
	c.put(to, kept, bytes)
}

// isLast tells whether a batch is the last one of a producer that is remembered: its last data, or, if its epoch has none,
// its marker.
func (c *cleaner) isLast(b *batch) bool {
	if b.pid < 0 {
		return false
	}
	s := c.l.producer(b.pid)
	switch {
	case s == nil:
		return false
	case s.n > 0:
		return !b.control && s.cached[s.n-1].end == b.last
	}
	return b.control && s.epoch == b.epoch
}

func (c *cleaner) put(to *log, b batch, bytes []byte) {
	b.at, b.size = to.size, len(bytes)
	if len(bytes) > 0 {
		to.store(bytes)
	}
	b.chunk = int32(max(len(to.chunks)-1, 0))
	to.batches = append(to.batches, b)
}

// place puts what is left into the log. Segments keep their bounds.
func (c *cleaner) place(kept *log) {
	l := c.l
	l.batches, l.chunks, l.size, l.aborted = kept.batches, kept.chunks, kept.size, c.index
	for i := range l.segments {
		s := &l.segments[i]
		s.at = l.size
		if j := l.find(s.base); j < len(l.batches) {
			s.at = l.batches[j].at
		}
	}
}

// rewrite is a batch with only some of its records; offsets, sequence numbers and the last offset stay.
func rewrite(old []byte, keep []Logged) []byte {
	h := readHeader(old)
	base := int64(binary.BigEndian.Uint64(old[atBaseOffset:]))
	lastDelta := binary.BigEndian.Uint32(old[atLastDelta:])
	b := append([]byte(nil), old[:batchHeader]...)
	var record []byte
	for i := range keep {
		record = keep[i].Record.appendTo(record[:0], h.firstTime, keep[i].Offset-base)
		b = binary.AppendVarint(b, int64(len(record)))
		b = append(b, record...)
	}
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(h.attributes&^attrCompression))
	binary.BigEndian.PutUint32(b[atCount:], uint32(len(keep)))
	binary.BigEndian.PutUint32(b[atLastDelta:], lastDelta)
	seal(b)
	return b
}
