package process

import (
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/trace"
)

// Silent is an observer that tells nobody.
type Silent struct{}

var _ trace.Observer = Silent{}

// Hook does nothing.
func (Silent) Hook(hook.Event) {}

// Reached does nothing.
func (Silent) Reached(probe.Probe) {}

// Entry does nothing.
func (Silent) Entry(trace.Kind, uint64, uint64, uint64, uint64) {}

// Log does nothing.
func (Silent) Log(string, ...any) {}
