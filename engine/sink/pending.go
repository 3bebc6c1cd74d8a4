package sink

import (
	"github.com/onefold/onefold/engine/id"
	"github.com/onefold/onefold/engine/kafka"
	"github.com/onefold/onefold/engine/operator"
	"github.com/onefold/onefold/engine/token"
)

func newCommitter(CommitterConfig) operator.Committer { panic("pending") }

func LockSalvage(Ask, *Plan) ([]kafka.Identity, error)          { panic("pending") }
func SurveyTokens(Ask, *Plan, []token.Token) ([]Finding, error) { panic("pending") }
func SettleTransactions(Ask, *Plan, []Item) (Settled, error)    { panic("pending") }
func RepairMarkers(Ask, *Plan, Dropped) error                   { panic("pending") }
func SalvageRanges(Ask, *Plan, kafka.Identity, []Finding) error { panic("pending") }
func FenceOlder(Ask, *Plan, FenceInput) error                   { panic("pending") }
func ConfirmTokens(Ask, *Plan, id.Checkpoint, []token.Token) operator.ConfirmOutcome {
	panic("pending")
}
func RestoreOrder(Ask, *Plan, operator.RestoreInput) operator.RestoreOutcome { panic("pending") }
