package sink_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
)

// catcher is a testing.TB that turns a failure into a value.
type catcher struct{ testing.TB }

type caught struct{ text string }

func (c catcher) Helper() {}

func (c catcher) Fatal(args ...any) { panic(caught{fmt.Sprint(args...)}) }

func (c catcher) Fatalf(format string, args ...any) { panic(caught{fmt.Sprintf(format, args...)}) }

// verdict is what the swarm says about one seed under some rules: empty is clean.
func verdict(t *testing.T, seed uint64, rules *sink.Rules) (text string) {
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(caught)
			if !ok {
				panic(r)
			}
			text = c.text
		}
	}()
	s := runSwarm(catcher{t}, seed, rules)
	s.expectOnce(s.wrote)
	s.expectClosed()
	return ""
}

// A swarm that cannot see a broken rule proves nothing about the sound ones.
func TestEachBrokenRuleIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	for _, c := range []struct {
		name   string
		within uint64
		breakf func(*sink.Rules)
	}{
		{"an id is used again before its checkpoint is confirmed", 300, func(r *sink.Rules) {
			r.Reusable = func(answered, confirmed bool) bool { return answered || confirmed }
		}},
		{"older generations are not fenced", 300, func(r *sink.Rules) {
			r.Fence = func(sink.Ask, *sink.Plan, sink.FenceInput) error { return nil }
		}},
		{"EndTxn answered is taken for ended", 300, func(r *sink.Rules) {
			r.Settle = func(sink.Ask, *sink.Plan, []sink.Item) (sink.Settled, error) { return sink.Settled{}, nil }
		}},
		{"a dropped marker is repaired by initialising", 300, func(r *sink.Rules) {
			r.RepairDropped = func(ask sink.Ask, _ *sink.Plan, d sink.Dropped) (bool, error) {
				ask(sink.Initialise{ID: d.Item.Token.TransactionalID, Timeout: sink.DefaultTransactionTimeout})
				return true, nil
			}
		}},
		{"salvage without the lock: it is taken when the evidence has been read", 600, func(r *sink.Rules) {
			r.Lock = func(_ sink.Ask, p *sink.Plan) ([]kafka.Identity, error) {
				locks := make([]kafka.Identity, len(p.Sinks))
				for i, s := range p.Sinks {
					locks[i].TransactionalID = sink.SalvageID(p.Job, s.Operator)
				}
				return locks, nil
			}
			r.Salvage = func(ask sink.Ask, p *sink.Plan, lock kafka.Identity, found []sink.Finding) error {
				got := ask(sink.Initialise{ID: lock.TransactionalID, Timeout: sink.DefaultTransactionTimeout}).(sink.Initialised)
				if got.Err != nil {
					return got.Err
				}
				return sink.SalvageRanges(ask, p, got.Who, found)
			}
		}},
		{"aborted records are left aborted", 300, func(r *sink.Rules) {
			r.Salvage = func(sink.Ask, *sink.Plan, kafka.Identity, []sink.Finding) error { return nil }
		}},
		{"nothing is surveyed: everything completed counts as open", 300, func(r *sink.Rules) {
			r.Survey = func(_ sink.Ask, _ *sink.Plan, tokens []token.Token) ([]sink.Finding, error) {
				var found []sink.Finding
				for _, tok := range tokens {
					found = append(found, sink.Finding{Token: tok, Judgement: sink.Judgement{Verdict: sink.Committed, ByWitness: true}})
				}
				return found, nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := uint64(1); seed <= c.within; seed++ {
				rules := sink.DefaultRules()
				c.breakf(rules)
				if text := verdict(t, seed, rules); text != "" {
					t.Logf("seed %d: %s", seed, strings.SplitN(text, "\n", 2)[0])
					return
				}
			}
			t.Errorf("not caught within %d seeds", c.within)
		})
	}
}
