package joblog

import (
	"errors"

	"github.com/onefold/onefold/engine/blob"
	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/proc"
)

var (
	ownNonce  = probe.New("joblog: own nonce after a lost reply")
	claimLost = probe.New("joblog: claim lost")
)

const kindJob = env.KindJobLog // draws the uid of a job

// KeepAll keeps every entry.
const KeepAll uint64 = 1<<64 - 1

// Options are the choices of a log.
type Options struct {
	// Rules are Sound when zero.
	Rules Rules
	// Keep is how many of the newest entries are kept, at least two; 0 is KeepAll.
	Keep uint64
	// Salt differs between any two logs of one process: nonces of entries are made of it.
	Salt uint32
}

// Log is one loop's access to a job log. Questions are answered one after the other, in the order in which they were
// asked; done functions run later on the loop.
type Log struct {
	p     *proc.Process
	loop  env.Loop
	store blob.Store
	core  *Core
	keep  uint64
	seq   uint64 // entries written by this log, for their nonces

	queue []question
	busy  bool
	lost  bool // its create was answered with an unknown outcome at least once

	floor    id.Position   // announced
	sweeping bool          // deletes are under way
	swept    id.Position   // everything below is gone, as far as this log knows
	stale    []id.Position // listed objects below the floor, ascending
}

type question struct {
	fact Fact
	done func(*Entry, error)
}

// New makes the access of one loop.
func New(p *proc.Process, loop env.Loop, o Options) *Log {
	if o.Rules.Mine == nil {
		o.Rules = Sound()
	}
	return &Log{p: p, loop: loop, store: p.Blob(loop), core: NewCore(o.Rules), keep: o.Keep, seq: uint64(o.Salt) << 32}
}

// Read returns the newest entry, nil when there is no log.
func (l *Log) Read(done func(*Entry, error)) { l.ask(ReadAsked{}, done) }

// Open returns the newest entry of the log, and creates the log of a new job when there is none. The job's uid is minted
// from name, which matches [a-z0-9-]+.
func (l *Log) Open(name, graph string, done func(*Entry, error)) {
	e := l.sign(Entry{Kind: Created, Graph: graph})
	e.Job = id.Job(name + "-" + letters(l.p.Draw(kindJob, l.p.Nonce, e.Nonce, 0)))
	l.ask(OpenAsked{e}, done)
}

// Claim makes this log the writer of the next generation and returns the state after its Claimed entry.
func (l *Log) Claim(done func(id.Generation, State, error)) { l.claim(ClaimAsked{}, done) }

// ClaimAfter is Claim, unless another generation than newest is the newest: then it is ErrSuperseded.
func (l *Log) ClaimAfter(newest id.Generation, done func(id.Generation, State, error)) {
	l.claim(ClaimAsked{Only: true, Newest: newest}, done)
}

func (l *Log) claim(a ClaimAsked, done func(id.Generation, State, error)) {
	a.Claimed = l.sign(Entry{Kind: Claimed})
	l.ask(a, func(tail *Entry, err error) {
		if err != nil {
			done(0, State{}, err)
			return
		}
		l.floor, l.swept = tail.State.Floor, tail.State.Floor
		l.sweep()
		done(l.core.Generation(), tail.State, nil)
	})
}

// Append implements Appender as the claimed generation.
func (l *Log) Append(e Entry, done func(State, error)) {
	l.ask(AppendAsked{l.sign(e)}, func(tail *Entry, err error) {
		if err != nil {
			done(State{}, err)
			return
		}
		l.floor = tail.State.Floor
		l.sweep()
		done(tail.State, nil)
	})
}

// Truncate makes the next entry announce a floor that leaves the newest keep entries; whatever Options.Keep says.
func (l *Log) Truncate(keep uint64) { l.keep = max(keep, 2) }

func (l *Log) sign(e Entry) Entry {
	l.seq++
	e.Process = string(l.p.Name)
	e.Nonce = mix(l.p.Nonce, l.seq)
	return e
}

func (l *Log) ask(f Fact, done func(*Entry, error)) {
	l.queue = append(l.queue, question{f, done})
	if !l.busy {
		l.busy = true
		l.loop.Post(l.begin)
	}
}

func (l *Log) begin() {
	f := l.queue[0].fact
	if a, ok := f.(AppendAsked); ok {
		a.Entry.Floor = l.nextFloor()
		f = a
	}
	l.step(f)
}

// nextFloor raises the floor in strides of half of what is kept, so that most entries announce nothing.
func (l *Log) nextFloor() id.Position {
	if l.keep == 0 || l.keep == KeepAll || l.core.tail == nil {
		return 0
	}
	keep := id.Position(max(l.keep, 2))
	p := l.core.tail.Position + 1
	if p < l.floor+keep+keep/2 {
		return 0
	}
	return p - keep + 1
}

func (l *Log) step(f Fact) {
	l.observe(f)
	switch e := l.core.Step(f).(type) {
	case List:
		l.store.List(Prefix, func(keys []blob.Key, err error) { l.step(l.listed(keys, err)) })
	case Get:
		l.store.Get(Key(e.Position), func(b []byte, err error) { l.step(Got{e.Position, b, err}) })
	case Create:
		l.store.Create(Key(e.Position), e.Object, func(err error) { l.step(Made{e.Position, err}) })
	case Wait:
		l.loop.After(e.For, func() { l.step(Waited{}) })
	case Finish:
		l.finish(e)
	}
}

// observe counts what a campaign must reach.
func (l *Log) observe(f Fact) {
	m, ok := f.(Made)
	if !ok {
		return
	}
	if m.Err != nil && !errors.Is(m.Err, blob.ErrExists) {
		l.lost = true
	}
}

func (l *Log) finish(e Finish) {
	q := l.queue[0]
	l.queue = l.queue[1:]
	if l.lost && e.Err == nil {
		l.p.Reached(ownNonce)
	}
	if errors.Is(e.Err, ErrSuperseded) {
		l.p.Reached(claimLost)
	}
	l.lost = false
	q.done(e.Tail, e.Err)
	if l.busy = len(l.queue) > 0; l.busy {
		l.begin()
	}
}

func (l *Log) listed(keys []blob.Key, err error) Listed {
	f := Listed{Err: err}
	for _, k := range keys {
		if p, ok := ParseKey(k); ok {
			f.Positions = append(f.Positions, p)
		}
	}
	if err == nil {
		l.stale = f.Positions
	}
	return f
}

// sweep deletes what lies below the announced floor, in ascending order, each delete after the one before has surely
// happened.
func (l *Log) sweep() {
	if l.sweeping {
		return
	}
	p := l.swept
	switch {
	case len(l.stale) > 0 && l.stale[0] < l.floor:
		p = l.stale[0]
	case p < l.floor:
	default:
		return
	}
	l.sweeping = true
	l.delete(p, 0)
}

func (l *Log) delete(p id.Position, try int) {
	l.store.Delete(Key(p), func(err error) {
		if err != nil && !errors.Is(err, blob.ErrNotFound) {
			l.loop.After(min(minWait<<min(try, 6), maxWait), func() { l.delete(p, try+1) })
			return
		}
		if len(l.stale) > 0 && l.stale[0] == p {
			l.stale = l.stale[1:]
		}
		l.swept = max(l.swept, p+1)
		l.sweeping = false
		l.sweep()
	})
}

func mix(a, b uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// letters writes a number in ten characters of a-z0-9.
func letters(n uint64) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 10)
	for i := range b {
		b[i] = alphabet[n%36]
		n /= 36
	}
	return string(b)
}
