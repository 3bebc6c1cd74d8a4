package source

import (
	"slices"

	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
)

// grants is how an at-most-once job never processes a record twice: a record is processed only after a checkpoint that
// would begin behind it is durable.
//
//  1. At barrier n the source sets aside what each partition may come to until the next barrier, and stores that position.
//  2. Once checkpoint n is durable, records below it are handed out.
//  3. A restore of n begins there. What was set aside and not processed is lost; nothing comes twice.
//
// Only what is in the log already is set aside, so that a crash never skips a record that was written after it.
type grants struct {
	granted []int64 // by split: records below may be handed out. Invariant: never falls
	before  []int64 // by split: position at the last barrier
	asked   []asked // ascending by checkpoint, not durable yet
	window  int64
}

type asked struct {
	n         id.Checkpoint
	positions []int64
}

func newGrants(splits []operator.Split, window int64) *grants {
	g := &grants{window: window}
	for _, s := range splits {
		g.granted = append(g.granted, s.Position)
		g.before = append(g.before, s.Position)
	}
	return g
}

// snapshot sets aside for barrier n and puts that into splits.
func (g *grants) snapshot(n id.Checkpoint, splits []operator.Split, stable func(int) int64) {
	a := asked{n: n}
	for i := range splits {
		s := &splits[i]
		room := max(g.window, 2*(s.Position-g.before[i]))
		g.before[i] = s.Position
		to := min(s.Position+room, stable(i))
		if s.Stop >= 0 {
			to = min(to, s.Stop)
		}
		s.Position = max(to, s.Position, g.granted[i])
		a.positions = append(a.positions, s.Position)
	}
	g.asked = append(g.asked, a)
}

// completed grants what was set aside at barrier n; false when that is not known.
func (g *grants) completed(n id.Checkpoint) bool {
	at := slices.IndexFunc(g.asked, func(a asked) bool { return a.n == n })
	if at < 0 {
		return false
	}
	for i, p := range g.asked[at].positions {
		g.granted[i] = max(g.granted[i], p)
	}
	g.asked = g.asked[at+1:]
	return true
}
