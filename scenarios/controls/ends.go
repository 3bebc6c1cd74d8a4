package controls

import (
	"github.com/onefold/onefold/checker"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/sink"
	"github.com/onefold/onefold/engine/token"
)

// ends are the engines that take a transaction for ended before it is, or end it wrongly.
func ends() []Engine {
	return []Engine{
		Engine{
			Name: "repair-by-init", Doc: "a dropped marker is repaired by initialising the id, which aborts, and nobody looks afterwards", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Gap, checker.Torn},
			Favour:   []string{"on k9 checkpoint=5 no-leader totals/0 for 3s", "on k3 checkpoint=6 crash all for 1s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.Settle = settleByInit
		}),
		Engine{
			Name: "no-quarantine", Doc: "an id is used again as soon as its EndTxn was answered", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Dup, checker.Torn, checker.Gap, checker.Stall},
			Favour:   []string{"on k9 checkpoint=5 no-leader totals/0 for 4s", "on k3 checkpoint=7 crash all for 1s"},
		}.withSinkRules(func(r *sink.Rules) {
			r.Reusable = func(endTxnAnswered, _ bool) bool { return endTxnAnswered }
		}),
		Engine{
			Name: "no-confirm", Doc: "an answered EndTxn is taken for the end, on brokers that drop markers", Scenario: "payments",
			Verdicts: []checker.Verdict{checker.Torn, checker.Stall, checker.Gap},
		}.withSinkRules(func(r *sink.Rules) {
			r.Confirm = func(sink.Ask, *sink.Plan, id.Checkpoint, []token.Token) operator.ConfirmOutcome {
				return operator.ConfirmOutcome{}
			}
		}),
		Engine{
			Name: "end-unproven", Doc: "a transaction has ended when the leader alone has its marker, on brokers that drop markers", Scenario: "fraud",
			Verdicts: []checker.Verdict{checker.Torn, checker.Stall, checker.Gap},
			Favour:   []string{"on k7 checkpoint=5 crash self for 100ms", "on r5 crash broker0 for 100ms", "on r5 crash broker2 for 100ms"},
			World:    world("taskmanagers", "2", "brokers", "3", "replication", "3", "min-isr", "2", "partitions", "2", "records", "3000", "parallelism", "2", "profile", "k44"),
		}.withSinkRules(func(r *sink.Rules) {
			r.Proven = func() bool { return false }
		}),
	}
}

// settleByInit takes a dropped marker for repaired when the id has been initialised: the partition stays open, and the next
// transaction of the id decides the old records with its own verdict.
func settleByInit(ask sink.Ask, p *sink.Plan, items []sink.Item) (sink.Settled, error) {
	q, rules := *p, *p.Rules
	initialised := false
	rules.RepairDropped = func(ask sink.Ask, p *sink.Plan, d sink.Dropped) (bool, error) {
		ask(sink.Initialise{ID: d.Item.Token.TransactionalID, Timeout: p.Sinks[0].TransactionTimeout})
		initialised = true
		return true, errInitialised
	}
	q.Rules = &rules
	s, err := sink.SettleTransactions(ask, &q, items)
	if initialised {
		return sink.Settled{}, nil
	}
	return s, err
}
