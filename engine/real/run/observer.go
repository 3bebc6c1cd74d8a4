package run

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/onefold/onefold/engine/env"
	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/probe"
	"github.com/onefold/onefold/engine/trace"
)

// observer turns what the engine tells into a log, and counts probes.
type observer struct {
	log    *slog.Logger
	name   env.Addr
	hold   *hold
	ask    *asker
	probes *probes
}

var _ trace.Observer = observer{}

// probes counts how often each was reached.
type probes struct{ counts []atomic.Int64 }

func newProbes() *probes { return &probes{make([]atomic.Int64, probe.Count())} }

// Each calls fn for every probe that was reached, in order.
func (p *probes) Each(fn func(name string, n int64)) {
	for i := range p.counts {
		if n := p.counts[i].Load(); n > 0 {
			fn(probe.Name(i), n)
		}
	}
}

func (o observer) enabled(l slog.Level) bool { return o.log.Enabled(context.Background(), l) }

// Hook logs the moment, and parks there if it is told to.
func (o observer) Hook(e hook.Event) {
	if o.enabled(slog.LevelDebug) {
		o.log.Debug("hook", "at", e.Point.String(), "process", o.name, "generation", e.Generation, "checkpoint", e.Checkpoint,
			"subtask", e.Subtask.String())
	}
	o.hold.pass(e)
	o.ask.pass(e)
}

// Reached counts.
func (o observer) Reached(p probe.Probe) {
	if n := o.probes.counts[p.Index()].Add(1); n == 1 && o.enabled(slog.LevelDebug) {
		o.log.Debug("reached", "probe", p.Name(), "process", o.name)
	}
}

// Entry is for the simulator's trace; here the rare level below debug has it.
func (o observer) Entry(k trace.Kind, a, b, c, d uint64) {
	if !o.enabled(slog.LevelDebug - 4) {
		return
	}
	var attrs []any
	for i, label := range k.Labels() {
		if label != "" {
			attrs = append(attrs, label, [...]uint64{a, b, c, d}[i])
		}
	}
	o.log.Log(context.Background(), slog.LevelDebug-4, k.Name(), attrs...)
}

// Log prints. The JobManager's events are logged with their fields already.
func (o observer) Log(format string, args ...any) {
	l := slog.LevelInfo
	if strings.HasPrefix(format, "jobmanager ") {
		l = slog.LevelDebug
	}
	if o.enabled(l) {
		o.log.Log(context.Background(), l, fmt.Sprintf(format, args...), "process", o.name)
	}
}
