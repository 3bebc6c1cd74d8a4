package joblog

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/invariant"
)

// stage is what the core waits for.
type stage uint8

const (
	idle      stage = iota
	listing         // List: where is the tail
	tailing         // Get: the tail
	founding        // List: whether the tail at position 0, which has no entry before it, is the tail still
	preceding       // Get: the entry before the tail, which proves its fold
	creating        // Create: the next entry
	rivalling       // Get: what is at the position of my create
	linking         // Get: what is below somebody else's entry at the position of my create
	basing          // Get: what is below my create
	rooting         // List: whether position 0, just created, lies below a floor
	crowning        // List: whether the claim, just created, is the newest entry
)

const (
	minWait = 50 * time.Millisecond
	maxWait = 2 * time.Second
)

// Core is the protocol of one writer, one question at a time. It calls no port.
type Core struct {
	rules Rules
	tail  *Entry // newest entry known and verified; Invariant: nil or tail.State is the fold of the log up to it
	owner id.Generation

	asked Fact   // the question being answered
	stage stage  // what is under way
	last  Effect // the effect under way, to be repeated when its outcome is unknown
	found Entry  // an entry as it was read, before it is proven to follow
	mine  Entry  // what is being created
	wait  time.Duration
	seen  [4]known // read or made last, one in each residue of positions
	// unsure: a create of mine was answered with an unknown outcome.
	unsure bool
	// doubt is what seems to be wrong with the tail. It is, unless the log has moved on since: then what was read below it
	// may be gone, or a sleeper's.
	doubt error
}

// NewCore makes the core of a writer.
func NewCore(rules Rules) *Core { return &Core{rules: rules} }

// Generation is what was claimed; 0 before.
func (c *Core) Generation() id.Generation { return c.owner }

// Step takes one fact and returns the next effect.
func (c *Core) Step(f Fact) Effect {
	switch f := f.(type) {
	case Waited:
		return c.last
	case Listed:
		return c.listed(f)
	case Got:
		return c.got(f)
	case Made:
		return c.made(f)
	}
	return c.ask(f)
}

func (c *Core) ask(f Fact) Effect {
	invariant.Check(c.stage == idle, "job log: asked twice at once")
	c.asked, c.wait, c.doubt = f, 0, nil
	if a, ok := f.(AppendAsked); ok {
		invariant.Check(c.owner > 0, "job log: append of %s without a claim", a.Entry.Kind)
		return c.next()
	}
	return c.do(listing, List{})
}

func (c *Core) do(s stage, e Effect) Effect {
	c.stage, c.last, c.wait = s, e, 0
	return e
}

func (c *Core) finish(err error) Effect {
	c.stage, c.asked = idle, nil
	return Finish{Tail: c.tail, Err: err}
}

// unknown repeats the effect under way after a while.
func (c *Core) unknown() Effect {
	c.wait = min(max(2*c.wait, minWait), maxWait)
	return Wait{For: c.wait}
}

func (c *Core) listed(f Listed) Effect {
	if f.Err != nil {
		return c.unknown()
	}
	switch c.stage {
	case rooting:
		return c.rooted(f.Positions)
	case crowning:
		return c.crowned(f.Positions)
	case founding:
		if k := len(f.Positions); k > 0 && f.Positions[k-1] == 0 {
			return c.proven(nil)
		}
	}
	if k := len(f.Positions); k > 0 {
		p := f.Positions[k-1]
		if c.doubt != nil && p == c.found.Position {
			return c.finish(c.doubt)
		}
		c.doubt = nil
		return c.do(tailing, Get{p})
	}
	c.tail = nil
	switch a := c.asked.(type) {
	case OpenAsked:
		return c.create(a.Created)
	case ClaimAsked:
		return c.finish(errors.New("job log: nothing to claim, the log is empty"))
	}
	return c.finish(nil)
}

func (c *Core) got(f Got) Effect {
	if f.Err != nil && !errors.Is(f.Err, blob.ErrNotFound) {
		return c.unknown()
	}
	if c.stage == basing || c.stage == linking {
		return c.below(f)
	}
	if f.Err != nil {
		return c.missing(f.Position)
	}
	e, err := c.decode(f.Position, f.Object)
	if err != nil {
		return c.finish(err)
	}
	switch c.stage {
	case tailing:
		c.found = e
		if f.Position == 0 {
			return c.do(founding, List{})
		}
		return c.do(preceding, Get{f.Position - 1})
	case preceding:
		return c.proven(&e)
	case rivalling:
		return c.rival(e)
	}
	panic("unreachable")
}

// missing handles an object that was listed, or told to exist, and is gone: the log was truncated meanwhile.
func (c *Core) missing(p id.Position) Effect {
	if _, ok := c.asked.(AppendAsked); ok || c.unsure && (c.stage == rivalling || c.stage == linking) {
		// What was there may have been mine; now it is behind a floor that others announced.
		return c.finish(fmt.Errorf("%w: %s was truncated", ErrSuperseded, Key(p)))
	}
	if c.stage == preceding {
		c.doubt = fmt.Errorf("%s: %w: it is missing below the tail", Key(p), ErrCorrupt)
	}
	return c.do(listing, List{})
}

// proven adopts the tail that was found after prev.
func (c *Core) proven(prev *Entry) Effect {
	if err := verify(prev, c.found); err != nil {
		c.doubt = err
		return c.do(listing, List{})
	}
	return c.adopt(c.found)
}

func (c *Core) adopt(e Entry) Effect {
	c.tail = &e
	if _, ok := c.asked.(ClaimAsked); ok {
		return c.next()
	}
	return c.finish(nil)
}

// next creates the entry that was asked for at the position after the tail.
func (c *Core) next() Effect {
	p := c.tail.Position + 1
	switch a := c.asked.(type) {
	case ClaimAsked:
		if g := c.tail.State.Generation; a.Only && g != a.Newest {
			return c.finish(fmt.Errorf("%w: generation %d of %s", ErrSuperseded, g, c.tail.Process))
		}
		e := a.Claimed
		e.Position, e.Generation = p, id.Generation(p)
		return c.create(e)
	case AppendAsked:
		if c.tail.State.Generation > c.owner {
			return c.finish(fmt.Errorf("%w: generation %d of %s", ErrSuperseded, c.tail.State.Generation, c.tail.Process))
		}
		e := a.Entry
		e.Position, e.Generation = p, c.owner
		return c.create(e)
	}
	panic("unreachable")
}

func (c *Core) create(e Entry) Effect {
	var before State
	if c.tail != nil {
		before = c.tail.State
	}
	state, err := before.Fold(e)
	if err != nil {
		return c.finish(err)
	}
	e.State = state
	c.mine, c.unsure = e, false
	b := Encode(e)
	c.seen[e.Position%id.Position(len(c.seen))] = known{b, e}
	return c.do(creating, Create{e.Position, b})
}

// known is an object whose entry is known.
type known struct {
	bytes []byte
	entry Entry
}

// decode is Decode, which it spares for the very bytes that were decoded or encoded before: each create and each look at
// the tail reads what lies below, and that is mostly one of the newest few.
func (c *Core) decode(p id.Position, b []byte) (Entry, error) {
	s := &c.seen[p%id.Position(len(c.seen))]
	if len(b) > 0 && bytes.Equal(s.bytes, b) && s.entry.Position == p {
		return s.entry, nil
	}
	e, err := Decode(p, b)
	if err == nil {
		*s = known{b, e}
	}
	return e, err
}

func (c *Core) made(f Made) Effect {
	switch {
	case f.Err == nil:
		return c.ground()
	case errors.Is(f.Err, blob.ErrExists):
		return c.do(rivalling, Get{f.Position})
	}
	c.unsure = true
	return c.unknown()
}

// rival judges what is at the position of my create: my own entry whose reply was lost, or somebody else's, on which I
// read on.
func (c *Core) rival(e Entry) Effect {
	if c.rules.Mine(e, c.mine) {
		return c.ground()
	}
	if e.Position == 0 {
		return c.do(listing, List{})
	}
	c.found = e
	return c.do(linking, Get{e.Position - 1})
}

// linked reads on past somebody else's entry. It follows only what is still there: an entry whose base is gone may be
// the object of a sleeper below the floor (see ground).
func (c *Core) linked(below *Entry) Effect {
	e := c.found
	if !c.rules.Based(below, *c.tail) {
		return c.missing(e.Position)
	}
	if err := verify(c.tail, e); err != nil {
		if _, ok := c.asked.(AppendAsked); ok {
			return c.finish(err)
		}
		c.doubt = err
		return c.do(listing, List{})
	}
	c.tail = &e
	return c.next()
}

// ground looks below a create that succeeded.
//
//  1. A writer knows the tail at 9 and falls asleep before its create at 10.
//  2. Others append up to 100 and truncate below 90.
//  3. The writer wakes up. Nothing is at 10 any more: its create succeeds.
//  4. But 9 is gone, too, or another sleeper's object: the log has gone on without it.
//
// Golden: below_the_floor.
func (c *Core) ground() Effect {
	if c.mine.Position == 0 {
		return c.do(rooting, List{})
	}
	return c.do(basing, Get{c.mine.Position - 1})
}

func (c *Core) below(f Got) Effect {
	var found *Entry
	if f.Err == nil {
		e, err := c.decode(f.Position, f.Object)
		if err != nil {
			return c.finish(err)
		}
		found = &e
	}
	if c.stage == linking {
		return c.linked(found)
	}
	if !c.rules.Based(found, *c.tail) {
		return c.finish(fmt.Errorf("%w: %s lies below the floor", ErrSuperseded, Key(c.mine.Position)))
	}
	if c.mine.Kind == Claimed {
		return c.do(crowning, List{})
	}
	return c.grounded()
}

// crowned looks above a claim. What is above it is a newer claim, or the log from which a sleeper's claim was cut off.
// Nothing that others left below the floor can be mistaken for the newest entry.
func (c *Core) crowned(positions []id.Position) Effect {
	if k := len(positions); k == 0 || !c.rules.Newest(c.mine.Position, positions[k-1]) {
		return c.finish(fmt.Errorf("%w: something is above %s already", ErrSuperseded, Key(c.mine.Position)))
	}
	return c.grounded()
}

// rooted is ground for position 0, below which nothing is. If the log has gone on, with my entry or without it, its tail
// says which job it is.
func (c *Core) rooted(positions []id.Position) Effect {
	if len(positions) == 1 && positions[0] == 0 {
		return c.grounded()
	}
	return c.do(listing, List{})
}

func (c *Core) grounded() Effect {
	e := c.mine
	c.tail = &e
	if e.Kind == Claimed {
		c.owner = e.Generation
	}
	return c.finish(nil)
}
