package simbroker

import "testing"

// watcher looks at all partitions again and again for what must always hold, and for what must not go back under clean
// elections.
type watcher struct {
	t         testing.TB
	c         *Cluster
	committed map[*partition]int64
	records   map[*partition][]int64 // first offset of each committed batch
}

func newWatcher(r *rig) *watcher {
	return &watcher{t: r.t, c: r.c, committed: map[*partition]int64{}, records: map[*partition][]int64{}}
}

func (w *watcher) look() {
	w.t.Helper()
	for _, p := range w.c.parts {
		l := p.log
		l.check(p.String())
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
				if r.isr && end < p.committed {
					w.t.Errorf("%s: replica %d is in sync with end %d, committed is %d", p, r.broker, end, p.committed)
				}
			}
		}
		w.committed[p] = p.committed
		open := map[int64]bool{}
		for _, o := range l.open {
			if open[o.pid] {
				w.t.Errorf("%s: producer %d has two open transactions", p, o.pid)
			}
			open[o.pid] = true
		}
	}
}
