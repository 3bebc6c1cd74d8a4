package simbroker

import (
	"time"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/sim"
)

// round is one drive of a decided transaction to its end: the markers of one term.
type round struct {
	s    *shard
	e    *txnEntry
	m    marker
	term uint64
}

// sendMarkers sends one marker to each partition of a decided transaction, each on its own way.
func (s *shard) sendMarkers(e *txnEntry) {
	e.left = append(e.left[:0:0], e.mem.parts...)
	e.dropped = nil
	if len(e.left) == 0 {
		s.complete(e)
		return
	}
	r := s.newRound(e)
	for _, p := range e.left {
		s.broker().loop.After(s.c.markerDelay(e, p, r.term), func() { r.deliver(p, 0) })
	}
}

func (s *shard) newRound(e *txnEntry) *round {
	return &round{s: s, e: e, term: s.term, m: marker{
		pid: e.mem.pid, epoch: e.mem.epoch, commit: e.mem.state == PrepareCommit, coord: s.epoch, version: e.mem.version,
	}}
}

// markerVersion is the transaction version that a marker carries from one broker to another: WriteTxnMarkers tells it from
// version 2 on. A sender that does not negotiate sends its highest version; a broker that does not know it hangs up.
func markerVersion(from, to *Broker, version int8) (int8, int16) {
	mine, theirs := from.profile.Max(27), to.profile.Max(27)
	if mine > theirs && !from.profile.NegotiateMarkers {
		return 0, networkException
	}
	if min(mine, theirs) < 2 {
		return 0, ok
	}
	return version, ok
}

// markerDelay is how long a marker lies at the coordinator. Some lie long, so that a transaction is seen in part.
func (c *Cluster) markerDelay(e *txnEntry, p *partition, term uint64) time.Duration {
	d := c.span(c.cfg.Marker, kindMarker, e.key, e.writes<<20|uint64(p.ix), term)
	if c.draw(kindMarkerLate, e.key, e.writes<<20|uint64(p.ix), term)&15 == 0 {
		d *= 10
	}
	return d
}

func (r *round) over() bool { return r.s.over(r.term) }

// deliver sends the marker of one partition to its leader.
func (r *round) deliver(p *partition, try uint64) {
	if r.over() {
		return
	}
	b := r.s.broker()
	switch {
	case p.deleted:
		r.marked(p)
	case p.leader < 0 && b.profile.DropMarkerNoLeader:
		r.e.dropped = append(r.e.dropped, p)
		b.note(entryDropped, r.e.key, uint64(p.ix), uint64(r.m.pid))
		b.reached(probeDropped)
		r.marked(p)
	case p.leader < 0 || !r.s.c.brokers[p.leader].up():
		p.await(b, func() { r.deliver(p, try+1) })
	default:
		r.send(b, p, try)
	}
}

// send sends one marker, and lets a fault strike it: WriteTxnMarkers of a broker that a plan names.
func (r *round) send(b *Broker, p *partition, try uint64) {
	to := r.s.c.brokers[p.leader]
	effect, delay := r.s.c.w.Intercept(b.node.Name(), writeTxnMarkersKey)
	if effect == sim.LateRequest || effect == sim.Repeat {
		r.s.c.w.At(r.s.c.w.Now().Add(delay), func() { r.late(b, p) })
	}
	if effect == sim.LoseRequest || effect == sim.LateRequest {
		b.loop.After(r.s.c.markerDelay(r.e, p, r.term), func() { r.answered(p, try, networkException) })
		return
	}
	b.call(to, func(to *Broker, answer func(int16)) { r.write(b, to, p, answer) }, func(code int16) {
		switch effect {
		case sim.LoseReply, sim.Repeat:
			code = networkException
		case sim.LateReply:
			b.loop.After(delay, func() { r.answered(p, try, code) })
			return
		}
		r.answered(p, try, code)
	})
}

// write is what the leader does with the marker.
func (r *round) write(from, to *Broker, p *partition, answer func(int16)) {
	m := r.m
	version, code := markerVersion(from, to, m.version)
	if code != ok {
		answer(code)
		return
	}
	m.version = version
	p.writeMarker(to, m, answer)
}

// late is the arrival of a marker whose answer nobody waits for any more, at whoever leads the partition then.
func (r *round) late(from *Broker, p *partition) {
	if p.leader < 0 || !r.s.c.brokers[p.leader].up() {
		return
	}
	to := r.s.c.brokers[p.leader]
	to.loop.Post(func() {
		open := r.e.mem.state == Ongoing
		r.write(from, to, p, func(code int16) {
			r.s.c.late = append(r.s.c.late, LateAnswer{
				At: r.s.c.w.Now(), Key: writeTxnMarkersKey, ID: r.e.id, ProducerID: r.m.pid, Epoch: r.m.epoch, Sequence: -1, Code: code, Open: open,
			})
		})
	})
}

const writeTxnMarkersKey = 27

func (r *round) answered(p *partition, try uint64, code int16) {
	if r.over() {
		return
	}
	switch code {
	case ok, unsupportedVersion, unsupportedFormat:
		r.marked(p)
	case invalidProducerEpoch, coordinatorFenced:
		r.e.wedged = true // pending until the coordinator moves
		r.s.broker().note(entryGaveUp, r.e.key, uint64(p.ix), uint64(code))
	default:
		d := r.s.c.span(Span{5 * time.Millisecond, 40 * time.Millisecond}, kindMarkerRetry, r.e.key, uint64(p.ix), try)
		r.s.broker().loop.After(d, func() { r.deliver(p, try+1) })
	}
}

// marked notes that a partition needs no marker any more.
func (r *round) marked(p *partition) {
	e := r.e
	for i := range e.left {
		if e.left[i] == p {
			e.left = append(e.left[:i], e.left[i+1:]...)
			break
		}
	}
	if len(e.left) > 0 {
		r.s.c.hook(r.s.broker(), hook.K11SomeMarkers, e)
		return
	}
	if !e.wedged {
		r.s.complete(e)
	}
}
