package reference_test

import (
	"testing"

	"github.com/onefold/onefold/engine/real/conform"
	"github.com/onefold/onefold/sim/simbroker"
	"github.com/onefold/onefold/sim/simbroker/reference"
)

// If this failed, the comparison would be blind: a model that is wrong in one field of its profile is found out within a few
// hundred sequences, and the sequence that shows it is made so small that one can read it.
func TestWrongModelsAreFound(t *testing.T) {
	for _, c := range []struct {
		name, profile string
		wrong         func(*simbroker.Profile)
	}{
		{"no verification", "k44", func(p *simbroker.Profile) { p.Verify = false }},
		{"no verification of offsets", "k44", func(p *simbroker.Profile) { p.VerifyOffsets = false }},
		{"48 instead of 120", "k44", func(p *simbroker.Profile) { p.AbortableErr = false }},
		{"fenced twice", "k44", func(p *simbroker.Profile) { p.FenceTwice = true }},
		{"any first sequence", "k44", func(p *simbroker.Profile) { p.SeqZeroTV2 = false }},
		{"lenient markers", "k44", func(p *simbroker.Profile) { p.MarkerStrict = false }},
		{"no guard for a stale epoch", "k401", func(p *simbroker.Profile) { p.EpochNoGuard = true }},
		{"open for any epoch", "k44", func(p *simbroker.Profile) { p.OpenByEpoch = false }},
		{"stable offset at the start", "k44", func(p *simbroker.Profile) { p.StableAtBatch = false }},
		{"groups of refused offsets", "k44", func(p *simbroker.Profile) { p.KeepsRefusedGroup = true }},
		{"groups end with their offsets", "k44", func(p *simbroker.Profile) { p.DropsEmptyGroup = true }},
		{"pending offsets forgotten", "k44", func(p *simbroker.Profile) { p.ForgetsPending = true }},
		{"version 1", "k44", func(p *simbroker.Profile) { p.TransactionVersion = 1 }},
		{"verification", "k35", func(p *simbroker.Profile) { p.Verify = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			right, err := reference.New(c.profile)
			if err != nil {
				t.Fatal(err)
			}
			wrong := right
			c.wrong(&wrong.Profile)
			r, err := conform.Campaign{
				Real: right, Model: wrong, Seed: 1, Operations: 24_000, Shapes: right.Shapes(), Most: 1, Shrinking: 150,
			}.Run()
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Differences) != 1 {
				t.Fatalf("not found: %s", r)
			}
			d := r.Differences[0]
			t.Logf("found in sequence %d, %d operations left: %s", r.Sequences, len(d.Sequence.Ops), d.Place)
			if len(d.Sequence.Ops) > 6 {
				t.Errorf("%d operations are left:\n%s", len(d.Sequence.Ops), d.Sequence)
			}
		})
	}
}
