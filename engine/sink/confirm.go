package sink

import (
	"fmt"

	"github.com/onefold/onefold/engine/hook"
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/joblog"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

// ConfirmTokens asks whether the commits of all tokens of a checkpoint have really ended, while the job runs.
func ConfirmTokens(ask Ask, p *Plan, n id.Checkpoint, tokens []token.Token) operator.ConfirmOutcome {
	ask(Pass{hook.C1ConfirmAsked, n})
	items := make([]Item, len(tokens))
	for i, t := range tokens {
		items[i] = Item{Token: t, Commit: true, NeedLane: true}
		if t.Checkpoint < n {
			ask(Reach{LateToken})
		}
	}
	settled, err := p.Rules.Settle(ask, p, items)
	if err != nil {
		return operator.ConfirmOutcome{Err: err}
	}
	if len(settled.Contradicted) > 0 {
		ask(Say{fmt.Sprintf("confirm of checkpoint %d: %s is not what it should be", n, tokens[settled.Contradicted[0]])})
		return operator.ConfirmOutcome{Resolve: true}
	}
	for _, i := range settled.Repaired {
		if aborted(ask, tokens[i], Set{}) {
			ask(Say{fmt.Sprintf("confirm of checkpoint %d: %s was torn", n, tokens[i])})
			return operator.ConfirmOutcome{Resolve: true}
		}
	}
	if len(settled.Deleted) > 0 {
		loss := &joblog.Loss{Checkpoint: n, Accepted: p.AcceptLoss, Items: settled.Deleted}
		if p.AcceptLoss {
			return operator.ConfirmOutcome{Lost: loss}
		}
		return operator.ConfirmOutcome{Lost: loss, Err: fmt.Errorf("checkpoint %d: %s: %s", n, settled.Deleted[0].Token, settled.Deleted[0].Reason)}
	}
	return operator.ConfirmOutcome{}
}
