package simbroker

import (
	"slices"
	"testing"
)

// watcher looks at all partitions again and again for what must always hold, and for what must not go back under clean
// elections.
type watcher struct {
	t         testing.TB
	c         *Cluster
	committed map[*partition]int64
}

func newWatcher(r *rig) *watcher {
	return &watcher{t: r.t, c: r.c, committed: map[*partition]int64{}}
}

func (w *watcher) look() {
	w.t.Helper()
	for _, p := range w.c.parts {
		l := p.log
		l.check(p)
		if len(w.c.cuts) == 0 {
			if p.committed < w.committed[p] {
				w.t.Errorf("%s: committed up to %d, before up to %d", p, p.committed, w.committed[p])
			}
			if p.leader >= 0 && l.leo < p.committed {
				w.t.Errorf("%s: the log of leader %d ends at %d, committed is %d", p, p.leader, l.leo, p.committed)
			}
			for i := range p.replicas {
				r := &p.replicas[i]
				end := r.leo
				if r.broker == p.leader {
					end = l.leo
				}
				if (r.isr || r.elr) && end < p.committed {
					w.t.Errorf("%s: replica %d is in sync (%v) or eligible with end %d, committed is %d", p, r.broker, r.isr, end, p.committed)
				}
				if r.elr && (r.isr || p.inSync() >= p.minISR()) {
					w.t.Errorf("%s: replica %d is eligible, in sync (%v), with %d of %d in sync", p, r.broker, r.isr, p.inSync(), p.minISR())
				}
			}
		}
		w.committed[p] = p.committed
		w.replayed(p)
		open := map[int64]bool{}
		for _, o := range l.open {
			if open[o.pid] {
				w.t.Errorf("%s: producer %d has two open transactions", p, o.pid)
			}
			open[o.pid] = true
		}
	}
}

// replayed makes sure that what a log knows of producers is what another leader would make of its batches.
func (w *watcher) replayed(p *partition) {
	w.t.Helper()
	l := p.log
	f := l.fork(l.leo)
	if !slices.Equal(l.open, f.open) || !slices.Equal(l.producers, f.producers) {
		w.t.Errorf("%s: replayed\n%+v\n%+v\nbut has\n%+v\n%+v", p, f.open, f.producers, l.open, l.producers)
	}
	same := func(a, b abortedTxn) bool { return a.pid == b.pid && a.first == b.first && a.marker == b.marker }
	if !slices.EqualFunc(l.aborted, f.aborted, same) {
		w.t.Errorf("%s: replayed aborted %+v, has %+v", p, f.aborted, l.aborted)
	}
	if got, want := f.common(f.leo, l), l.leo; got != want {
		w.t.Errorf("%s: a copy is common up to %d of %d", p, got, want)
	}
	// A copy of any length has a ledger of its own that fits its batches, and parts where it ends.
	if n := len(l.batches); n > 0 {
		end := l.batches[n/2].base
		c := l.fork(end)
		c.check(p)
		if at := c.common(c.leo, l); at != end {
			w.t.Errorf("%s: a copy up to %d is common up to %d", p, end, at)
		}
	}
}
