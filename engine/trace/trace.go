// Package trace is what the engine tells about itself while it runs: entries of one line, hooks passed, probes reached.
//
// An entry is a kind and four numbers; no text is made where it is told. The simulator folds all of them into the hash of a
// run and prints them when somebody looks; production drops them, or logs them at its lowest level. Who listens is an Observer.
package trace

import (
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
)

// Kind says what an entry is about; its name is printed, its four numbers mean what the kind says.
type Kind uint16

type form struct{ name, a, b, c, d string }

var forms []form // written by package initialisation only

// NewKind registers a kind of entry with the labels of its numbers; an empty label hides its number. It is called for
// package variables only.
func NewKind(name, a, b, c, d string) Kind {
	forms = append(forms, form{name, a, b, c, d})
	return Kind(len(forms) - 1)
}

// Name is the name of a kind.
func (k Kind) Name() string { return forms[k].name }

// Labels are the labels of its four numbers.
func (k Kind) Labels() [4]string { f := forms[k]; return [4]string{f.a, f.b, f.c, f.d} }

// Observer is told what happens. It never changes what the engine does, except that the world may end the process in
// Hook, whose ports then do nothing any more.
type Observer interface {
	Hook(hook.Event)
	Reached(probe.Probe)
	Entry(k Kind, a, b, c, d uint64)
	// Log is for people: rare events, in words. The simulator keeps them with the trace, production prints them.
	Log(format string, args ...any)
}
