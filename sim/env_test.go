package sim_test

import (
	"testing"
	"time"

	"github.com/onefold/onefold/engine/env/envtest"
	"github.com/onefold/onefold/engine/proc"
	"github.com/onefold/onefold/sim"
)

// envWorld is a simulated world for the suite of the environment's ports.
type envWorld struct {
	t *testing.T
	w *sim.World
}

func (e envWorld) Process(name string) *proc.Process {
	n := e.w.Node(name)
	if n == nil {
		n = e.w.NewNode(name, nil)
	}
	n.Start()
	return n.Process()
}

func (e envWorld) Crash(name string) { e.w.Node(name).Crash() }

func (e envWorld) Settle(cond func() bool) bool {
	ok := e.w.RunUntil(cond, e.w.Now().Add(time.Minute))
	if f := e.w.Failure(); f != nil {
		e.t.Fatal(f, f.Stack)
	}
	return ok
}

// If this failed, the engine would learn habits in the simulator that production punishes.
func TestConformance(t *testing.T) {
	for seed := range uint64(20) {
		envtest.Run(t, func(t *testing.T) envtest.World { return envWorld{t, sim.New(sim.Options{Seed: seed})} })
	}
}
