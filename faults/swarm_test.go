package faults

import (
	"reflect"
	"testing"
	"time"
)

func mixed(seed uint64) Draw {
	mix := func(x uint64) uint64 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	return func(kind, a, b, c uint64) uint64 { return mix(mix(mix(mix(seed^mix(kind))^a)^b) ^ c) }
}

func params(seed uint64) Params {
	return Params{
		Scenario: "payments", Seed: seed, Nodes: newFake().Nodes(), Partitions: []PartitionName{{"totals", 0}, {"totals", 1}},
		Burn: 40 * time.Second, Checkpoints: 20, TransactionTimeout: 20 * time.Second, Replicated: true, Releases: []string{"k43", "k44"},
	}
}

// A campaign that is large enough to be judged must have planned every cell several times, or an empty one says nothing.
func TestSwarmToursTheTable(t *testing.T) {
	var planned [KindCount][HookCount]int
	for seed := range uint64(2000) {
		for _, f := range Swarm(mixed(seed), params(seed)).Faults {
			if f.Trigger.OnHook {
				planned[f.Kind][f.Trigger.Hook]++
			}
		}
	}
	for k := range KindCount {
		for h := range HookCount {
			switch n := planned[k][h]; {
			case ImpossibleReason(k, h) != "" && n > 0:
				t.Errorf("%s at %s is impossible and was planned %d times", k, h, n)
			case ImpossibleReason(k, h) == "" && n < 4:
				t.Errorf("%s at %s was planned %d times in 2,000 seeds", k, h, n)
			}
		}
	}
}

// Every plan that a swarm draws must survive its own file and be accepted by the target it was drawn for.
func TestSwarmPlansAreWellFormed(t *testing.T) {
	var seen [KindCount]int
	var hooks [HookCount]int
	pairs := 0
	const seeds = 4000
	for seed := range uint64(seeds) {
		p := Swarm(mixed(seed), params(seed))
		again, err := Parse(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: %v\n%s\n%#v\n%#v", seed, err, p, p, again)
		}
		if _, err := NewNemesis(p, newFake()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, f := range p.Faults {
			seen[f.Kind]++
			if f.Trigger.OnHook {
				hooks[f.Trigger.Hook]++
			}
		}
		if len(p.Faults) == 2 && p.Faults[0].Kind == CrashFault && beforeNext(p.Faults[0].Trigger, p.Faults[1].Trigger) {
			pairs++
		}
	}
	for k := range drawn {
		if seen[k] < seeds/200 {
			t.Errorf("%s was drawn %d times in %d seeds", k, seen[k], seeds)
		}
	}
	for h := range HookCount {
		if hooks[h] < seeds/200 {
			t.Errorf("hook %s was drawn %d times in %d seeds", h, hooks[h], seeds)
		}
	}
	if pairs < seeds*23/100 || pairs > seeds*30/100 {
		t.Errorf("%d of %d plans are a crash and a second fault before the next checkpoint completes; wanted a quarter", pairs, seeds)
	}
}

// beforeNext reports whether the second trigger lies in the restore after a crash at the first one or before the next
// checkpoint completes.
func beforeNext(first, second Trigger) bool {
	restore := second.Hook >= hookR0 && second.Nth == 2
	return second.OnHook && (restore || second.Hook < 7 && second.Checkpoint == first.Checkpoint+1)
}

// Taking a kind out must leave every fault of the others as it was, or a counterfactual compares two different worlds.
func TestSwitchingAKindOffLeavesOthersEqual(t *testing.T) {
	compared := 0
	for seed := range uint64(500) {
		p := Swarm(mixed(seed), params(seed))
		off := params(seed)
		off.Off = []Kind{PauseFault}
		q := Swarm(mixed(seed), off)
		if len(p.Faults) != len(q.Faults) || len(p.Faults) == 0 {
			continue
		}
		for i := range p.Faults {
			if p.Faults[i].Kind != PauseFault {
				compared++
				if p.Faults[i] != q.Faults[i] {
					t.Fatalf("seed %d without pauses: %q became %q", seed, p.Faults[i], q.Faults[i])
				}
			}
		}
	}
	if compared < 500 {
		t.Errorf("compared %d faults only", compared)
	}
}

// One more fault in a plan must not change those before it.
func TestSlotsDrawForThemselves(t *testing.T) {
	for seed := range uint64(200) {
		few, many := params(seed), params(seed)
		few.MaxFaults, many.MaxFaults = 1, 8
		p, q := Swarm(mixed(seed), few), Swarm(mixed(seed), many)
		for i := range p.Faults {
			if p.Faults[i] != q.Faults[i] {
				t.Fatalf("seed %d: slot %d is %q alone and %q among others", seed, i, p.Faults[i], q.Faults[i])
			}
		}
	}
}
