package simbroker

// A coordinator that moves while its broker lives does not know at once that it leads no more. Until then it answers from
// its memory, and its markers are under way under its old epoch. What it appends fails.

// depose leaves what the leader believes behind, before its term ends.
func (s *shard) depose() {
	s.former = nil
	if s.leader < 0 || !s.loaded || !s.broker().up() {
		return
	}
	f := &shard{
		c: s.c, ix: s.ix, leader: s.leader, epoch: s.epoch, term: s.term, loaded: true, stale: true,
		boot: s.broker().node.Incarnation(), byID: make(map[string]*txnEntry, len(s.entries)),
	}
	for _, e := range s.entries {
		k := &txnEntry{
			id: e.id, key: e.key, mem: e.mem, disk: e.disk, durable: e.durable, pending: e.pending, writes: e.writes,
			wedged: e.wedged || e.writing, failedFence: e.failedFence,
		}
		k.left = append(k.left, e.left...)
		k.dropped = append(k.dropped, e.dropped...)
		f.entries = append(f.entries, k)
		f.byID[k.id] = k
	}
	s.former = f
	if !s.broker().node.Paused() {
		f.listen()
	}
	for _, e := range f.entries {
		if e.mem.state.Prepared() && len(e.left) > 0 {
			f.resume(e)
		}
	}
}

// listen draws when a former leader hears of its fall.
func (s *shard) listen() {
	s.until = s.c.w.Now().Add(s.c.span(s.c.cfg.Visible, kindStale, uint64(s.ix), s.term, 0))
}

// heard tells whether a former leader knows that it is one.
func (s *shard) heard() bool {
	switch {
	case s.broker().node.Incarnation() != s.boot:
		return true
	case s.until == 0 && s.broker().node.Paused():
		return false
	case s.until == 0:
		s.listen() // it has woken up
	}
	return s.c.w.Now() >= s.until
}

// coordinator is the shard of an id as a broker sees it: what it still believes, if it led until a moment ago.
func (b *Broker) coordinator(id string) *shard {
	s := b.c.coordinator(id)
	if f := b.formerly(s); f != nil {
		b.reached(probeStale)
		b.c.recordFormer(id)
		return f
	}
	return s
}

// formerly is what a broker believes of a shard that it leads no more; nil when it knows.
func (b *Broker) formerly(s *shard) *shard {
	f := s.former
	if f == nil || f.leader != b.id || s.leader == b.id || f.heard() {
		return nil
	}
	return f
}

// resume goes on with the markers that were not written when the leader fell.
func (s *shard) resume(e *txnEntry) {
	r := s.newRound(e)
	for _, p := range append([]*partition(nil), e.left...) {
		s.broker().loop.After(s.c.markerDelay(e, p, r.term), func() { r.deliver(p, 0) })
	}
}
