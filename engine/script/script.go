// Package script runs long sequential protocols (restore, resolve, salvage, repair) as functions written top to bottom.
//
// A script asks for one effect at a time and is handed its fact; it calls no port. The driver performs the effect on the
// loop and resumes the script when it is done. So a script is a value like any other protocol core: a golden feeds it
// facts and prints the effects it asks for. iter.Pull keeps it on the loop's own thread of control.
package script

import (
	"iter"

	"github.com/onefold/onefold/engine/env"
)

// Ask performs an effect and returns its fact. It does not return when the script has been stopped.
type Ask[E, F any] func(E) F

type stopped struct{}

// Script is a function in the middle of its work.
type Script[E, F any] struct {
	next func() (E, bool)
	stop func()
	fact F
}

// New makes a script from its body. The body runs up to its first effect at the first Next. It must have no deferred
// calls with effects: a stopped script unwinds.
func New[E, F any](body func(ask Ask[E, F])) *Script[E, F] {
	s := &Script[E, F]{}
	s.next, s.stop = iter.Pull(func(yield func(E) bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(stopped); !ok {
					panic(r)
				}
			}
		}()
		body(func(e E) F {
			if !yield(e) {
				panic(stopped{})
			}
			return s.fact
		})
	})
	return s
}

// Next hands over the fact of the effect before (anything at the first call) and returns the next effect; false when
// the body has returned.
func (s *Script[E, F]) Next(f F) (E, bool) {
	s.fact = f
	return s.next()
}

// Stop unwinds the body. It is called once the script is not needed any more, and does nothing after the end.
func (s *Script[E, F]) Stop() { s.stop() }

// Run drives a script on a loop: perform starts each effect and calls its done later on the same loop; finished runs when
// the body has returned. A loop that is closed stops the script.
func Run[E, F any](loop env.Loop, body func(ask Ask[E, F]), perform func(e E, done func(F)), finished func()) *Script[E, F] {
	s := New(body)
	loop.OnClose(s.Stop)
	var step func(F)
	step = func(f F) {
		e, ok := s.Next(f)
		if !ok {
			finished()
			return
		}
		perform(e, step)
	}
	var none F
	loop.Post(func() { step(none) })
	return s
}
