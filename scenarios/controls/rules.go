package controls

import (
	"errors"
	"slices"
	"time"

	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/jobmanager"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
)

// All lists the known-bad engines, each made anew: some remember things.
func All() []Engine { return slices.Concat(links(), rules(), ends(), identities(), kafkaRules()) }

// rules are the engines that break one rule of the protocol each.
func rules() []Engine {
	return []Engine{
		Engine{
			Name: "timeout-believed", Doc: "a refused commit is taken for done, as other engines do: the transaction had timed out", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap},
			Favour:   []string{"on k7 checkpoint=6 transaction-timeout all for 23s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.Survey = believe
		}),
		Engine{
			Name: "no-fencing", Doc: "transactions of older generations are left open", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Stall}, World: world("transaction-timeout", "10m"),
			Favour: []string{"on k3 checkpoint=6 crash tm1 for 8s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.Fence = func(sink.Ask, *sink.Plan, sink.FenceInput) error { return nil }
		}),
		Engine{
			Name: "ids-reused", Doc: "a transactional id is the same in all generations, on topics that keep no aborted records", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap, checker.Dup, checker.Stall, checker.CrashLoop, checker.LoudLoss},
			World:    world("transaction-timeout", "10m"),
			Favour:   []string{"on k14 checkpoint=5 late InitProducerId all by 11s for 2", "on k0 checkpoint=6 crash tm1 for 200ms", "on k0 checkpoint=6 blob-slow all by 800ms for 40s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.Survey = keepNothing
			r.Name = func(n sink.Name) string {
				n.Generation = 0
				return n.String()
			}
		}),
		Engine{
			Name: "record-lost", Doc: "a record that could not be written does not fail its task", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap},
			Favour:   []string{"on k13 checkpoint=5 no-leader totals/0 for 20s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.RecordFailed = func(error) bool { return false }
		}).impatient(),
		Engine{
			Name: "no-lock", Doc: "salvage without taking the lock first", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup},
			Favour:   []string{"on k7 checkpoint=6 transaction-timeout all for 23s", "on r3 checkpoint=6 pause self for 12s"},
		}.withSinkRules(func(r *sink.Rules) {
			lock := r.Lock
			r.Lock = func(ask sink.Ask, p *sink.Plan) ([]kafka.Identity, error) {
				q := *p
				q.Job += "-" + id.Job(generationName(p.Generation))
				return lock(ask, &q)
			}
		}),
		outOfTurn(),
		{
			Name: "no-nonce", Doc: "a JobManager takes another's entry for its own", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.Gap, checker.Invariant, checker.State, checker.Stall},
			Favour:   []string{"on k7 checkpoint=6 crash jm1 for 20s", "on k7 checkpoint=6 crash jm2 for 20s"},
			JobManager: func(c *jobmanager.Config) {
				// Standbys claim so close to each other that their claims meet.
				c.Rules.Log, c.HeartbeatInterval = joblog.WithoutNonce(), 100*time.Millisecond
			},
		},
		{
			Name: "no-floor-check", Doc: "a JobManager that slept through a truncation writes below the floor", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.Gap, checker.Invariant, checker.State, checker.Stall},
			Favour:   []string{"on k7 checkpoint=6 crash all for 500ms", "on r2 nth=2 partition self tm1 for 40s", "on r2 nth=2 pause self for 14s"},
			World:    world("taskmanagers", "1", "slots", "4"),
			JobManager: func(c *jobmanager.Config) {
				c.LogKeep, c.Rules.Log = 4, joblog.WithoutFloorCheck()
			},
		},
	}
}

// keepNothing finds that aborted records are not there any more, as compaction does: what would be salvaged is lost, so a
// transaction that somebody aborts without right shows.
func keepNothing(ask sink.Ask, p *sink.Plan, tokens []token.Token) ([]sink.Finding, error) {
	found, err := sink.SurveyTokens(ask, p, tokens)
	for i := range found {
		f := &found[i]
		for _, r := range f.Aborted {
			f.Unsalvageable = append(f.Unsalvageable, joblog.LostRange{Token: f.Token, Range: f.Token.Ranges[r], Reason: "compacted"})
		}
	}
	return found, err
}

// outOfTurn sends every commit as soon as its checkpoint is complete: neither JobManager nor sink waits for older ones.
func outOfTurn() Engine {
	e := Engine{
		Name: "out-of-turn", Doc: "commits of a checkpoint are sent although an older one is not decided", Scenario: "payments",
		Verdicts: []checker.Verdict{checker.Reorder, checker.State, checker.Gap, checker.Dup},
		World:    world("transaction-timeout", "8s"),
		Favour:   []string{"on k7 checkpoint=6 lose-request EndTxn all for 26"},
		JobManager: func(c *jobmanager.Config) {
			c.Rules.Core.Next, c.Rules.Core.Early = func(_, _ id.Checkpoint) bool { return true }, func() bool { return false }
		},
	}
	return e.withSinkRules(func(r *sink.Rules) { r.InTurn = func() bool { return false } })
}

// believe finds every token committed.
func believe(ask sink.Ask, p *sink.Plan, tokens []token.Token) ([]sink.Finding, error) {
	found, err := sink.SurveyTokens(ask, p, tokens)
	for i := range found {
		if found[i].Verdict != sink.Pending {
			found[i].Judgement = sink.Judgement{Verdict: sink.Committed, ByWitness: true}
			found[i].Unsalvageable = nil
		}
	}
	return found, err
}

var errInitialised = errors.New("initialised")

func generationName(g id.Generation) string {
	const digits = "0123456789"
	if g < 10 {
		return digits[g : g+1]
	}
	return generationName(g/10) + digits[g%10:g%10+1]
}
